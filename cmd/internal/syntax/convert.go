package syntax

import (
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// converter turns the parse of one definition into the syntax tree. It reports faults that
// the grammar accepts.
type converter struct {
	s      *scanner
	toks   []token
	broken bool
}

func (c *converter) report(d diag.Diagnostic) { c.s.report(d) }

// at returns the span of a token.
func (c *converter) at(t lexer.Token) source.Span {
	return c.s.span(t.Pos.Offset, t.Pos.Offset+c.width(t))
}

// width returns the width of a token in the text, which is 0 for an inserted one.
func (c *converter) width(t lexer.Token) int {
	i := sort.Search(len(c.toks), func(i int) bool { return c.toks[i].start >= t.Pos.Offset })
	for ; i < len(c.toks) && c.toks[i].start == t.Pos.Offset; i++ {
		if c.toks[i].text == t.Value {
			return c.toks[i].end - c.toks[i].start
		}
	}
	return len(t.Value)
}

func (c *converter) ident(t lexer.Token) Ident {
	if t.Value == "" {
		return Ident{}
	}
	return Ident{t.Value, c.at(t)}
}

func (c *converter) value(g *gValue) Value {
	if g == nil {
		return Value{}
	}
	switch {
	case g.Name.Value != "":
		return Value{Span: c.at(g.Name), Text: g.Name.Value, Name: true}
	case g.Str.Value != "":
		c.broken = c.broken || len(g.Str.Value) < 2 || !strings.HasSuffix(g.Str.Value, `"`)
		return Value{Span: c.at(g.Str), Text: g.Str.Value, Str: true}
	case g.Expr.Value != "":
		return Value{Span: c.at(g.Expr), Text: g.Expr.Value, Expr: true, Odd: true}
	}
	return c.number(c.at(g.Number), g.Number.Value)
}

func (c *converter) number(at source.Span, text string) Value {
	v := Value{Span: at, Text: text}
	neg, abs, err := Number(text)
	if err != nil && !strings.Contains(err.Error(), "out of range") {
		if plain, ok := foreignNumber(text); ok {
			neg, abs, err = Number(plain)
			v.Text = plain
			c.report(ConstForm(at, diag.Quote(text), plain))
		}
	}
	switch {
	case err == nil && !(neg && abs > 1<<63):
	case err == nil, strings.Contains(err.Error(), "out of range"):
		c.broken = true
		c.report(diag.New(diag.ConstRange, at, "%s does not fit in 64 bits", diag.Quote(text)))
	default:
		c.broken = true
		c.report(badNumber(at, text))
	}
	v.Neg, v.Abs = neg, abs
	return v
}

// ConstForm returns the finding on a constant that is not in a form of XDR. what describes
// the constant; value is the form to write.
func ConstForm(at source.Span, what, value string) diag.Diagnostic {
	return diag.New(diag.ConstForm, at, "%s is not an XDR constant; it is read as %s", what, value).
		Helpf("write %s", value).Replace(at, value)
}

// badNumber returns the finding on a text that is not a number, with the reason if it is
// known.
func badNumber(at source.Span, text string) diag.Diagnostic {
	d := diag.New(diag.BadNumber, at, "%s is not a number", diag.Quote(text))
	digits := strings.TrimPrefix(text, "-")
	switch {
	case strings.Contains(digits, ".") || strings.Trim(digits, "0123456789eE") == "" && strings.ContainsAny(digits, "eE"):
		return d.Helpf("XDR constants are integers")
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		return d.Helpf("hexadecimal digits, 0 to 9 and a to f, follow 0x")
	case digits[0] == '0' && strings.Trim(digits, "0123456789") == "":
		return d.Helpf("a number that begins with 0 is octal and has the digits 0 to 7; as a decimal number, write %s", strings.TrimLeft(digits, "0"))
	case isDigit(digits[0]):
		return d.Helpf("a name cannot begin with a digit; a number has only digits, or begins with 0x")
	}
	return d
}

func (c *converter) pointer(g *gValue) *Value {
	if g == nil {
		return nil
	}
	v := c.value(g)
	return &v
}

// def converts a definition. It returns none for a pragma or if there is no name.
func (c *converter) def(g *gDef, whole source.Span) []*Def {
	d := &Def{}
	switch {
	case g.Pragma != nil:
		c.report(diag.New(diag.Pragma, whole, "pragma is ignored"))
		return nil
	case g.Const != nil:
		d = c.constant(g.Const)
	case g.Typedef != nil:
		d = &Def{Kind: Typedef, Decl: c.decl(g.Typedef, true)}
		d.Name = d.Decl.Name
		if d.Name.Name == "" && d.Decl.Type.Kind == Inline && d.Decl.Type.Body.Name.Name != "" {
			d = d.Decl.Type.Body // typedef struct t {...};
		} else if d.Name.Name == "" && d.Decl.Type.Kind == Void {
			c.broken = true
			c.report(diag.New(diag.BadVoid, d.Decl.Type.Span, "typedef of void").Helpf("remove it: void has no values"))
		} else if d.Name.Name == "" {
			c.broken = true
			c.report(diag.New(diag.SyntaxError, c.at(g.End), "found \";\", expected the new name").
				Helpf("write the existing type, then the new name"))
		}
	case g.Enum != nil:
		d = c.enum(g.Enum.Body)
		d.Name = c.ident(g.Enum.Name)
	case g.Struct != nil:
		d = c.structure(g.Struct.Body)
		d.Name = c.ident(g.Struct.Name)
	case g.Union != nil:
		d = c.union(g.Union.Body)
		d.Name = c.ident(g.Union.Name)
	case g.Program != nil:
		d = c.program(g.Program)
	}
	if d == nil || d.Name.Name == "" {
		return nil
	}
	d.Span = whole
	d.Broken = d.Broken || c.broken
	d.Doc, d.Tail = c.s.notes.before(whole.Start), c.s.notes.after(whole.Start, whole.End)
	return []*Def{d}
}

// constant converts a constant: name = value, or a form that documents use instead.
func (c *converter) constant(g *gConst) *Def {
	var words []lexer.Token
	for _, w := range g.Words {
		words = append(words, w.Token)
	}
	d := &Def{Kind: Const}
	if g.Equal.Value == "" {
		c.broken = true
		last := words[len(words)-1]
		if g.Value == nil && len(words) > 1 {
			words, last = words[:len(words)-1], words[len(words)-2]
		}
		switch {
		case g.Value == nil && len(g.Words) == 1:
			c.report(diag.New(diag.SyntaxError, c.at(last), "const %s has no value", last.Value).Helpf("write const %s = VALUE;", last.Value))
		default:
			at := c.at(last)
			c.report(diag.New(diag.MissingEquals, at, "expected = after %s", diag.Quote(last.Value)).Replace(c.s.span(at.End, at.End), " ="))
		}
	} else if g.Value == nil {
		c.broken = true
		c.report(diag.New(diag.SyntaxError, c.at(g.Equal), "expected a number or the name of a constant after =").
			Helpf("write the value of %s here", words[len(words)-1].Value))
	}
	d.Value = c.value(g.Value)
	name := words[len(words)-1]
	d.Name = c.ident(name)
	if isKeyword(name.Value) {
		c.broken = true
		c.report(diag.New(diag.SyntaxError, c.at(name), "found %s, expected a name", diag.Quote(name.Value)))
		d.Name = Ident{}
	}
	if kinds := words[:len(words)-1]; len(kinds) > 0 {
		at := c.at(kinds[0]).To(c.at(kinds[len(kinds)-1]))
		c.report(diag.New(diag.TypedConst, at, "const %s has a type", name.Value).Replace(c.s.span(at.Start, name.Pos.Offset), ""))
	}
	return d
}

func (c *converter) enum(g *gEnumBody) *Def {
	d := &Def{Kind: Enum}
	for i, m := range g.List {
		last := i == len(g.List)-1
		member := &Member{Name: c.ident(m.Name), Value: c.pointer(m.Value), Doc: c.s.notes.before(m.Name.Pos.Offset)}
		end := member.Name.Span
		if member.Value != nil {
			end = member.Value.Span
		}
		switch {
		case last && m.Comma.Value != "" && c.broken:
		case last && m.Comma.Value != "":
			c.report(diag.New(diag.TrailingComma, c.at(m.Comma), "comma after the last member").Replace(c.at(m.Comma), ""))
		case !last && m.Comma.Value == "":
			c.broken = true
			after := c.s.span(end.End, end.End)
			missing := diag.New(diag.MissingComma, after, "expected , after %s", diag.Quote(end.Text()))
			if next := g.List[i+1]; next.Value != nil {
				missing = missing.Replace(after, ",")
			} else { // it may be a member, or superfluous
				missing = missing.Helpf("put a , here if %s is a member, else remove %[1]s", next.Name.Value)
			}
			c.report(missing)
		}
		member.Tail = c.s.notes.after(member.Name.Span.Start, end.End)
		d.Members = append(d.Members, member)
	}
	if len(g.List) == 0 && !c.broken {
		c.broken = true
		c.report(diag.New(diag.SyntaxError, c.at(g.Close), "enum has no members").
			Helpf("write at least one: NAME = VALUE"))
	}
	return d
}

func (c *converter) structure(g *gStructBody) *Def {
	d := &Def{Kind: Struct}
	for _, f := range g.List {
		d.Fields = append(d.Fields, c.field(f))
	}
	return d
}

func (c *converter) field(g *gField) *Decl {
	d := c.decl(g.Decl, false)
	d.Doc, d.Tail = c.s.notes.before(d.Span.Start), c.s.notes.after(d.Span.Start, g.End.Pos.Offset+c.width(g.End))
	return d
}

func (c *converter) union(g *gUnionBody) *Def {
	d := &Def{Kind: Union, Disc: c.decl(g.Disc, false)}
	for _, a := range g.Arms {
		arm := &Arm{}
		for _, l := range a.Labels {
			at := c.at(l.Default)
			if l.Case != nil {
				v := c.value(l.Case)
				at = v.Span
				arm.Labels = append(arm.Labels, v)
			} else {
				arm.Default = append(arm.Default, at)
			}
			arm.Span = arm.Span.To(at)
		}
		for _, f := range a.Decls {
			arm.Decls = append(arm.Decls, c.field(f))
		}
		d.Arms = append(d.Arms, arm)
	}
	return d
}

func (c *converter) program(g *gProgram) *Def {
	d := &Def{Kind: Program, Name: c.ident(g.Name), Value: c.value(g.Number)}
	for _, v := range g.Versions {
		ver := &Version{
			Name: c.ident(v.Name), Number: c.value(v.Number), Doc: c.s.notes.before(v.Word.Pos.Offset),
			Span: c.at(v.Word).To(c.at(v.End)),
		}
		for _, p := range v.Procs {
			ver.Procs = append(ver.Procs, c.proc(p))
		}
		d.Versions = append(d.Versions, ver)
	}
	return d
}

func (c *converter) proc(g *gProc) *Proc {
	result := &Decl{Type: c.typ(g.Result), Star: g.Star.Value != ""}
	result.Span = result.Type.Span
	p := &Proc{Name: c.ident(g.Name), Number: c.value(g.Number), Result: result, Span: result.Span.To(c.at(g.End))}
	p.Doc, p.Tail = c.s.notes.before(result.Span.Start), c.s.notes.after(p.Span.Start, p.Span.End)
	for _, a := range g.Args {
		p.Args = append(p.Args, c.decl(a, false))
	}
	if len(g.Args) == 0 {
		at := c.at(g.Open)
		c.report(diag.New(diag.EmptyArgs, at, "procedure %s has an empty argument list", p.Name.Name).Replace(c.s.span(at.End, at.End), "void"))
	}
	return p
}
