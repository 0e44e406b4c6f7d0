package syntax

import (
	"errors"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// Parser parses files. It holds the grammar, which takes a moment to build,
// and no other state.
type Parser struct {
	grammar *participle.Parser[gDef]
}

// NewParser returns a parser.
func NewParser() *Parser { return &Parser{newParser()} }

// Parse parses one file. What is wrong with it goes to c.Report, in order of
// places; the tree holds what could be read, and by name what could not.
func (p *Parser) Parse(f *source.File, c *Context) *File {
	var found []diag.Diagnostic
	own := *c
	own.Report = func(d diag.Diagnostic) { found = append(found, d) }
	out := p.parse(f, &own)
	if len(out.Defs) == 0 && len(found) > maxNoXDR {
		first := source.Span{File: f}
		for _, d := range found {
			if d.Rule == diag.SyntaxError {
				first = d.Span
				break
			}
		}
		found = []diag.Diagnostic{diag.New(diag.SyntaxError, first, "found %s, and no definition of XDR in the whole of %s", diag.Quote(first.Text()), f.Base()).
			Helpf("check that this is a file of XDR; an extract of a document may be of another language")}
	}
	for _, d := range found {
		c.Report(d)
	}
	return out
}

// maxNoXDR is how many findings in a text without a definition make it no XDR.
const maxNoXDR = 5

func (p *Parser) parse(f *source.File, c *Context) *File {
	s := &scanner{f: f, text: f.Text, ctx: c}
	s.scan()
	out := &File{Source: f, License: s.license(), Percent: s.percent, CDefs: s.cdefs, Headers: s.headers}
	out.Defs = append(out.Defs, s.defs...)
	split := &splitter{f: f, toks: s.toks, report: c.Report, cut: s.unclosed}
	for {
		toks, ok := split.next()
		if !ok {
			break
		}
		if len(toks) > 0 {
			out.Defs = append(out.Defs, p.definition(s, toks)...)
		}
	}
	for _, t := range split.names { // so that who uses them is not blamed
		out.Defs = append(out.Defs, &Def{Kind: Struct, Span: t.span(f), Name: Ident{t.text, t.span(f)}, Broken: true})
	}
	sort.SliceStable(out.Defs, func(i, j int) bool { return out.Defs[i].Span.Start < out.Defs[j].Span.Start })
	return out
}

// maxRetries limits how many faults of one definition are reported.
const maxRetries = 20

// definition parses the tokens of one definition. After a fault it leaves the
// faulty line out and parses the rest again, to find further faults.
func (p *Parser) definition(s *scanner, toks []token) []*Def {
	whole := source.Span{File: s.f, Start: toks[0].start, End: toks[len(toks)-1].end}
	broken := false
	for range maxRetries {
		lx, err := lexer.Upgrade(&tokenLexer{toks: toks, end: whole.End})
		if err != nil {
			break
		}
		g, err := p.grammar.ParseFromLexer(lx)
		if err == nil {
			c := converter{s: s, toks: toks, broken: broken}
			return c.def(g, whole)
		}
		broken = true
		var fault participle.Error
		if !errors.As(err, &fault) {
			break
		}
		k := sort.Search(len(toks), func(i int) bool { return toks[i].start >= fault.Position().Offset })
		var again bool
		if toks, again = repair(s, toks, k, expectation(fault.Message())); !again {
			break
		}
	}
	return sketch(s, toks, whole)
}

// repair reports a fault at token k and returns the tokens without the line
// that holds it, or with the semicolon that it lacks.
func repair(s *scanner, toks []token, k int, expected string) (out []token, again bool) {
	end := token{start: toks[len(toks)-1].end, end: toks[len(toks)-1].end, text: "the end"}
	t := end
	if k < len(toks) {
		t = toks[k]
	}
	if expected == ";" && k > 0 && endsLine(s, toks[k-1], t) {
		s.report(missingSemicolon(s.f, toks[k-1]))
		semicolon := token{tPunct, toks[k-1].end, toks[k-1].end, ";"}
		return append(append(append([]token(nil), toks[:k]...), semicolon), toks[k:]...), true
	}
	if t.start == t.end && t.is("}") { // put in for the one that is missing, which was reported
		return toks, false
	}
	if out, ok := mend(s, toks, k, expected); ok {
		return out, true
	}
	d := diag.New(diag.SyntaxError, t.span(s.f), "found %s, expected %s", diag.Quote(t.text), expected)
	switch {
	case toks[0].is("typedef") && t.is("="):
		d = d.Helpf("write the existing type, then the new name, and no =")
	case t.is(",") && !toks[0].is("enum"):
		d = d.Helpf("declare each name by itself, with its type and a ; of its own")
	case expected == "=" && k > 0 && toks[k-1].is("}"):
		d = d.Helpf("write = and the number after the }")
	}
	if expected == "a name" && t.kind == tKeyword {
		d = d.Helpf("%s is a word of the language: choose another name", t.text)
	}
	if expected == "{" && t.is(";") {
		d = d.Helpf("remove it: names can be used before they are declared")
	}
	s.report(d)
	from := k
	for from > 0 && !strings.Contains(";{},:", toks[from-1].text) {
		from--
	}
	if from == 0 || toks[from-1].is("}") || toks[from-1].is(",") && !toks[0].is("enum") {
		return toks, false
	}
	to, depth := k, 0
	for ; to < len(toks); to++ {
		switch {
		case toks[to].is("{"):
			depth++
		case toks[to].is("}"):
			depth--
		}
		if depth < 0 {
			break
		}
		if depth == 0 && (toks[to].is(";") || toks[to].is(",") && toks[0].is("enum")) {
			to++
			break
		}
	}
	if to <= from || to >= len(toks) {
		return toks, false
	}
	return append(append([]token(nil), toks[:from]...), toks[to:]...), true
}

// endsLine reports whether a semicolon is what is missing between two tokens:
// the second is on another line, or begins something else.
func endsLine(s *scanner, a, b token) bool {
	if s.f.Position(a.end).Line < s.f.Position(b.start).Line {
		return true
	}
	return (a.kind == tNumber || a.is("]") || a.is(">")) && (b.kind == tIdent || b.kind == tKeyword)
}

// expectation turns participle's "(expected ...)" into words.
func expectation(message string) string {
	_, e, _ := strings.Cut(message, "(expected ")
	e = strings.TrimSuffix(e, ")")
	switch {
	case e == "":
		return "something else"
	case strings.HasPrefix(e, `"`):
		return strings.Split(e, `"`)[1]
	case strings.HasPrefix(e, "<ident>"), strings.HasPrefix(e, "GConst"):
		return "a name"
	case strings.HasPrefix(e, "GValue"):
		return "a number or the name of a constant"
	case strings.HasPrefix(e, "GEnumBody"), strings.HasPrefix(e, "GStructBody"):
		return "{"
	case strings.HasPrefix(e, "GUnionBody"):
		return "switch"
	case strings.HasPrefix(e, "GLabel"), strings.HasPrefix(e, "GArm"):
		return "case or default"
	case strings.HasPrefix(e, "GStruct"), strings.HasPrefix(e, "GUnion"), strings.HasPrefix(e, "GEnum"):
		return "a name or {"
	case strings.HasPrefix(e, "GDecl"), strings.HasPrefix(e, "GType"), strings.HasPrefix(e, "GField"):
		return "a type"
	case strings.HasPrefix(e, "GVersion"):
		return "version"
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(e, `"`, "")), " ")
}

// sketch returns what can be said of a definition that could not be parsed:
// the names it declares, so that their users are not blamed.
func sketch(s *scanner, toks []token, whole source.Span) []*Def {
	kinds := map[string]DefKind{"const": Const, "enum": Enum, "struct": Struct, "union": Union, "typedef": Typedef, "program": Program}
	d := &Def{Kind: kinds[toks[0].text], Span: whole, Broken: true}
	if d.Kind == 0 {
		return nil
	}
	for i, t := range toks[1:] {
		switch {
		case t.kind != tIdent:
		case d.Kind == Typedef: // the last name before the bounds
			d.Name = Ident{t.text, t.span(s.f)}
			if n := toks[i+2:]; len(n) > 0 && (n[0].is("<") || n[0].is("[")) {
				return []*Def{d}
			}
		case d.Name.Name == "":
			d.Name = Ident{t.text, t.span(s.f)}
		case d.Kind == Enum && (toks[i].is("{") || toks[i].is(",")):
			d.Members = append(d.Members, &Member{Name: Ident{t.text, t.span(s.f)}})
		}
	}
	if d.Name.Name == "" {
		return nil
	}
	return []*Def{d}
}
