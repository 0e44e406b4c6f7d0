package main

const (
	packetDir    = "cmd/internal/packet/"
	referenceDir = "cmd/xdrgen/internal/reference/"
)

var (
	packetTests    = []string{"cmd/internal/packet"}
	referenceTests = []string{"cmd/xdrgen/internal/reference"}
)

// docMutants are in the packet pictures and in the pages that show them.
var docMutants = []mutant{
	{"pictures have no limit of rows", packetDir + "picture.go", "l := layout{limited: level > 0}", "l := layout{limited: false}", packetTests},
	{"lanes have no limit of depth", packetDir + "layout.go", "	if l.depth == maxDepth && (", "	if false && (", packetTests},
	{"offsets go on after arms of different sizes", packetDir + "layout.go", "	if !fixed {\n		l.offset = notFixed\n	}\n", "	_ = fixed\n", packetTests},
	{"an arm begins after the arm before it", packetDir + "layout.go", "		l.offset = start\n		l.lane(Item{Name: caseText", "		l.lane(Item{Name: caseText", packetTests},
	{"opaque data of one byte has no padding", packetDir + "layout.go", "		i.Pad = int(-u.Len & 3)\n", "		i.Pad = int(-u.Len & 2)\n", packetTests},
	{"nothing says where lanes end", packetDir + "layout.go", "		if l.depth == l.at {\n", "		if false {\n", packetTests},
	{"names in pictures are markup", packetDir + "svg.go", "parts = append(parts, html.EscapeString(name))", "parts = append(parts, name)", packetTests},
	{"a long label leaves its box", packetDir + "svg.go", "	name, types, note := shorten(i.Name, room), i.Type, shorten(i.Note, room)\n", "	name, types, note := i.Name, i.Type, i.Note\n", packetTests},
	{"two lines of a label are one", packetDir + "svg.go", "s.line(i, mid, y-9, name", "s.line(i, mid, y+2, name", packetTests},
	{"a text picture is wider than a draft", packetDir + "picture.go", "	return string(r[:head]) + \"...\"", "	return s + \"...\"", packetTests},
	{"text of a unit is markup", referenceDir + "visible.go", "return html.EscapeString(visible(s)) }", "_ = html.EscapeString; return visible(s) }", referenceTests},
	{"changes of direction reach the page", referenceDir + "visible.go", "unicode.In(r, unicode.Cc, unicode.Cf,", "unicode.In(r, unicode.Cc,", referenceTests},
	{"the policy has another style", referenceDir + "html.go", "hash := sha256.Sum256([]byte(style))", "hash := sha256.Sum256([]byte(pageStyle))", referenceTests},
	{"links lead nowhere", referenceDir + "html.go", "	if d == nil || !p.shown[d] {\n", "	if d == nil {\n", referenceTests},
	{"two lines have one id", referenceDir + "html.go", "	p.lines[name] = true\n	p.put(\"<b id", "	p.put(\"<b id", referenceTests},
	{"a page is wider than its frame", referenceDir + "page.css", ".s{overflow-x:auto}", ".s{min-width:700px}", referenceTests},
	{"the section is the one after the line", referenceDir + "place.go", "		out.section = all[i-1].Number\n", "		out.section = all[min(i, len(all)-1)].Number\n", referenceTests},
	{"procedures use nothing", referenceDir + "reference.go", "			u.typ(p.Result, by)\n", "", referenceTests},
}
