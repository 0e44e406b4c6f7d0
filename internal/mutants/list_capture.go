package main

const captureFolder = "cmd/xdrgen/internal/capture/"

var (
	captureTests = []string{captureFolder + "packets", captureFolder + "tcp", "cmd/xdrgen/internal/capture", captureFolder + "decode", captureFolder + "rdmatest"}
	ladderTests  = []string{captureFolder + "ladder"}
	dumpTests    = []string{"cmd/xdrgen"}
)

// captureMutants are in the reader of captures and in the ladder.
var captureMutants = []mutant{
	{"a pcapng length is believed", captureFolder + "packets/pcapng.go", "	if uint64(kept) > uint64(len(b)-20) {", "	if uint64(kept) > uint64(cap(b)-20) {", captureTests},
	{"a packet is as long as it says", captureFolder + "packets/pcap.go", "	if kept > maxPacket {", "	if kept > 1<<31 {", captureTests},
	{"an overlap of fragments is taken twice", captureFolder + "packets/fragments.go", "			at, data = at+n, data[n:]\n		}\n	}\n	if", "			at += n\n		}\n	}\n	if", captureTests},
	{"padding of Ethernet is payload", captureFolder + "packets/layers.go", "		b, d.Missing = b[:length], 0\n", "", captureTests},
	{"a segment sent again is new", captureFolder + "tcp/half.go", "	if old := h.next - s.seq; old < uint32(len(s.data)) {", "	if old := uint32(0); old < uint32(len(s.data)) {", captureTests},
	{"held segments have no limit in bytes", captureFolder + "tcp/half.go", " || h.bytes > MaxHeld", "", captureTests},
	{"held segments have no limit in number", captureFolder + "tcp/half.go", " || len(h.held) > maxSegments", "", captureTests},
	{"an acknowledged segment is waited for", captureFolder + "tcp/half.go", "		h.late++\n", "", captureTests},
	{"connections have no limit", captureFolder + "reader.go", " || len(r.conns) > r.limits.Connections", "", captureTests},
	{"bytes have no limit", captureFolder + "reader.go", "r.bytes > r.limits.Bytes || ", "", captureTests},
	{"forgotten bytes are counted", captureFolder + "reader.go", "	r.bytes -= c.size\n", "", captureTests},
	{"a Call of program 0 is looked for", captureFolder + "record.go", "		return binary.BigEndian.Uint32(body[12:]) != 0, false\n", "		return true, false\n", captureTests},
	{"a denial is as long as can be", captureFolder + "record.go", "(!denied || n <= longestDenied)", "(!denied || n <= limit)", captureTests},
	{"a denial of versions is too long", captureFolder + "record.go", "longestDenied = 24", "longestDenied = 20", captureTests},
	{"an FPDU is looked for last", captureFolder + "half.go", " && isFPDU(b) && sealed(b) {", " && isFPDU(b) && !sealed(b) && c.carrier != \"\" {", captureTests},
	{"data with a checksum end with the message", captureFolder + "decode/decode.go", "dynamic.DecodeAll(data[at:to], t, limits)", "dynamic.DecodeAll(data[at:max(to, len(data))], t, limits)", captureTests},
	{"a length before a checksum is believed", captureFolder + "decode/gss.go", "	if n < 4 || n > len(data)-at-4 {", "	if n < 4 {", captureTests},
	{"a length before a checksum may be 3", captureFolder + "decode/gss.go", "	if n < 4 || n", "	if n < 3 || n", captureTests},
	{"bytes after a checksum are not noticed", captureFolder + "decode/gss.go", "	m.fault(err, to, v.Name)\n", "	_ = err\n", captureTests},
	{"a message has no limit", captureFolder + "record.go", "		keep := min(n, limit-len(r.message))", "		keep := n", captureTests},
	{"empty fragments have no limit", captureFolder + "record.go", "r.empty++; r.empty > maxEmpty", "r.empty++; r.empty < 0", captureTests},
	{"calls without a reply have no limit", captureFolder + "match.go", "	if len(h.calls.byXID) >= c.reader.limits.Calls {", "	if false {", captureTests},
	{"a Call that is sent again is another", captureFolder + "match.go", "		if bytes.Equal(old.call.Message, b) {", "		if bytes.Equal(old.call.Message, nil) {", captureTests},
	{"a gap keeps the half of a message", captureFolder + "half.go", "h.synced, h.buf, h.record, h.message, h.part = false, nil, record{}, nil, nil", "h.synced, h.buf, h.message, h.part = false, nil, nil, nil", captureTests},
	{"placed bytes are used twice", captureFolder + "memory.go", "	m.cut(r, at, at+n)\n	if len", "	if len", captureTests},
	{"a chunk lacks its padding", captureFolder + "header.go", "		message = append(message, make([]byte, -len(message)&3)...)\n", "", captureTests},
	{"a Call is whole without its chunks", captureFolder + "match.go", "max(n.Whole, last)", "max(n.Whole, min(last, 0))", captureTests},
	{"an item is put where any opaque is", captureFolder + "decode/decode.go", "		if v.Offset >= from && (v.Word == length || (v.Word+3)&^3 == length) {", "		if v.Offset >= from {", captureTests},
	{"the second item is put before the first", captureFolder + "decode/decode.go", "		from = len(whole) - at\n", "", captureTests},
	{"a Call that is sent again has its first header", captureFolder + "match.go", "			old.call.header = head\n", "", captureTests},
	{"empty fragments are counted that are not in a row", captureFolder + "record.go", "				r.empty = 0\n", "", captureTests},
	{"each segment copies its frame", captureFolder + "half.go", "		if len(h.buf) < n {", "		if len(h.buf) < n+1 {", captureTests},
	{"lists of a Call take no memory", captureFolder + "match.go", "		n += c.header.memory()\n", "", captureTests},
	{"lists of a Call that is sent again take no memory", captureFolder + "match.go", "			h.calls.bytes += cost(old.call)\n", "			h.calls.bytes += callSize + cap(old.call.Message)\n", captureTests},
	{"a Call keeps its write chunks", captureFolder + "match.go", "		head.writes, head.reply = nil, nil // the reply has them again\n", "", captureTests},
	{"a Call keeps its header", captureFolder + "rdma.go", "append([]byte(nil), b[head.size:]...)", "b[head.size:]", captureTests},
	{"lists of a continued message have no limit", captureFolder + "rdma.go", "len(p.payload)+p.lists > h", "len(p.payload) > h", captureTests},
	{"lists of a continued message take no memory", captureFolder + "rdma.go", "cap(p.payload) + 2*p.lists", "cap(p.payload)", captureTests},
	{"a held segment has no place", captureFolder + "tcp/half.go", " + cap(h.held)*placeSize", "", captureTests},
	{"places of held segments are kept", captureFolder + "tcp/half.go", "		h.held = nil // with its places\n", "		h.held = h.held[:0]\n", captureTests},
	{"an extent has no place", captureFolder + "memory.go", " + m.places*extentSize", "", captureTests},
	{"places of extents that were used are free", captureFolder + "memory.go", "	m.places += cap(extents) - cap(r.extents)\n", "	m.places += len(extents) - len(r.extents)\n", captureTests},
	{"a byte keeps its array", captureFolder + "memory.go", "	if len(data) < room/2 {", "	if len(data) < len(e.data)/2 {", captureTests},
	{"RDMA Reads take no memory", captureFolder + "half.go", "	n += cap(h.reads) * readSize\n", "", captureTests},
	{"a map of calls takes no memory", captureFolder + "match.go", " + l.most*xidSize", "", captureTests},
	{"an earlier connection is not named", "cmd/xdrgen/calltext.go", "	if c == nil || c.Handled {\n		return\n	}\n	p.start()\n	c.Handled = true\n", "	if c == nil || c.Handled || c.Number <= p.count {\n		return\n	}\n	p.start()\n	c.Handled = true\n", dumpTests},
	{"a connection is named twice", "cmd/xdrgen/calltext.go", "	c.Handled = true\n", "", dumpTests},
	{"a missing capture is not data", "cmd/xdrgen/dumpcalls.go", "		if err != nil {\n			return env, failed(env, err), true\n		}\n		defer", "		if err != nil {\n			return env, 0, false\n		}\n		defer", dumpTests},
	{"a capture that cannot be read is empty", "cmd/xdrgen/dumpcalls.go", "	if err != nil && !errors.Is(err, io.EOF) {", "	if false {", dumpTests},
	{"a reply does not bound the clocks", captureFolder + "ladder/join.go", "		least, most = max(least, low), min(most, high)\n", "		most = min(most, high)\n", ladderTests},
	{"bounds of the clocks may cross", captureFolder + "ladder/join.go", "	if least > most {", "	if least > most+1<<40 {", ladderTests},
	{"a call is joined twice", captureFolder + "ladder/join.go", "				used[i] = true\n", "", ladderTests},
	{"calls have no limit in a ladder", captureFolder + "ladder/join.go", "	if len(list) == MaxCalls {", "	if false {", ladderTests},
	{"controls reach the terminal in a ladder", captureFolder + "ladder/text.go", "		if !unicode.IsGraphic(r) {", "		if r == 0 && unicode.IsGraphic(r) {", ladderTests},
	{"times of a picture are too close", captureFolder + "ladder/svg.go", "y += min(max(int(float64(t-p.times[i-1])*p.scale), least), most)", "y += min(int(float64(t-p.times[i-1])*p.scale), most)", ladderTests},
}
