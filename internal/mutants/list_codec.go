package main

var xdrTests = []string{"runtime/xdr", "runtime/oncrpc", "gen/rpcrdma1", "cmd/xdrgen/internal/gogen"}

// codecMutants are in the decoder and its limits. Generated code shows some of them, so its tests come along.
var codecMutants = []mutant{
	{"items out of line are not in the budget", "runtime/xdr/ddp.go", "			d.outside += uint64(len(it.Data))\n", "			_ = it\n", xdrTests},
	{"items that are in the input count twice in the budget", "runtime/xdr/ddp.go", "	if m != matchPlaced {\n", "	if m <= matchPlaced {\n", xdrTests},
	{"one level too deep", "runtime/xdr/checker.go", "c.depth >= most {", "c.depth > most {", xdrTests},
	{"MaxElements is the default", "runtime/xdr/checker.go", "return limit(c.opt.Limits.MaxElements, defaultElements)", "return limit(0, defaultElements)", xdrTests},
	{"a negative limit is the default", "runtime/xdr/decoder.go", "	case set < 0:\n		return math.MaxInt\n", "	case set < math.MinInt/2:\n		return math.MaxInt\n", xdrTests},
	{"memory of the message before counts", "runtime/xdr/decoder.go", "	d.mem, d.rate = 0, 0\n", "	d.rate = 0\n", xdrTests},
	{"a larger rate of the message before stays", "runtime/xdr/decoder.go", "	d.mem, d.rate = 0, 0\n", "	d.mem = 0\n", xdrTests},
	{"items that nothing took are no fault", "runtime/xdr/ddp.go", "	for _, it := range p.chunks {\n		if it.Data != nil {", "	for _, it := range p.chunks[:0] {\n		if it.Data != nil {", xdrTests},
	{"an empty item is taken for the chunk at its place", "runtime/xdr/ddp.go", "+p.inserted || n == 0 {", "+p.inserted {", xdrTests},
	{"a list asks for more than the budget has", "runtime/xdr/slice.go", "		more = max(1, int(fit))\n", "", xdrTests},
	{"an arm is not in the budget", "runtime/xdr/slice.go", "	if err := d.charge(1, size, off); err != nil {\n		return err\n	}\n	*p = new(T)\n", "	*p = new(T)\n", xdrTests},
	{"elements of an item look for items", "runtime/xdr/ddp.go", "return len(d.placed.chunks) != 0 && !d.placed.within", "return len(d.placed.chunks) != 0", xdrTests},
	{"a chunk may be of any length", "runtime/xdr/ddp.go", "len(it.Data) != n && len(it.Data) != Padded(n) {", "len(it.Data) < n {", xdrTests},
	{"a chunk's roundup is a fault", "runtime/xdr/ddp.go", " && len(it.Data) != Padded(n) {", " {", xdrTests},
	{"one leniency is all of them", "runtime/xdr/checker.go", "	case CodeTrailing:\n		return l.Trailing\n", "	case CodeTrailing:\n		return l.Trailing || l.Padding\n", xdrTests},
	{"a recycled decoder grows each time", "runtime/xdr/decoder.go", "	if len(whole) >= len(b)+spare(len(b)) {\n", "	if false {\n", xdrTests},
	{"values that were recycled are overwritten in part", "runtime/xdr/slice.go", "func (s *typedSlab[T]) rewind() { s.used = 0 }", "func (s *typedSlab[T]) rewind() { s.used = min(s.used, 1) }", xdrTests},
	{"roundup stays in the stream", "runtime/xdr/ddp.go", "	e.removed += uint64(Padded(len(data)))\n", "	e.removed += uint64(len(data))\n", xdrTests},
	{"small items leave the stream", "runtime/xdr/ddp.go", "n > 0 && n >= e.reduce.Min &&", "n > 0 &&", xdrTests},
	{"the first byte of a pad may hold anything", "runtime/xdr/decoder.go", "binary.BigEndian.Uint32(b[end-4:end]) << (8 * (n & 3))", "binary.BigEndian.Uint32(b[end-4:end]) << (8*(n&3) + 8)", xdrTests},
}
