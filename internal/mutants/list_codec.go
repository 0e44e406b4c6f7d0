package main

var xdrTests = []string{"runtime/xdr", "runtime/xdr/codec", "runtime/oncrpc", "gen/rpcrdma1", "cmd/xdrgen/internal/gogen"}

// codecMutants are in the decoder and its limits. Generated code shows some of them, so its tests
// come along.
var codecMutants = []mutant{
	{"items out of line are not in the budget", "runtime/xdr/ddp.go", "			d.Outside += uint64(len(it.Data))\n", "			_ = it\n", xdrTests},
	{"items that are in the input count twice in the budget", "runtime/xdr/ddp.go", "	if !p.InStream {\n", "	if true {\n", xdrTests},
	{"one level too deep", "runtime/xdr/codec/check.go", "c.Depth >= most {", "c.Depth > most {", xdrTests},
	{"MaxElements is the default", "runtime/xdr/codec/check.go", "return limit(c.Options.Limits.MaxElements, defaultElements)", "return limit(0, defaultElements)", xdrTests},
	{"a negative limit is the default", "runtime/xdr/codec/check.go", "	case set < 0:\n		return math.MaxInt\n", "	case set < math.MinInt/2:\n		return math.MaxInt\n", xdrTests},
	{"memory of the message before counts", "runtime/xdr/decoder.go", "	d.Charged, d.Rate = 0, 0\n", "	d.Rate = 0\n", xdrTests},
	{"a larger rate of the message before stays", "runtime/xdr/decoder.go", "	d.Charged, d.Rate = 0, 0\n", "	d.Charged = 0\n", xdrTests},
	{"items that nothing took are no fault", "runtime/xdr/decoder.go", "	for _, it := range d.Placed.Items {\n		if it.Data != nil {", "	for _, it := range d.Placed.Items[:0] {\n		if it.Data != nil {", xdrTests},
	{"an empty item is taken for the chunk at its place", "runtime/xdr/codec/place.go", "+p.Inserted || n == 0 {", "+p.Inserted {", xdrTests},
	{"a list asks for more than the budget has", "runtime/xdr/codec/memory.go", "		more = max(1, int(fit))\n", "", xdrTests},
	{"an arm is not in the budget", "runtime/xdr/codec/memory.go", "	if err := charge(d, 1, size, off); err != nil {\n		return err\n	}\n	*p = new(T)\n", "	*p = new(T)\n", xdrTests},
	{"elements of an item look for items", "runtime/xdr/codec/place.go", "len(d.Placed.Items) != 0 && !d.Placed.Within", "len(d.Placed.Items) != 0", xdrTests},
	{"a chunk may be of any length", "runtime/xdr/codec/place.go", "len(it.Data) != n && len(it.Data) != xdr.Padded(n) {", "len(it.Data) < n {", xdrTests},
	{"a chunk's roundup is a fault", "runtime/xdr/codec/place.go", " && len(it.Data) != xdr.Padded(n) {", " {", xdrTests},
	{"one leniency is all of them", "runtime/xdr/codec/check.go", "	case xdr.CodeEnum:\n		return l.Enums\n", "	case xdr.CodeEnum:\n		return l.Enums || l.Padding\n", xdrTests},
	{"a recycled decoder grows each time", "runtime/xdr/decoder.go", "	d.Whole, d.Arena = whole, whole\n", "	_ = whole\n", xdrTests},
	{"values that were recycled are overwritten in part", "runtime/xdr/codec/memory.go", "func (s *slab[T]) Rewind() { s.used = 0 }", "func (s *slab[T]) Rewind() { s.used = min(s.used, 1) }", xdrTests},
	{"roundup stays in the stream", "runtime/xdr/codec/encode.go", "	e.Removed += uint64(xdr.Padded(len(data)))\n", "	e.Removed += uint64(len(data))\n", xdrTests},
	{"small items leave the stream", "runtime/xdr/codec/encode.go", "n > 0 && n >= e.Offered.Min &&", "n > 0 &&", xdrTests},
	{"the first byte of a pad may hold anything", "runtime/xdr/codec/check.go", "binary.BigEndian.Uint32(b[end-4:end]) << (8 * (n & 3))", "binary.BigEndian.Uint32(b[end-4:end]) << (8*(n&3) + 8)", xdrTests},
	{"a buffer that is full is full for good", "runtime/xdr/codec/encode.go", "	return e.Grow(size)\n", "	return err\n", xdrTests},
	{"an encoder that can never fit tries without a limit", "runtime/xdr/codec/encode.go", "err != error(full) || size <= len(e.Buf)-e.Off {", "err != error(full) {", xdrTests},
	{"a part of a message makes room by itself", "runtime/xdr/codec/encode.go", "	if e == nil || err != error(full)", "	if e == nil {\n		e = new(xdr.Encoder)\n	}\n	if err != error(full)", xdrTests},
	{"a failed encoder moves the end of the output", "runtime/xdr/codec/encode.go", "	if e != nil {\n		off = e.Off\n	}\n", "", xdrTests},
	{"a compact value is encoded once", "runtime/xdr/codec/encode.go", "	if err == error(made) {\n		return v.EncodeXDR(e)\n	}\n", "	if err == error(made) {\n		return full\n	}\n", xdrTests},
	{"each type has a declaration for its bounds", "cmd/xdrgen/internal/gogen/bounds.go", "	g.t.Const().Defs(g.bounded...)\n", "	for _, b := range g.bounded {\n		g.t.Comment(\"// Bounds, in bytes.\")\n		g.t.Const().Add(b)\n	}\n", xdrTests},
	{"opaque data over its bound is short", "runtime/xdr/codec/error.go", "	case n > most:\n", "	case n > most && len(b) < off:\n", xdrTests},
	{"an array over its bound has more elements than the input", "runtime/xdr/codec/error.go", "	if n > most {\n", "	if n > most && len(b) < off {\n", xdrTests},
	{"the elements that the input has are counted in bytes", "runtime/xdr/codec/error.go", "uint64((len(b)-off)/size)", "uint64(len(b)-off)", xdrTests},
	{"an encoder finds data over its bound and reports a full buffer", "runtime/xdr/codec/error.go", "	if uint64(n) > uint64(most) {\n", "	if n < 0 {\n", xdrTests},
	{"a decoder takes counts over their bounds", "cmd/xdrgen/internal/gogen/gocodec/readseq.go", "	if !limit {\n		return bad\n	}\n	return jen", "	if true {\n		return bad\n	}\n	return jen", xdrTests},
	{"an encoder takes counts over their bounds", "cmd/xdrgen/internal/gogen/gocodec/span.go", "lacks, full = jen.Add(l.over).Op(\"||\").Add(lacks), jen.Add(l.err)", "full = jen.Add(l.err)", xdrTests},
	{"of two counts in a span only the last is tested", "cmd/xdrgen/internal/gogen/gocodec/span.go", "	p.settle()\n	p.over = ", "	p.over = ", xdrTests},
	{"data begins where the run before it begins", "cmd/xdrgen/internal/gogen/gocodec/span.go", "				at.Op(\"+\").Lit(span[i-1].n)\n", "", xdrTests},
	{"a function returns the offset before its last statement", "cmd/xdrgen/internal/gogen/gocodec/function.go", "jen.Return(f.to, jen.Nil())", "jen.Return(jen.Id(\"off\"), jen.Nil())", xdrTests},
	{"the arms of a wide union are written out", "cmd/xdrgen/internal/plan/plan.go", "len(t.Arms) > wideUnion", "len(t.Arms) > 100*wideUnion", gogenTests},
}
