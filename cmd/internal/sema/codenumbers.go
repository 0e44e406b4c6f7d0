package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// resolveNumbers binds the names of the statements that say where messages have code points:
// message, number and payload.
func (l *linker) resolveNumbers() {
	for _, i := range l.u.imports {
		if i.side.bind == nil {
			continue
		}
		for _, n := range i.side.bind.Numbers {
			l.numbers[numberKey{n.Decl, n.Field}] = n
		}
	}
	for i := range l.bind.Numbers {
		n := &l.bind.Numbers[i]
		l.resolveNumber(n)
		l.numbers[numberKey{n.Decl, n.Field}] = *n
	}
	for i := range l.bind.Messages {
		l.resolveMessage(&l.bind.Messages[i])
	}
	codes := map[string]*ir.CodePoint{}
	for i := range l.bind.Codes {
		if p := &l.bind.Codes[i]; p.Space == ir.SpaceHeaderType {
			codes[p.Const] = p
		}
	}
	for _, w := range l.u.side.payloads {
		p := codes[w.Text]
		if p == nil {
			l.report(diag.New(diag.BindUnknownName, w.Pos, "the sidecar has no header type %s", w.Text).
				Helpf("add the line: code header-type %s TYPE", w.Text))
			continue
		}
		p.Payload = true
	}
}

// numberKey identifies a field with numbers of code points.
type numberKey struct {
	decl  *ir.Decl
	field string
}

// resolveNumber binds the struct or union of a number, and checks the types of its fields.
func (l *linker) resolveNumber(n *ir.Number) {
	d := l.withFields(n.Pos, n.Struct)
	if d == nil {
		return
	}
	fields := fieldsOf(d)
	if d.Kind == ir.Union {
		fields = []*ir.Field{d.Disc}
	}
	if !l.numberField(n.Pos, d, fields, n.Field) {
		return
	}
	n.Decl = d
	if n.Data == "" {
		return
	}
	if f := l.namedField(n.Pos, d, fields, n.Data); f != nil && f.Type.Underlying().Kind != ir.Opaque {
		l.report(diag.New(diag.BindCode, n.Pos, "field %s of %s is %s, expected opaque data with a count", f.Name, d.Name, describe(f.Type.Underlying())).
			With(f.Pos, "declared here").Helpf("name the opaque field that holds the data of the code point"))
	}
}

// resolveMessage binds the prefix of a message and follows the path to the number of its header
// type, which becomes a Number.
func (l *linker) resolveMessage(m *ir.Message) {
	prefix := l.withFields(m.Pos, m.Struct)
	switch {
	case prefix == nil:
		return
	case prefix.Kind == ir.Union || prefix.List != nil:
		what := "a union"
		if prefix.List != nil {
			what = "a linked list"
		}
		l.report(diag.New(diag.BindCode, m.Pos, "%s is %s, expected a struct that messages begin with", prefix.Name, what).
			With(prefix.Pos, "declared here").Helpf("name the struct that messages begin with"))
		return
	}
	d, last := prefix, len(m.Path)-1
	for _, name := range m.Path[:last] {
		f := l.namedField(m.Pos, d, d.Fields, name)
		if f == nil {
			return
		}
		t := f.Type.Underlying()
		if t.Kind != ir.Ref || t.Ref.Kind != ir.Struct {
			l.report(diag.New(diag.BindCode, m.Pos, "field %s of %s is %s, expected a struct", name, d.Name, describe(t)).
				With(f.Pos, "declared here").Helpf("name the fields from the struct down to the number of the header type"))
			return
		}
		d = t.Ref
	}
	if !l.numberField(m.Pos, d, d.Fields, m.Path[last]) {
		return
	}
	m.Decl = prefix
	key := numberKey{d, m.Path[last]}
	n, ok := l.numbers[key]
	switch {
	case !ok:
		n = ir.Number{Pos: m.Pos, Struct: d.Name, Field: key.field, Space: ir.SpaceHeaderType, Decl: d}
		l.numbers[key] = n
		l.bind.Numbers = append(l.bind.Numbers, n)
	case n.Space != ir.SpaceHeaderType:
		l.report(diag.New(diag.BindDuplicate, m.Pos, "%s.%s has the number of the header type, but also numbers of the space %s", n.Struct, n.Field, n.Space).
			With(n.Pos, "stated here"))
	}
}

// withFields returns the unit's struct or union with a name. If the unit does not have it,
// withFields reports a finding.
func (l *linker) withFields(at source.Span, name string) *ir.Decl {
	s := l.u.scope.names[name]
	if s != nil && s.member == nil && (s.decl.Kind == ir.Struct || s.decl.Kind == ir.Union) {
		return s.decl
	}
	l.report(l.advice.nearestName(l.names, diag.New(diag.BindUnknownName, at, "the unit has no struct or union %s", name), name))
	return nil
}

// namedField returns the field of d with a name, or reports a finding if d does not have it.
func (l *linker) namedField(at source.Span, d *ir.Decl, fields []*ir.Field, name string) *ir.Field {
	if f := findField(fields, name); f != nil {
		return f
	}
	l.report(diag.New(diag.BindUnknownName, at, "%s %s has no field %s", kindName(d.Kind), d.Name, name).
		With(d.Pos, "declared here").Helpf("use one of %s", fieldNames(fields)))
	return nil
}

// numberField reports whether the field of d with a name exists and is a number of 32 bits. If it
// does not or is not, numberField reports a finding.
func (l *linker) numberField(at source.Span, d *ir.Decl, fields []*ir.Field, name string) bool {
	f := l.namedField(at, d, fields, name)
	if f == nil {
		return false
	}
	switch t := f.Type.Underlying(); {
	case t.Kind == ir.Uint, t.Kind == ir.Int, t.Kind == ir.Ref && t.Ref.Kind == ir.Enum:
		return true
	default:
		l.report(diag.New(diag.BindCode, at, "field %s of %s is %s, expected a number of 32 bits", name, d.Name, describe(t)).
			With(f.Pos, "declared here").Helpf("name the field that holds the number of the code point"))
	}
	return false
}
