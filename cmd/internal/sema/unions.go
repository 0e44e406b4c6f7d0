package sema

import (
	"math"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// fillUnion resolves the discriminant and the arms. Case values need all typedefs, so checkUnions
// resolves them later.
func (r *resolver) fillUnion(s *symbol) {
	d := s.decl
	where := "union " + s.name
	seen := map[string]source.Span{}
	switch disc := s.def.Disc; {
	case disc == nil:
	case disc.Type.Kind == syntax.String || disc.Type.Kind == syntax.Opaque:
		r.report(diag.New(diag.BadDiscriminant, disc.Span, "discriminant %s of union %s is %s", disc.Name.Name, s.name, disc.Type.Name))
	default:
		if disc.Name.Name == "" && disc.Type.Kind == syntax.Named {
			r.report(diag.New(diag.SyntaxError, disc.Span, "found (%s), expected the type and the name of a discriminant in %s", disc.Type.Name, where).
				Helpf("write switch (TYPE %s) if %[1]s is the name, or switch (%[1]s NAME) if it is the type", disc.Type.Name))
			return
		}
		d.Disc = r.field(disc, where, seen)
	}
	if len(s.def.Arms) == 0 && !s.broken {
		r.report(diag.New(diag.NoArms, d.Pos, "union %s has no arms", s.name))
	}
	r.defaultPlace(s)
	var first source.Span
	for _, a := range s.def.Arms {
		arm := &ir.Arm{Pos: a.Span, Default: len(a.Default) > 0}
		for _, at := range a.Default {
			if first.Valid() {
				r.report(diag.New(diag.DuplicateDefault, at, "union %s has two defaults", s.name).With(first, "the first is here"))
			} else {
				first = at
			}
		}
		arm.Field = r.armField(s, a, seen)
		d.Arms = append(d.Arms, arm)
	}
}

// defaultPlace warns of a default that is not the last of several arms.
func (r *resolver) defaultPlace(s *symbol) {
	arms := s.def.Arms
	n := 0
	for _, a := range arms {
		n += len(a.Default)
	}
	if n != 1 {
		return
	}
	for i, a := range arms {
		if len(a.Default) == 0 {
			continue
		}
		d := diag.New(diag.DefaultPlace, a.Default[0], "default of union %s is before a case", s.name)
		switch {
		case len(arms) == 1 && len(a.Labels) == 0:
			d.Message = "union " + s.name + " has a default and no case"
		case i == len(arms)-1 && (len(a.Labels) == 0 || a.Labels[len(a.Labels)-1].Span.Start < a.Default[0].Start):
			continue
		}
		r.report(d)
		return
	}
}

// armField resolves the declaration of an arm, which has only one (RFC 4506 §4.15).
func (r *resolver) armField(s *symbol, a *syntax.Arm, seen map[string]source.Span) *ir.Field {
	if len(a.Decls) == 0 {
		if !s.broken {
			r.report(diag.New(diag.ArmWithNone, a.Span, "arm %s of union %s has no declaration", label(a), s.name))
		}
		return nil
	}
	if len(a.Decls) > 1 {
		d := diag.New(diag.ArmWithTwo, a.Decls[1].Span, "arm %s of union %s has %d declarations, expected one", label(a), s.name, len(a.Decls))
		r.report(d.With(a.Decls[0].Span, "the first is here"))
	}
	f := a.Decls[0]
	if f.Type.Kind == syntax.Void {
		if f.Name.Name != "" || f.Star || f.Shape != syntax.Plain {
			r.report(diag.New(diag.BadVoid, f.Span, "void with a name or bounds"))
		}
		return nil
	}
	if d := s.def.Disc; d != nil && f.Name.Name != "" && d.Name.Name == f.Name.Name {
		g := *f
		g.Name.Name += "_arm"
		r.report(diag.New(diag.ArmAsDisc, f.Name.Span, "arm %s of union %s has the name of its discriminant, read as %s", f.Name.Name, s.name, g.Name.Name).
			With(d.Name.Span, "the discriminant"))
		f = &g
	}
	if at, ok := seen[f.Name.Name]; ok && f.Name.Name != "" {
		r.report(diag.New(diag.DuplicateArm, f.Name.Span, "union %s has two arms named %s", s.name, f.Name.Name).With(at, "declared here first"))
		seen = map[string]source.Span{}
	}
	return r.field(f, "union "+s.name, seen)
}

func label(a *syntax.Arm) string {
	if len(a.Labels) > 0 {
		return "case " + a.Labels[0].Text
	}
	return "default"
}

// checkUnions resolves the case values of the unit's unions.
func (r *resolver) checkUnions() {
	for _, s := range r.u.scope.syms {
		if s.member == nil && s.decl.Kind == ir.Union && s.decl.Disc != nil && s.decl.Disc.Type != nil {
			r.checkUnion(s)
		}
	}
}

func (r *resolver) checkUnion(s *symbol) {
	d := s.decl
	under := underlying(d.Disc.Type)
	if under == nil {
		return
	}
	enum := (*ir.Decl)(nil)
	switch {
	case under.Kind == ir.Bool, under.Kind == ir.Int, under.Kind == ir.Uint:
	case under.Kind == ir.Ref && under.Ref.Kind == ir.Enum:
		enum = under.Ref
	default:
		r.report(diag.New(diag.BadDiscriminant, s.def.Disc.Span, "discriminant %s of union %s is %s", d.Disc.Name, s.name, describe(under)))
		return
	}
	members := membersOf(enum)
	cases := map[int64]source.Span{}
	for i, a := range s.def.Arms {
		for _, v := range a.Labels {
			l, ok := r.caseLabel(s, v, under.Kind, enum, members)
			if !ok {
				continue
			}
			key := signed(l.Value)
			if at, dup := cases[key]; dup {
				r.report(diag.New(diag.DuplicateCase, v.Span, "case %s (%s) of union %s occurs twice", v.Text, show(l.Value), s.name).With(at, "the first is here"))
				continue
			}
			cases[key] = v.Span
			d.Arms[i].Labels = append(d.Arms[i].Labels, l)
		}
	}
}

// caseLabel resolves a case value. It must be a value of the discriminant (RFC 4506 §6.4 (5)).
func (r *resolver) caseLabel(s *symbol, v syntax.Value, kind ir.Kind, enum *ir.Decl, members memberSet) (ir.Label, bool) {
	if enum != nil && v.Name && r.u.lookup(v.Text) == nil {
		numbers := r.u.numbered(v.Text, v.Span)
		if _, builtin := builtinConst(v.Text); !builtin && len(numbers) == 0 {
			if _, given := r.values.defined(v.Text); !given && r.u.reportMissing(v.Text) {
				r.report(r.advice.notMember(diag.New(diag.UndefinedConst, v.Span, "%s is not declared", v.Text), v.Text, enum))
			}
			return ir.Label{}, false
		}
	}
	k, ok := r.values.label(v, enum)
	if !ok {
		return ir.Label{}, false
	}
	l := ir.Label{Pos: v.Span, Value: k.Value}
	if k.sym != nil {
		if l.Member = k.sym.member; l.Member == nil {
			l.Const = k.sym.decl
		}
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	switch {
	case enum != nil:
		m := members.with(k.Value)
		if m == nil && !r.u.brokenEnum(enum) {
			at := r.advice.notMember(diag.New(diag.CaseNotInEnum, v.Span, "case %s is not a member of enum %s", v.Text, enum.Name), v.Text, enum)
			r.report(at)
			return l, false
		}
		if l.Member == nil || !members.all[l.Member] {
			l.Member = m
		}
		return l, true
	case kind == ir.Bool:
		low, high = 0, 1
	case kind == ir.Uint:
		low, high = 0, math.MaxUint32
	}
	if n := signed(k.Value); n < low || n > high || k.Abs > math.MaxUint32 {
		r.report(diag.New(diag.CaseRange, v.Span, "case %s (%s) is not a value of discriminant %s, which takes %d to %d", v.Text, show(k.Value), s.decl.Disc.Name, low, high))
		return l, false
	}
	return l, true
}

// brokenEnum reports whether an enum has faults. Then some of its values may be missing.
func (u *unit) brokenEnum(enum *ir.Decl) bool {
	for _, i := range append(u.imports[:len(u.imports):len(u.imports)], u) {
		if s := i.scope.names[enum.Name]; s != nil && s.decl == enum {
			return s.broken
		}
	}
	return false
}

// memberSet finds the members of an enum.
type memberSet struct {
	all     map[*ir.Member]bool
	byValue map[int32]*ir.Member // the first member with each value
}

func membersOf(enum *ir.Decl) memberSet {
	m := memberSet{map[*ir.Member]bool{}, map[int32]*ir.Member{}}
	if enum == nil {
		return m
	}
	for _, x := range enum.Members {
		m.all[x] = true
		if m.byValue[x.Value] == nil {
			m.byValue[x.Value] = x
		}
	}
	return m
}

func (m memberSet) with(v ir.Value) *ir.Member {
	n, ok := toInt32(v)
	if !ok {
		return nil
	}
	return m.byValue[n]
}

// underlying returns the type that a chain of typedefs ends in. It returns nil if one of them is
// broken or the chain has no end.
func underlying(t *ir.Type) *ir.Type {
	for n := 0; t != nil && t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef; n++ {
		if n > 1<<16 {
			return nil
		}
		t = t.Ref.Type
	}
	return t
}

// describe returns the name of a type for a message.
func describe(t *ir.Type) string {
	switch t.Kind {
	case ir.FixedArray, ir.Array:
		return "an array"
	case ir.Optional:
		return "optional data"
	case ir.ListOf, ir.ListHead:
		return "a linked list"
	case ir.Ref:
		return kindName(t.Ref.Kind) + " " + t.Ref.Name
	}
	return t.Kind.Word()
}
