package main

const captureFolder = "cmd/xdrgen/internal/capture/"

var (
	captureTests = []string{captureFolder + "packets", captureFolder + "tcp", "cmd/xdrgen/internal/capture", captureFolder + "decode", captureFolder + "rdmatest"}
	ladderTests  = []string{captureFolder + "ladder"}
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
	{"a reply does not bound the clocks", captureFolder + "ladder/join.go", "		least, most = max(least, low), min(most, high)\n", "		most = min(most, high)\n", ladderTests},
	{"bounds of the clocks may cross", captureFolder + "ladder/join.go", "	if least > most {", "	if least > most+1<<40 {", ladderTests},
	{"a call is joined twice", captureFolder + "ladder/join.go", "				used[i] = true\n", "", ladderTests},
	{"calls have no limit in a ladder", captureFolder + "ladder/join.go", "	if len(list) == MaxCalls {", "	if false {", ladderTests},
	{"controls reach the terminal in a ladder", captureFolder + "ladder/text.go", "		if !unicode.IsGraphic(r) {", "		if r == 0 && unicode.IsGraphic(r) {", ladderTests},
	{"times of a picture are too close", captureFolder + "ladder/svg.go", "y += min(max(int(float64(t-p.times[i-1])*p.scale), least), most)", "y += min(int(float64(t-p.times[i-1])*p.scale), most)", ladderTests},
}
