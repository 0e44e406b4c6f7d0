package syntax

import (
	"errors"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Parser parses files. Its only state is the grammar, which takes some time to build.
type Parser struct {
	grammar *participle.Parser[gDef]
}

// NewParser returns a parser.
func NewParser() *Parser { return &Parser{newParser()} }

// Parse parses one file. It reports findings to c.Report in order of position. The tree has
// all definitions that could be parsed, and the names of those that could not.
func (p *Parser) Parse(f *source.File, c *Context) *File {
	var found []diag.Diagnostic
	own := *c
	own.Report = func(d diag.Diagnostic) { found = append(found, d) }
	out, words := p.parse(f, &own)
	first := source.Span{}
	for _, d := range found {
		if d.Rule == diag.SyntaxError {
			first = d.Span
			break
		}
	}
	n, _ := diag.Count(found)
	other, isOther := otherLanguage(f, first)
	switch {
	case !first.Valid():
	case isOther:
		found = []diag.Diagnostic{other}
		for i, d := range out.Defs { // such as the XDR in a document: only the names count
			out.Defs[i] = &Def{Kind: d.Kind, Span: d.Span, Name: d.Name, Broken: true}
		}
	case len(out.Defs) == 0 && (n > maxNoXDR || n > 1 && !words):
		found = []diag.Diagnostic{diag.New(diag.SyntaxError, first, "found %s, and %s has no XDR definition at all", diag.Quote(first.Text()), f.Base()).
			Helpf("check that this is an XDR file; if it was extracted from a document, it may be in another language")}
	}
	for _, d := range found {
		c.Report(d)
	}
	return out
}

// maxNoXDR is the number of findings above which a file without definitions is reported as
// not being XDR.
const maxNoXDR = 5

// parse parses one file. It reports whether the file has a keyword that begins a definition.
func (p *Parser) parse(f *source.File, c *Context) (out *File, words bool) {
	s := &scanner{f: f, text: f.Text, notes: notes{text: f.Text}, ctx: c}
	s.scan()
	if isEmpty(s) && !s.unclosed {
		c.Report(diag.New(diag.NoDefinitions, source.Span{File: f}, "%s has no definition", f.Base()))
	}
	out = &File{Source: f, License: s.notes.license(), Percent: s.percent, CDefs: s.cdefs, Headers: s.headers}
	out.Defs = append(out.Defs, s.defs...)
	split := &splitter{f: f, toks: s.toks, report: c.Report, cut: s.unclosed}
	defer func() { out.Outside = split.strays.found }()
	for i := range s.toks {
		words = words || split.startsDef(i)
	}
	for {
		toks, ok := split.next()
		if !ok {
			break
		}
		if len(toks) > 0 {
			out.add(s, p.definition(s, toks))
		}
	}
	for _, t := range split.names { // so that their uses are not reported as undefined
		out.Defs = append(out.Defs, &Def{Kind: t.as, Span: t.span(f), Name: Ident{t.text, t.span(f)}, Broken: true})
	}
	sort.SliceStable(out.Defs, func(i, j int) bool { return out.Defs[i].Span.Start < out.Defs[j].Span.Start })
	return out, words
}

// maxRetries limits the number of faults reported for one definition.
const maxRetries = 20

// definition parses the tokens of one definition. After a fault it removes the faulty line
// and parses the rest again, to find further faults.
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
		var fault participle.Error
		if !errors.As(err, &fault) {
			break
		}
		k := sort.Search(len(toks), func(i int) bool { return toks[i].start >= fault.Position().Offset })
		if rest, ok := extraSemicolon(s, toks, k); ok {
			toks = rest
			continue
		}
		broken = true
		expected := expectation(fault.Message())
		if expected == "}" {
			expected = inBraces(toks, k)
		}
		if k > 0 && tokenAt(toks, k).is("{") && toks[k-1].is("union") {
			expected = "switch"
		}
		var again bool
		if toks, again = repair(s, toks, k, expected); !again {
			break
		}
	}
	return namesOnly(s, toks, whole)
}

// repair reports a fault at token k. It returns the tokens with the fault repaired, or
// without the faulty line, and whether to parse them again.
func repair(s *scanner, toks []token, k int, expected string) (out []token, again bool) {
	t := tokenAt(toks, k)
	if expected == ";" && k > 0 && endsLine(s, toks[k-1], t) {
		s.report(missingSemicolon(s.f, toks[k-1]))
		return splice(toks, k, k, token{tPunct, toks[k-1].end, toks[k-1].end, ";"}), true
	}
	if t.start == t.end && t.is("}") { // the splitter inserted it, and reported that it was missing
		return toks, false
	}
	if out, ok := certainRepair(s, toks, k, expected); ok {
		return out, true
	}
	d := diag.New(diag.SyntaxError, t.span(s.f), "found %s, expected %s", diag.Quote(t.text), expected)
	s.report(advise(d, toks, k, expected))
	return dropLine(toks, k)
}

// tokenAt returns token k, or an empty token for the end.
func tokenAt(toks []token, k int) token {
	if k < len(toks) {
		return toks[k]
	}
	end := toks[len(toks)-1].end
	return token{start: end, end: end, text: "the end"}
}

// dropLine returns the tokens without the field, member or case that contains token k, and
// whether there was one to remove.
func dropLine(toks []token, k int) (out []token, again bool) {
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
	return splice(toks, from, to), true
}

// endsLine reports whether a semicolon is missing between two tokens: the second one is on
// another line, or begins something else.
func endsLine(s *scanner, a, b token) bool {
	if s.f.Position(a.end).Line < s.f.Position(b.start).Line || b.is("}") {
		return true
	}
	return (a.kind == tNumber || a.is("]") || a.is(">")) && (b.kind == tIdent || b.kind == tKeyword)
}

// namesOnly returns a definition that could not be parsed, with only the names that it
// declares, so that their uses are not reported as undefined.
func namesOnly(s *scanner, toks []token, whole source.Span) []*Def {
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
