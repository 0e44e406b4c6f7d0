package main

const (
	decideFile = "cmd/xdrgen/internal/plan/decide.go"
	makeFile   = "cmd/xdrgen/internal/plan/make.go"
)

var (
	planTests     = []string{"cmd/xdrgen/internal/plan"}
	gogenTests    = []string{"cmd/xdrgen/internal/gogen"}
	namesTests    = []string{"cmd/xdrgen/internal/gogen/gonames"}
	semaTests     = []string{"cmd/internal/sema"}
	compatTests   = []string{"cmd/xdrgen/internal/compat"}
	dynamicTests  = []string{"cmd/internal/dynamic"}
	xdrgenTests   = []string{"cmd/xdrgen"}
	cliTests      = []string{"internal/cli"}
	extractTests  = []string{"tools/extract"}
	documentTests = []string{"internal/xdrdoc"}
)

// planMutants are in the decisions of the compiler's back end, and in the commands around it.
var planMutants = []mutant{
	{"types of any weight are written out", decideFile, "	return t.weight() <= inlineLimit\n", "	return true\n", planTests},
	{"a typedef with methods hides its placement site", decideFile, "!s.Of.Inline && s.Elem == s.Of.Body\n", "!s.Of.Inline\n", planTests},
	{"check-only readers call where decoders do", decideFile, "s.CheckCall = s.Call && (s.PassCall || s.Of.Node)\n", "s.CheckCall = s.Call\n", planTests},
	{"a typedef of a placement site counts as two uses", makeFile, "	m.in = nil\n	defer func", "	defer func", planTests},
	{"large arms are pointers in all unions", "cmd/xdrgen/internal/plan/memory.go", "a.Pointer = t.Repeated && used", "a.Pointer = used", planTests},
	{"opaque data of any length is part of a run", "cmd/xdrgen/internal/plan/weight.go", "		if s.Len <= runBytes {\n", "		if s.Len >= 0 {\n", planTests},
	{"padding is not checked", "cmd/xdrgen/internal/plan/check.go", "return truth(s.Len%4 == 0)\n", "return 1\n", planTests},
	{"scans stop at arms that no value selects", "cmd/xdrgen/internal/plan/lists.go", "a.Field != nil && !a.Dead {", "a.Field != nil {", planTests},
	{"elements of arrays occur once", "cmd/xdrgen/internal/plan/repeated.go", "r.step(s.Elem, true)\n", "r.step(s.Elem, many)\n", planTests},
	{"types that hold a placement site are whole", "cmd/xdrgen/internal/plan/reduce.go", "			mark(user)\n", "			_ = user\n", planTests},
	{"codecs share memory with types", "cmd/xdrgen/internal/gogen/generate.go", "\tmade := []*gofile.Assembly{g.codecs}\n\tif g.wantViews {\n\t\tg.scans()\n\t\tmade = append(made, g.views)\n\t}\n\tg.codecs.Pieces = slices.Concat(g.types, g.codecs.Pieces) // after the last piece of either\n", "\tg.codecs.Pieces = append(g.types, g.codecs.Pieces...)\n\tmade := []*gofile.Assembly{g.codecs}\n\tif g.wantViews {\n\t\tg.scans()\n\t\tmade = append(made, g.views)\n\t}\n", gogenTests},
	{"a package without one method is written", "cmd/xdrgen/internal/gogen/complete.go", "\t\t\tif _, ok := written[name+\".\"+m]; !ok {\n", "\t\t\tif _, ok := written[name+\".\"+m]; !ok && m != \"ResetXDR\" {\n", gogenTests},
	{"a procedure with a line once may be repeated", "cmd/xdrgen/internal/gogen/gostubs/stubs.go", "\t\t\tknown = true\n\t\t} else if p.Number != 0 {", "\t\t\tknown = true\n\t\t}\n\t\tif p.Number != 0 {", gogenTests},
	{"a version without a line once may be repeated", "cmd/xdrgen/internal/gogen/gostubs/stubs.go", "\tif !known {\n\t\treturn nil\n\t}\n\treturn out\n", "\t_ = known\n\treturn out\n", gogenTests},
	{"a package without a type is written", "cmd/xdrgen/internal/gogen/complete.go", "\t\tcase !ok:\n\t\t\treturn lacks(d, \"type \"+name)\n", "\t\tcase !ok:\n\t\t\tcontinue\n", gogenTests},
	{"a package without a view is written", "cmd/xdrgen/internal/gogen/complete.go", "!ok && g.wantViews && plan.HasView(d) {", "!ok && !g.wantViews && plan.HasView(d) {", gogenTests},
	{"fields with the name of one method clash", "cmd/xdrgen/internal/gogen/gonames/names.go", "first || !free(g)", "first || !free(g) && false", namesTests},
	{"a renamed field has the name of another", "cmd/xdrgen/internal/gogen/gonames/names.go", " && !given[g] && !spelled[g] }", " && !spelled[g] }", namesTests},
	{"the first of two fields keeps the name", "cmd/xdrgen/internal/gogen/gonames/names.go", "used[g].Valid() || spelled[g] && f.Name != g", "used[g].Valid()", namesTests},
	{"a pointer has the bytes of what it points to", "cmd/xdrgen/internal/plan/typedef.go", "\tt.PointerName = u.Op == Optional && u.Elem.holdsRecursive()\n", "\tt.PointerName = u.Op == Optional && u.Elem.holdsRecursive() && s.Op == Optional && t.Decl.Anon\n", gogenTests},
	{"a typedef of a pointer is an object in JSON", "runtime/xdr/internal/describe/type.go", "s.Whole = len(s.Fields) == 1", "s.Whole = len(s.Fields) == 2", []string{"runtime/xdr/internal/describe", "runtime/xdr/xdrjson"}},
	{"a list in its own elements has no struct", "cmd/internal/sema/list.go", "\t\t\t\tc.List.Single = false\n", "\t\t\t\tc.List.Single = true\n", gogenTests},
	{"lists that cannot be empty hold no memory", "cmd/xdrgen/internal/plan/bare.go", "\t\tif s.Head {\n\t\t\treturn 0\n\t\t}\n", "", gogenTests},
	{"arms that are held by pointer hold no memory", "cmd/xdrgen/internal/plan/bare.go", " && !arm.Pointer {", " {", planTests},
	{"a part holds less memory inside itself", "cmd/xdrgen/internal/plan/amplify.go", "\ta.repeated(excess + a.rate*a.p.bare(t)) // what typ returns inside of t\n", "", planTests},
	{"the list of a node takes a name of the document", "cmd/xdrgen/internal/gogen/gonames/names.go", "n.decl[d.List.Whole] = n.Fresh(usual)", "n.decl[d.List.Whole] = usual", namesTests},
	{"the code of a list counts as a use of its node", "cmd/xdrgen/internal/plan/make.go", "\tm.in = nil\n\tt.Body = m.step(t.Decl.Type, nil)\n", "\tt.Body = m.step(t.Decl.Type, nil)\n", []string{"cmd/xdrgen/internal/plan"}},
	{"two declarations have one Go name", "cmd/xdrgen/internal/gogen/gonames/names.go", "\tcase r.has(g):\n\t\tg = r.apart(usual)\n", "\tcase r.has(g):\n\t\tg = usual\n", namesTests},
	{"a type spelled as in Go gets an underscore", "cmd/xdrgen/internal/gogen/gonames/names.go", "\tcase names[0] == xdr:\n\t\treturn 0\n", "", namesTests},
	{"a rename takes the name of another", "cmd/xdrgen/internal/gogen/gonames/names.go", "case r.has(g) && (renamed || r.given[g]):", "case r.has(g) && renamed && r.given[g]:", namesTests},
	{"a placement site has the name of a type", "cmd/xdrgen/internal/gogen/gonames/names.go", "n.site[x.Field] = n.Fresh(\"Site\" + n.decl[x.Owner] + n.field[x.Field])", "n.site[x.Field] = \"Site\" + n.decl[x.Owner] + n.field[x.Field]", gogenTests},
	{"a file that did not change keeps its time with -MD", "cmd/xdrgen/gen.go", "\treturn touch(names)\n", "\treturn touch(nil)\n", xdrgenTests},
	{"an include that is removed stops make", "cmd/xdrgen/makedep.go", "\tfor _, name := range d.found {\n", "\tfor _, name := range d.found[:0] {\n", xdrgenTests},
	{"a dollar in a dependency is a variable", "cmd/xdrgen/makedep.go", "\t\t\tb.WriteByte('$')\n", "", xdrgenTests},
	{"a dependency file is written before its names are checked", "cmd/xdrgen/makedep.go", "strings.IndexAny(name, \"%;|=\"); i >= 0", "strings.IndexAny(name, \"%;|=\"); i > len(name)", xdrgenTests},
	{"check does not say which views are missing", "cmd/xdrgen/internal/gogen/generate.go", "newGen(u, b, Options{Views: b.Views})", "newGen(u, b, Options{})", xdrgenTests},
	{"check does not say which data is too large", "cmd/xdrgen/internal/plan/large.go", "t.Size.Min > largest {", "t.Size.Min > 4*largest {", []string{"cmd/xdrgen/internal/gogen"}},
	{"an arm is a pointer to a pointer", "cmd/xdrgen/internal/plan/memory.go", " && !a.Field.Step.Under().Pointer; !a.Pointer {", "; !a.Pointer {", gogenTests},
	{"a page break has a finding for each line", "cmd/internal/syntax/page.go", "\tif end == start {\n", "\tif end >= start {\n", semaTests},
	{"the header after a page's footer is read as XDR", "cmd/internal/syntax/page.go", "if !footer && !pageHeader.Match(line) {", "if !footer {", semaTests},
	{"any undeclared constant is taken for a hexadecimal number", "cmd/internal/sema/suggest.go", "hexDigits.MatchString(name)", "name != \"\"", semaTests},
	{"each use of a C name is reported", "cmd/internal/sema/findings.go", "	return !again || f.every\n", "	return !again || again\n", semaTests},
	{"a number of another unit is computed in this one", "cmd/internal/sema/numbers.go", "e.in(n.unit).eval(n.value)", "e.eval(n.value)", semaTests},
	{"every finding gets a suggestion", "cmd/internal/sema/suggest.go", "return a.asked <= maxSuggest && !a.plain\n", "return !a.plain\n", semaTests},
	{"a name is undeclared once for each use", "cmd/internal/sema/unit.go", "	u.undeclared.reported[name] = true\n", "", semaTests},
	{"union before the name of a struct is a warning", "cmd/internal/sema/types.go", "t.Tag == syntax.Struct && s.decl.Kind == ir.Union", "s.decl.Kind == ir.Union || s.decl.Kind == ir.Struct", xdrgenTests},
	{"the command of a package lacks -rpc", "cmd/xdrgen/regenerate.go", "{\"-rpc\", g.RPC}, {\"-async\"", "{\"-async\"", xdrgenTests},
	{"the command of a package lacks -async", "cmd/xdrgen/regenerate.go", ", {\"-async\", g.Async}}", "}", xdrgenTests},
	{"the command of a package has paths from elsewhere", "cmd/xdrgen/regenerate.go", "\teach(\"-I\", g.Include, g.fromOutput)\n", "\teach(\"-I\", g.Include, as)\n", xdrgenTests},
	{"the command of a package names folders of the machine", "cmd/xdrgen/regenerate.go", "\treturn ups > levels\n", "\treturn ups > levels+1\n", xdrgenTests},
	{"words of a command are not quoted", "cmd/xdrgen/regenerate.go", "\t\twords = append(words, quoted(g.fromOutput(f)))\n", "\t\twords = append(words, g.fromOutput(f))\n", xdrgenTests},
	{"the count of findings comes first", "cmd/xdrgen/findings.go", "\tvar err error\n\tswitch f.Format {\n\tcase \"json\":\n\t\terr = printJSON", "\tvar err error\n\tif f.Format == \"text\" {\n\t\tsummary(env.stderr, errors, warnings, hidden)\n\t\treturn f.write(env, diag.NotedOnce(shown), r)\n\t}\n\tswitch f.Format {\n\tcase \"json\":\n\t\terr = printJSON", xdrgenTests},
	{"an error of writing names the temporary file", "cmd/xdrgen/gen.go", "\tdefer func() { err = ofFile(err, name) }()\n", "", xdrgenTests},
	{"every file with three slashes is a document", "internal/xdrdoc/looks.go", "if markedDefinition.Match(text) {", "if bytes.Contains(text, []byte(\"///\")) {", documentTests},
	{"help is one column too wide", "internal/cli/fold.go", "+utf8.RuneCountInString(w) > room {", "+utf8.RuneCountInString(w) > room+1 {", cliTests},
	{"help is filled across items", "internal/cli/fold.go", "trimmed == \"\" || len(next)-len(trimmed) != column ||", "trimmed == \"\" || len(next)-len(trimmed) < 2 ||", cliTests},
	{"an example is folded without a backslash", "internal/cli/fold.go", "indent+4, width, ` \\`)", "indent+4, width, \"\")", cliTests},
	{"a comment below an example is folded as a command", "internal/cli/fold.go", "case examples && indent >= columnIndent &&", "case examples && indent < 0 &&", cliTests},
	{"the second line of a command is folded as a comment", "internal/cli/fold.go", " && !strings.HasSuffix(lines[i-1], `\\`):", ":", cliTests},
	{"brackets of usage are divided", "internal/cli/fold.go", "return c == '[' || open && c != ']' })", "return false })", cliTests},
	{"the width of a terminal is its height", "internal/cli/terminal_unix.go", "\treturn int(size.columns)\n", "\treturn int(size.rows)\n", cliTests},
	{"lines before the first @@FILE are in one file", "internal/xdrdoc/marked.go", "Lines: slices.Clone(common), common", "Lines: slices.Clone(common[:len(common)*max(0, 1-len(parts))]), common", documentTests},
	{"the lines that files share come twice on stdout", "internal/xdrdoc/marked.go", "\treturn p.Lines[p.common:]\n", "\treturn p.Lines\n", extractTests},
	{"a document's file is chosen without its name", "cmd/xdrgen/internal/document/document.go", "return p.Name == f.File", "return p.Name != f.File", xdrgenTests},
	{"files that are compiled one by one are compiled as one", "cmd/xdrgen/internal/document/document.go", "if len(doc.Parts) > 1 && doc.Parts[0].Alone {", "if false {", xdrgenTests},
	{"a definition that never closes is not reported", "cmd/xdrgen/internal/document/document.go", "for _, u := range doc.Lost {", "for _, u := range doc.Lost[:0] {", xdrgenTests},
	{"an entity moves what follows it to the left", "internal/xdrdoc/place.go", "extra > 0 && !comment {", "false {", documentTests},
	{"a text in place ends before its document", "internal/xdrdoc/place.go", "for ; at <= len(raw); at++ {", "for ; at < len(raw); at++ {", documentTests},
	{"a page break separates a comment from its type", "cmd/internal/syntax/comment.go", "\t\t\tif to == 0 || n.text[to-1] != outside[0] {\n", "\t\t\tif to >= 0 {\n", xdrgenTests},
	{"the header has the sum of the extracted text", "cmd/internal/sema/load.go", "if f.Source.Document != nil {", "if false {", xdrgenTests},
	{"a comment of pieces stays a comment", "internal/xdrdoc/pieces.go", "if text == \"/*\" && toAdd.MatchString(above) {", "if text == \"//\" && toAdd.MatchString(above) {", documentTests},
	{"any comment of members is taken for pieces", "internal/xdrdoc/pieces.go", "if text == \"/*\" && toAdd.MatchString(above) {", "if text == \"/*\" && toAdd.MatchString(\"add \"+above) {", documentTests},
	{"prose among pieces is taken too", "internal/xdrdoc/pieces.go", "if !piece.MatchString(text) {", "if false {", documentTests},
	{"a folded item of a dump loses a character", "cmd/xdrgen/dump.go", "note = strings.TrimLeft(string(r[at:]), \" \")", "note = strings.TrimLeft(string(r[min(at+1, len(r)):]), \" \")", xdrgenTests},
	{"the first line of a folded item is too long", "cmd/xdrgen/dump.go", "foldNote(note, d.width-len(lead))", "foldNote(note, d.width-len(lead)+1)", xdrgenTests},
	{"a mark without a meaning is passed over", "internal/xdrdoc/marks.go", "!inside && likeMark.MatchString(l.Text) && ", "inside && likeMark.MatchString(l.Text) && ", xdrgenTests},
}
