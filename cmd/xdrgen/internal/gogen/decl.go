package gogen

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// decl writes one declaration of a type; constants and programs stand before them.
func (g *gen) decl(d *ir.Decl) {
	switch d.Kind {
	case ir.Enum:
		g.enum(d)
	case ir.Struct:
		g.structDecl(d)
	case ir.Union:
		g.union(d)
	case ir.Typedef:
		g.typedef(d)
	}
}

// doc is a doc comment: the Go name, what it is in XDR, and the source's own
// comment.
func (g *gen) doc(goName, what string, comment []string) jen.Code {
	lines := []string{goName + " is " + what + "."}
	if len(comment) > 0 {
		lines = append(append(lines, ""), comment...)
	}
	return jen.Comment(commented(lines))
}

// tail makes a comment for the end of a line.
func tail(s string) string { return "// " + strings.Join(strings.Fields(s), " ") }

func (g *gen) structDecl(d *ir.Decl) {
	name := g.names.decl[d]
	if d.List != nil && len(d.List.Elem) == 1 {
		return // lists of it are slices of the one field's type
	}
	what := "struct " + d.Name
	if d.List != nil {
		what = "one element of the linked list of struct " + d.Name + ", without the pointer to the next"
	}
	g.t.Add(g.doc(name, what, d.Doc))
	var fields []jen.Code
	for _, f := range structFields(d) {
		fields = append(fields, g.fieldDecl(f, g.goType(f.Type), ""))
	}
	g.t.Type().Id(name).Struct(fields...)
	g.methods(d, codec{
		put: func(p *putter, v place) {
			for _, f := range structFields(d) {
				p.put(f.Type, g.field(v, f))
			}
		},
		get: func(r *getter, v place) {
			for _, f := range structFields(d) {
				r.get(f.Type, g.field(v, f))
			}
		},
		size: func(s *sizer, v place) {
			for _, f := range structFields(d) {
				s.size(f.Type, g.field(v, f))
			}
		},
		reset: func(z *resetter, v place) {
			for _, f := range structFields(d) {
				z.reset(f.Type, v.x.dot(g.names.field[f]))
			}
		},
	})
}

func (g *gen) fieldDecl(f *ir.Field, t jen.Code, note string) jen.Code {
	s := jen.Id(g.names.field[f]).Add(t)
	note = strings.Join(slices.Concat(nonEmpty(note), nonEmpty(f.Tail), nonEmpty(narrowNote(f.Type))), "; ")
	if note != "" {
		s.Comment(tail(note))
	}
	return documented(f.Doc, s)
}

// narrowNote returns a note on data that the text declares by a C type of fewer than 32
// bits: a peer in C keeps only those, we keep all.
func narrowNote(t *ir.Type) string {
	for t.Elem != nil {
		t = t.Elem
	}
	if t.CName == "" {
		return ""
	}
	return t.CName + " in the source; Go keeps all 32 bits"
}

// documented is code below its own comment in the source.
func documented(doc []string, code *jen.Statement) jen.Code {
	if len(doc) == 0 {
		return code
	}
	return jen.Comment(commented(doc)).Line().Add(code)
}

// commented is lines as a comment.
func commented(lines []string) string {
	return "// " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n// ")
}

func (g *gen) typedef(d *ir.Decl) {
	if isTransparent(d) {
		return
	}
	name := g.names.decl[d]
	g.t.Add(g.doc(name, "typedef "+d.Name, slices.Concat(d.Doc, nonEmpty(d.Tail), nonEmpty(narrowNote(d.Type)))))
	t := resolve(d.Type)
	if isAlias(d) {
		g.t.Type().Id(name).Op("=").Add(g.goType(t))
		return
	}
	under := g.goType(t)
	if t.Kind == ir.String {
		under = jen.Index().Byte()
	}
	g.t.Type().Id(name).Add(under)
	if t.Kind == ir.String {
		g.f.Comment("// String returns the bytes as a string.")
		g.f.Func().Params(jen.Id("v").Id(name)).Id("String").Params().String().Block(jen.Return(jen.String().Call(jen.Id("v"))))
	}
	val := func(v place) place { // the value itself: v is a pointer
		q := v
		conv := g.basicConversion(d)
		q.x = func() *jen.Statement { return jen.Parens(jen.Op("*").Id("v")) }
		if conv != nil {
			q.x = func() *jen.Statement { return conv().Call(jen.Op("*").Id("v")) }
		}
		return q
	}
	g.methods(d, codec{
		put:  func(p *putter, v place) { p.put(t, val(v)) },
		size: func(s *sizer, v place) { s.size(t, val(v)) },
		get: func(r *getter, v place) {
			q := v
			q.x, q.ptr = func() *jen.Statement { return jen.Parens(jen.Op("*").Id("v")) }, id("v")
			r.typedef(d, q)
		},
		reset: func(z *resetter, v place) {
			z.reset(t, func() *jen.Statement { return jen.Parens(jen.Op("*").Id("v")) })
		},
	})
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// codec is how the methods of one declaration are filled.
type codec struct {
	put   func(p *putter, v place)
	get   func(r *getter, v place)
	size  func(s *sizer, v place)
	reset func(z *resetter, v place)
}

// self is the value of the method's receiver.
func (g *gen) self(d *ir.Decl) place {
	return place{x: id("v"), root: g.pkg + "." + g.names.decl[d]}
}

// methods writes the methods that every generated type has (D2).
func (g *gen) methods(d *ir.Decl, c codec) {
	name := g.names.decl[d]
	recv := func() *jen.Statement { return g.f.Func().Params(jen.Id("v").Op("*").Id(name)) }

	g.bounds(d)
	g.f.Comment("// XDRSize returns the size of v on the wire, in bytes.")
	g.sizing = false
	recv().Id("XDRSize").Params().Int().Block(g.sizeBody(d, c)...)
	if most := g.bound[d].max; most != "" {
		g.f.Commentf("// XDRMaxSize returns %s.", most)
		g.f.Func().Params(jen.Op("*").Id(name)).Id("XDRMaxSize").Params().Int().Block(jen.Return(jen.Id(most)))
	}
	if g.reducible[d] {
		g.sizing = true
		g.f.Comment("// ReducedXDRSize returns the size of v in the output of e, without the items that e")
		g.f.Comment("// leaves out of line.")
		recv().Id("ReducedXDRSize").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder")).Int().Block(g.sizeBody(d, c)...)
		g.sizing = false
	}

	g.same(d)

	g.f.Comment("// PutXDR encodes v into b at off and returns the next offset. Only generated code calls it.")
	recv().Id("PutXDR").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Params(jen.Int(), jen.Error()).Block(g.putBody(d, c)...)
	g.f.Comment("// GetXDR decodes v from b at off and returns the next offset. Only generated code calls it.")
	recv().Id("GetXDR").Params(jen.Id("d").Op("*").Qual(xdrPath, "Decoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Params(jen.Int(), jen.Error()).Block(g.getBody(g.newGetter(), d, c)...)

	g.f.Comment("// SkipXDR checks the value in b at off and returns the next offset. Only generated code calls it.")
	recv().Id("SkipXDR").Params(jen.Id("c").Op("*").Qual(xdrPath, "Checker"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Params(jen.Int(), errPtr()).Block(g.getBody(g.newChecker(), d, c)...)

	g.f.Comment("// ResetXDR empties v and keeps the capacity of its slices.")
	z := &resetter{g: g, vars: &local{}}
	c.reset(z, g.self(d))
	recv().Id("ResetXDR").Params().Block(z.code...)
}

func (g *gen) sizeBody(d *ir.Decl, c codec) []jen.Code {
	s := &sizer{g: g, vars: &local{}, sum: "n"}
	c.size(s, g.self(d))
	if len(s.code) == 0 {
		return []jen.Code{jen.Return(jen.Lit(s.fixed))}
	}
	body := []jen.Code{jen.Id("n").Op(":=").Lit(s.fixed)}
	body = append(body, s.code...)
	return append(body, jen.Return(jen.Id("n")))
}

func (g *gen) putBody(d *ir.Decl, c codec) []jen.Code {
	g.needErr = false
	p := &putter{g: g, vars: &local{}, buf: "b", off: "off", once: g.reducible[d]}
	c.put(p, g.self(d))
	p.flush()
	return g.body(p.code, jen.Error(), nil)
}

func (g *gen) getBody(r *getter, d *ir.Decl, c codec) []jen.Code {
	g.needErr = false
	c.get(r, g.self(d))
	r.flush()
	t := jen.Error()
	if r.check {
		t = errPtr()
	}
	if !d.Recursive {
		return g.body(r.code, t, nil)
	}
	enter := []jen.Code{
		jen.If(jen.Err().Op(":=").Qual(codecPath, "Enter").Call(r.rules(), jen.Id("off")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Lit(0), jen.Err())),
	}
	return g.body(append(enter, r.code...), t, jen.Qual(codecPath, "Leave").Call(r.rules()))
}

// errPtr is the type of an error in check-only readers; encoders and decoders have
// the interface, which makes EncodeXDR and DecodeXDR small enough to be inlined.
func errPtr() *jen.Statement { return jen.Op("*").Qual(xdrPath, "Error") }

// body frames the statements of a codec: the error variable where one is used,
// and the return.
func (g *gen) body(code []jen.Code, errType, last jen.Code) []jen.Code {
	var out []jen.Code
	if g.needErr {
		out = append(out, jen.Var().Err().Add(errType))
	}
	out = append(out, code...)
	if last != nil {
		out = append(out, last)
	}
	return append(out, jen.Return(jen.Id("off"), jen.Nil()))
}
