package sema

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// resolver resolves what the declarations of a unit contain: types, unions and programs.
type resolver struct {
	*findings
	advice *adviser
	u      *unit
	values *evaluator
}

// resolveTypes resolves structs, unions and typedefs. Types that are declared inside another
// declaration become separate declarations before that one.
func (r *resolver) resolveTypes() {
	old := r.u.decls
	r.u.decls = nil
	syms := r.u.scope.syms
	bySym := make(map[*ir.Decl]*symbol, len(syms))
	for _, s := range syms {
		if s.member == nil {
			bySym[s.decl] = s
		}
	}
	for _, d := range old {
		r.fill(bySym[d])
		r.u.decls = append(r.u.decls, d)
	}
}

// fill resolves the contents of a definition.
func (r *resolver) fill(s *symbol) {
	d := s.decl
	switch s.def.Kind {
	case syntax.Typedef:
		if s.def.Decl == nil {
			return
		}
		if s.def.Decl.Type.Kind == syntax.Void {
			r.report(diag.New(diag.BadVoid, s.def.Decl.Type.Span, "typedef of void"))
			return
		}
		d.Type = r.declType(s.def.Decl)
	case syntax.Struct:
		if len(s.def.Fields) == 0 && !s.broken {
			r.report(diag.New(diag.EmptyStruct, d.Pos, "struct %s has no fields", s.name))
		}
		seen := map[string]source.Span{}
		for _, f := range s.def.Fields {
			if f.Type.Kind == syntax.Void && !f.Star && f.Name.Name == "" && f.Shape == syntax.Plain {
				continue // RFC 4506 §6.3 allows it; it has no wire form
			}
			if field := r.field(f, "struct "+s.name, seen); field != nil {
				d.Fields = append(d.Fields, field)
			}
		}
	case syntax.Union:
		r.fillUnion(s)
	}
}

// field resolves a declaration as a field. It returns nil if the declaration is not a field.
func (r *resolver) field(f *syntax.Decl, where string, seen map[string]source.Span) *ir.Field {
	if f.Type.Kind == syntax.Void {
		d := diag.New(diag.BadVoid, f.Type.Span, "void cannot be a field of %s", where)
		if f.Star {
			d = d.Helpf("XDR sends what a pointer points to: write its type, or opaque %s<> for bytes", f.Name.Name)
		}
		r.report(d)
		return nil
	}
	if f.Name.Name == "" && f.Type.Kind == syntax.Inline && (f.Type.Body.Name.Name != "" || r.unclosedIn(f.Span)) {
		r.typ(f.Type) // a type that is declared here, as in C, or a field without its end
		return nil
	}
	if f.Name.Name == "" {
		r.report(diag.New(diag.SyntaxError, f.Span, "field of %s without a name", where).Helpf("write a name after the type"))
		return nil
	}
	if at, ok := seen[f.Name.Name]; ok {
		r.report(diag.New(diag.DuplicateField, f.Name.Span, "%s has two fields %s", where, f.Name.Name).With(at, "declared here first"))
	} else {
		seen[f.Name.Name] = f.Name.Span
	}
	return &ir.Field{Name: f.Name.Name, Pos: f.Name.Span, Doc: f.Doc, Tail: f.Tail, Type: r.declType(f)}
}

// pointerHelp returns the help for a declaration with a * and bounds. In C it is an array of
// pointers. XDR does not have it.
func pointerHelp(d *syntax.Decl) string {
	bounds := source.Span{File: d.Span.File, Start: d.Name.Span.End, End: d.Span.End}.Text()
	name, item := d.Name.Name, d.Type.Name
	if d.Shape == syntax.Plain {
		bounds = "<>"
	}
	whole := fmt.Sprintf("data that may be absent as a whole: typedef %s %s_data%s; and %[2]s_data *%[2]s", item, name, bounds)
	if d.Type.Kind == syntax.Opaque || d.Type.Kind == syntax.String || item == "" {
		return whole
	}
	return fmt.Sprintf("an array: %s %s%s; an array of items that may be absent each: typedef %[1]s *%[2]s_item; and %[2]s_item %[2]s%[3]s; %[4]s", item, name, bounds, whole)
}

// declType resolves the type of a declaration. If it has a fault, declType reports the fault and
// returns nil.
func (r *resolver) declType(d *syntax.Decl) *ir.Type {
	t := &ir.Type{Pos: d.Span}
	if d.Star && (d.Shape != syntax.Plain || d.Type.Kind == syntax.Opaque || d.Type.Kind == syntax.String) {
		r.report(diag.New(diag.BadOptional, d.Span, "optional data with bounds").Helpf("%s", pointerHelp(d)))
		return nil
	}
	if !r.bound(d, t) {
		if d.Type.Kind != syntax.Opaque && d.Type.Kind != syntax.String {
			r.typ(d.Type) // reports the faults of the type as well
		}
		return nil
	}
	switch d.Type.Kind {
	case syntax.Opaque:
		switch d.Shape {
		case syntax.Plain:
			r.report(diag.New(diag.BadOpaque, d.Span, "opaque without bounds"))
			return nil
		case syntax.Fixed:
			t.Kind = ir.FixedOpaque
		default:
			t.Kind = ir.Opaque
		}
		return t
	case syntax.String:
		switch d.Shape {
		case syntax.Plain:
			r.report(diag.New(diag.BareString, d.Span, "string without bounds").Replace(source.Span{File: d.Span.File, Start: d.Name.Span.End, End: d.Name.Span.End}, "<>"))
		case syntax.Fixed:
			r.report(diag.New(diag.BadOpaque, d.Span, "string of fixed length").Helpf("write string %s<%s>, or opaque %s[%s]", d.Name.Name, d.Bound.Text, d.Name.Name, d.Bound.Text))
			return nil
		}
		t.Kind = ir.String
		return t
	}
	elem := r.typ(d.Type)
	if elem == nil {
		return nil
	}
	switch {
	case d.Shape == syntax.Fixed:
		t.Kind, t.Elem = ir.FixedArray, elem
	case d.Shape == syntax.Variable:
		t.Kind, t.Elem = ir.Array, elem
	case d.Star:
		t.Kind, t.Elem = ir.Optional, elem
	default:
		return elem
	}
	return t
}

// bound resolves the bound of a declaration into t (RFC 4506 §6.4 (2)).
func (r *resolver) bound(d *syntax.Decl, t *ir.Type) bool {
	if d.Bound == nil {
		t.Max = math.MaxUint32
		return d.Shape != syntax.Fixed // a missing length was reported by the parser
	}
	k, ok := r.values.uint32Value(*d.Bound, diag.BadBound, "bound")
	if !ok {
		return false
	}
	if d.Shape == syntax.Fixed {
		t.Len = k.Abs
	} else {
		t.Bounded, t.Max = true, k.Abs
	}
	if k.sym != nil {
		t.LenText = k.Text
		if k.sym.member == nil {
			t.LenConst = k.sym.decl
		}
	}
	return true
}

// typ resolves a type without its bounds.
func (r *resolver) typ(t *syntax.Type) *ir.Type {
	switch t.Kind {
	case syntax.Prim:
		kind, plain, ok := primitive(t.Name)
		if !ok {
			r.report(diag.New(diag.SyntaxError, t.Span, "%s is not a type", diag.Quote(t.Name)))
			return nil
		}
		switch {
		case t.Name == "unsigned":
			r.report(diag.New(diag.BareUnsigned, t.Span, "unsigned without int").Replace(t.Span, "unsigned int"))
		case plain != "":
			r.cName(t, plain)
		}
		return &ir.Type{Kind: kind, Pos: t.Span, CName: narrow(t.Name)}
	case syntax.Named:
		return r.named(t)
	case syntax.Inline:
		return r.inline(t)
	}
	return nil
}

// cName warns of a C type's name, once for each name.
func (r *resolver) cName(t *syntax.Type, plain string) {
	if r.first(r.u, t.Name) {
		d := diag.New(diag.CTypeName, t.Span, "%s is a C type, read as %s", t.Name, plain).Helpf("write %s", plain).Replace(t.Span, plain)
		if t.Kind == syntax.Named {
			d = d.Helpf("write %s, or declare it: typedef %s %s;", plain, plain, t.Name)
		}
		r.report(d)
	}
}

func (r *resolver) named(t *syntax.Type) *ir.Type {
	s := r.resolve(r.u, t.Name, t.Span, (*symbol).isType)
	if s == nil {
		if kind, plain, ok := primitive(t.Name); ok && t.Tag == 0 {
			r.cName(t, plain)
			return &ir.Type{Kind: kind, Pos: t.Span, CName: narrow(t.Name)}
		}
		r.undefinedType(t)
		return nil
	}
	if !s.isType() {
		what := kindName(s.decl.Kind)
		if s.member != nil {
			what = "member of enum " + s.decl.Name
		}
		r.report(diag.New(diag.NotAType, t.Span, "%s is a %s, not a type", t.Name, what).With(s.span, "declared here"))
		return nil
	}
	if t.Tag != 0 && s.def != nil && !s.broken && s.decl.Kind != ir.Typedef && declKind(t.Tag) != s.decl.Kind {
		rule, ofUnion := diag.TagKind, t.Tag == syntax.Struct && s.decl.Kind == ir.Union
		if ofUnion {
			rule = diag.StructOfUnion
		}
		r.report(diag.New(rule, t.Span, "%s %s is declared as %s", t.Tag, t.Name, kindName(s.decl.Kind)).
			With(s.span, "declared here").Replace(t.Span, t.Name))
		if !ofUnion {
			return nil
		}
	}
	return &ir.Type{Kind: ir.Ref, Ref: s.decl, Pos: t.Span}
}

// inline resolves a type that is declared inside another declaration. declareInner has entered
// its name.
func (r *resolver) inline(t *syntax.Type) *ir.Type {
	s := r.u.scope.inner[t.Body]
	if s == nil {
		return nil // its name was taken, which was reported
	}
	r.fill(s)
	r.u.decls = append(r.u.decls, s.decl)
	return &ir.Type{Kind: ir.Ref, Ref: s.decl, Pos: t.Span}
}

// undefinedType reports an undeclared type, once for each name.
func (r *resolver) undefinedType(t *syntax.Type) {
	if !r.u.reportMissing(t.Name) {
		return
	}
	d := r.u.undeclared.usedTimes(diag.New(diag.UndefinedType, t.Span, "type %s is not declared", t.Name), t.Name)
	if at, ok := r.u.undeclared.declaredForC(r.u.files, t.Name); ok {
		d = d.With(at, "declared here, for C only")
	}
	fits := func(s *symbol) bool {
		return s.isType() && !(s.def != nil && s.def.Kind == syntax.Typedef && s.def.Span.File == t.Span.File &&
			// Not the typedef that uses the name.
			s.def.Span.Start <= t.Span.Start && t.Span.End <= s.def.Span.End)
	}
	r.report(r.advice.suggest(r.u, d, t.Name, fits, "int", "unsigned", "hyper", "bool", "float", "double", "string", "opaque", "struct"))
}
