package syntax

import (
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// decl converts a declaration. The name of a typedef may be a keyword: then the typedef is
// reversed, which sema reports.
func (c *converter) decl(g *gDecl, typedef bool) *Decl {
	d := &Decl{Type: c.typ(g.Type), Star: len(g.Stars) > 0}
	d.Span = d.Type.Span
	for _, t := range g.Stars {
		d.Span = d.Span.To(c.at(t.Token))
	}
	if len(g.Stars) > 1 {
		c.broken = true
		c.report(diag.New(diag.BadOptional, c.at(g.Stars[1].Token), "more than one *").Helpf("declare the inner optional type with typedef"))
	}
	switch {
	case len(g.Names) > 0 && !typedef && d.Type.Kind == Named && d.Type.Tag == 0 && c.wrongType(d, g.Names):
	case len(g.Names) > 1 && d.Type.Kind == Prim && c.noSuchType(d, g.Names):
	case len(g.Names) > 0:
		d.Name = c.names(d, g.Names, typedef)
	}
	d.Span = d.Span.To(d.Name.Span)
	switch {
	case g.Open.Value != "":
		d.Shape, d.Bound = Fixed, c.pointer(g.Fixed)
		d.Span = d.Span.To(c.at(g.Open))
		if d.Bound == nil {
			c.broken = true
			c.report(diag.New(diag.BadBound, c.at(g.Open), "[] has no length").
				Helpf("write a constant between [ and ], or <> for any length"))
		}
	case g.Angle.Value != "":
		d.Shape, d.Bound = Variable, c.pointer(g.Max)
		d.Span = d.Span.To(c.at(g.Close))
	}
	// zcopaque is an extension of xdrzcc.
	if d.Shape != Plain && d.Type.Kind == Named && d.Type.Tag == 0 && d.Type.Name == "zcopaque" {
		c.report(diag.New(diag.Pragma, d.Type.Span, "zcopaque is read as opaque").Helpf("write opaque").Replace(d.Type.Span, "opaque"))
		d.Type = &Type{Kind: Opaque, Name: "opaque", Span: d.Type.Span}
	}
	if d.Bound != nil {
		d.Span = d.Span.To(d.Bound.Span)
		if d.Shape == Fixed {
			d.Span.End = c.closing(d.Span.End)
		}
	}
	return d
}

// wrongType handles three faults that leave a keyword in place of the name: a name before its
// type, a modifier of other languages, and a misspelled unsigned. It reports whether it found
// one of them.
func (c *converter) wrongType(d *Decl, names []*gName) bool {
	first := names[0].Token
	if len(names) == 2 && isModifier(d.Type.Name) {
		next := c.at(first)
		c.report(diag.New(diag.SyntaxError, d.Type.Span, "found %s, expected a type", diag.Quote(d.Type.Name)).
			Helpf("remove it: an XDR field has only a type and a name").Replace(c.s.span(d.Type.Span.Start, next.Start), ""))
		d.Name = c.ident(names[1].Token)
		d.Type = &Type{Kind: Prim, Name: first.Value, Span: next}
		if !isKeyword(first.Value) {
			d.Type.Kind = Named
		}
		return true
	}
	switch first.Value {
	case "int", "hyper", "bool", "float", "double":
	default:
		return false
	}
	_, near := spelling.Nearest(d.Type.Name, []string{"unsigned"})
	if d.Type.Name == "signed" && (first.Value == "int" || first.Value == "hyper") && len(names) == 2 {
		both := d.Type.Span.To(c.at(first))
		c.report(diag.New(diag.SyntaxError, d.Type.Span, "found \"signed\", expected a type").
			Helpf("remove it: int and hyper are signed").Replace(both, first.Value))
		d.Name = c.ident(names[1].Token)
		d.Type = &Type{Kind: Prim, Name: first.Value, Span: both}
		return true
	}
	switch {
	case near && len(names) == 2 && (first.Value == "int" || first.Value == "hyper"):
		c.report(diag.New(diag.SyntaxError, d.Type.Span, "found %s, expected a type", diag.Quote(d.Type.Name)).
			Helpf("did you mean unsigned?").Replace(d.Type.Span, "unsigned"))
		d.Name = c.ident(names[1].Token)
		d.Type = &Type{Kind: Prim, Name: "unsigned " + first.Value, Span: d.Type.Span.To(c.at(first))}
	case !near && len(names) == 1:
		c.report(diag.New(diag.SyntaxError, d.Type.Span.To(c.at(first)), "name %s comes before its type %s", d.Type.Name, first.Value).
			Helpf("write %s %s", first.Value, d.Type.Name).Replace(d.Type.Span.To(c.at(first)), first.Value+" "+d.Type.Name))
		d.Name = Ident{d.Type.Name, d.Type.Span}
		d.Type = &Type{Kind: Prim, Name: first.Value, Span: c.at(first)}
	default:
		return false
	}
	return true
}

// isModifier reports whether a word modifies types in C or other languages.
func isModifier(word string) bool {
	switch word {
	case "static", "volatile", "inline", "extern", "register", "optional", "required", "repeated":
		return true
	}
	return false
}

// noSuchType reports combinations of keywords that are not a type, such as unsigned float and
// long double, and whether it found one.
func (c *converter) noSuchType(d *Decl, names []*gName) bool {
	second := names[0].Token
	switch second.Value {
	case "float", "double", "bool", "string", "opaque", "int", "hyper":
	default:
		return false
	}
	c.broken = true
	at := d.Type.Span.To(c.at(second))
	c.report(diag.New(diag.SyntaxError, at, "%s is not a type", diag.Quote(d.Type.Name+" "+second.Value)).
		Helpf("unsigned goes only with int and hyper; write float and double alone"))
	d.Type = &Type{Kind: Prim, Name: "int", Span: at}
	d.Name = c.ident(names[1].Token)
	return true
}

// closing returns the end of the ] that follows offset.
func (c *converter) closing(offset int) int {
	i := sort.Search(len(c.toks), func(i int) bool { return c.toks[i].start >= offset })
	if i < len(c.toks) {
		return c.toks[i].end
	}
	return offset
}

// names returns the declared name. More than one word means a missing semicolon, except in a
// reversed typedef, which may end with "unsigned int".
func (c *converter) names(d *Decl, list []*gName, typedef bool) Ident {
	words := make([]lexer.Token, len(list))
	for i, n := range list {
		words[i] = n.Token
	}
	first := c.ident(words[0])
	if typedef && isKeyword(first.Name) {
		var all []string
		for _, w := range words {
			all = append(all, w.Value)
		}
		return Ident{strings.Join(all, " "), first.Span.To(c.at(words[len(words)-1]))}
	}
	switch {
	case isKeyword(first.Name):
		c.broken = true
		c.report(diag.New(diag.SyntaxError, first.Span, "found %s, expected a name", diag.Quote(first.Name)).
			Helpf("%s is a keyword: choose another name", first.Name))
	case len(words) > 1:
		c.broken = true
		next := c.at(words[1])
		onNextLine := c.s.f.Position(first.Span.End).Line < next.Position().Line
		if isKeyword(words[1].Value) || onNextLine {
			d := missingSemicolon(c.s.f, token{end: first.Span.End, text: first.Name})
			if !onNextLine { // the word may also be superfluous
				d.Fix = nil
				d = d.Helpf("put a ; here if another declaration begins with %s, or remove a word", words[1].Value)
			}
			c.report(d)
		} else {
			c.report(diag.New(diag.SyntaxError, next, "found %s, expected ;", diag.Quote(words[1].Value)).
				Helpf("put a ; before %s, or remove it", words[1].Value))
			if d.Type.Kind == Named { // the word before it may not be a type
				d.Type = &Type{Kind: Prim, Name: "int", Span: d.Type.Span}
			}
		}
	}
	return first
}

// typ converts a type.
func (c *converter) typ(g *gType) *Type {
	var words []lexer.Token
	for _, w := range []lexer.Token{g.Unsigned, g.Simple} {
		if w.Value != "" {
			words = append(words, w)
		}
	}
	for _, w := range g.Rest {
		words = append(words, w.Token)
	}
	for _, w := range g.Prim {
		words = append(words, w.Token)
	}
	if g.Int.Value != "" {
		words = append(words, g.Int)
	}
	if len(words) > 0 {
		return c.words(words)
	}
	t := &Type{Kind: Named}
	var body *Def
	tag, name := lexer.Token{}, g.Name
	switch {
	case g.Struct != nil:
		t.Tag, tag, name = Struct, g.Word1, g.Struct.Tag
		if g.Struct.Body != nil {
			body = c.structure(g.Struct.Body)
			body.Span = c.at(g.Word1).To(c.at(g.Struct.Body.Close))
		}
	case g.Union != nil:
		t.Tag, tag, name = Union, g.Word2, g.Union.Tag
		if g.Union.Body != nil {
			body = c.union(g.Union.Body)
			body.Span = c.at(g.Word2).To(c.at(g.Union.Body.Close))
		}
	case g.Enum != nil:
		t.Tag, tag, name = Enum, g.Word3, g.Enum.Tag
		if g.Enum.Body != nil {
			body = c.enum(g.Enum.Body)
			body.Span = c.at(g.Word3).To(c.at(g.Enum.Body.Close))
		}
	}
	if name.Value != "" {
		t.Name, t.Span = name.Value, c.at(name)
	}
	if tag.Value != "" {
		t.Span = c.at(tag).To(t.Span)
	}
	if body != nil {
		t.Kind, t.Body, t.Span = Inline, body, body.Span
		body.Name = c.ident(name)
	}
	return t
}

// words converts a type that consists of XDR or C keywords.
func (c *converter) words(words []lexer.Token) *Type {
	t := &Type{Kind: Prim, Span: c.at(words[0]).To(c.at(words[len(words)-1]))}
	switch words[0].Value {
	case "void":
		t.Kind = Void
	case "opaque":
		t.Kind = Opaque
	case "string":
		t.Kind = String
	}
	var all []string
	for _, w := range words {
		all = append(all, w.Value)
	}
	t.Name = strings.Join(all, " ")
	return t
}
