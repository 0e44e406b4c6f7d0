package main

// resultsMutants are in results that come inline because the size of the reply is known.
var (
	resultsMutants = []mutant{
		{"a result comes inline with one byte too many", "rdmaio/offer.go", "n <= t.recvRoom(o.slot.call.Offered())-max", "n-1 <= t.recvRoom(o.slot.call.Offered())-max", resultsTests},
		{"a result has to be one byte shorter", "rdmaio/offer.go", "n <= t.recvRoom(o.slot.call.Offered())-max", "n < t.recvRoom(o.slot.call.Offered())-max", resultsTests},
		{"a peer with 4096 bytes gets other Calls", "rdmaio/offer.go", "t.Recv > defaultInline &&", "t.Recv >= defaultInline &&", resultsTests},
		{"a peer without private data gets other Calls", "rdmaio/offer.go", "n > 0 && t.Recv > defaultInline &&", "n > 0 &&", resultsTests},
		{"results come inline although their size is unknown", "rdmaio/offer.go", "return n > 0 && t.Recv", "return t.Recv", resultsTests},
		{"results come inline beyond the device's preference", "rdmaio/offer.go", "-max(0, t.Recv-o.set.whole)", "", resultsTests},
		{"a refused Call without chunks comes again without them", "rdmaio/offer.go", "last > 0 && s.shape.resent == 0 &&", "last > 0 &&", resultsTests},
		{"the limit for replies is taken for a bound", "runtime/oncrpc/rpc/client.go", "		b.whole = int(whole)\n", "		b.whole = b.offer\n", rpcResultsTests},
		{"an endless size is taken for a bound", "runtime/oncrpc/rpc/client.go", "	if whole <= math.MaxInt32 {", "	if whole > 0 {", rpcResultsTests},
		{"a short ReplyBuf gets the whole reply", "runtime/oncrpc/rpc/call.go", "if p.call.WholeReply > len(opt.ReplyBuf) {", "if false && p.call.WholeReply > len(opt.ReplyBuf) {", rpcResultsTests},
		{"the size of a reply is left for the next call", "runtime/oncrpc/rpc/call.go", "p.call.MaxReply, p.call.WholeReply = 0, 0", "p.call.MaxReply = 0", rpcResultsTests},
		{"results over TCP have their own memory", "runtime/oncrpc/rpc/call.go", "	if missing <= 0 {", "	if missing != 0 || missing == 0 {", rpcResultsTests},
		{"a security context forgets its overhead", "runtime/oncrpc/gss/exchange.go", "		c.WholeReply += overhead(info, x.service)\n", "", gssResultsTests},
		{"a security context changes the caller's Call", "runtime/oncrpc/gss/exchange.go", "	c.WholeReply = p.WholeReply\n", "", gssResultsTests},
		{"a result is cut to its memory", "runtime/xdr/codec/get.go", "uint64(n) <= uint64(len(room)) {", "uint64(n) <= uint64(cap(room)) {", placeTests},
		{"the memory of a result out of line is the next one's", "runtime/xdr/codec/place.go", "	next(d)\n	if p.InStream", "	p.Items = p.Items[1:]\n	if p.InStream", placeTests},
		{"data that is not eligible goes to a result's memory", "runtime/xdr/codec/place.go", "	p.Room = nil\n", "", placeTests},
		{"a Decoder aliases after a result in memory", "runtime/xdr/codec/get.go", "	if d.Alias = alias; err == nil {", "	if d.Alias = alias || err == nil; err == nil {", placeTests},
		{"a value has the rest of its memory as capacity", "runtime/xdr/codec/get.go", "*p = room[:n:n]", "*p = room[:n]", placeTests},
	}
	resultsTests    = []string{"rdmaio/internal/test/messages"}
	rpcResultsTests = []string{"runtime/oncrpc/rpc"}
	gssResultsTests = []string{"runtime/oncrpc/gss"}
	placeTests      = []string{"runtime/xdr/codec"}
)
