package dynamic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Find returns the type with a name in a unit or in the units that it imports. It finds
// typedefs, enums, structs and unions by name, and the arguments and the result of a procedure
// as PROGRAM.VERSION.PROCEDURE.args and .result. The arguments are a struct, and a void result
// is a struct without fields. A name that several imports declare needs the unit before it, as
// UNIT/NAME.
func Find(u *ir.Unit, name string) (*ir.Type, error) {
	if parts := strings.Split(name, "."); len(parts) > 1 {
		p, err := findProcedure(u, parts)
		if err != nil {
			return nil, err
		}
		return p.side(parts)
	}
	found, err := named(u, name, func(d *ir.Decl) bool { return d.Kind != ir.Const && d.Kind != ir.Program })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &NotFound{"type " + name + " is not declared", name, Names(u)}
	}
	switch d := found[0]; d.Kind {
	case ir.Const:
		return nil, &NotFound{name + " is a constant, not a type", name, Names(u)}
	case ir.Program:
		return nil, &NotFound{name + " is a program, not a type", name, below(u, name+".")}
	default:
		return typeOf(d), nil
	}
}

// named returns the declaration with a name: the unit's own, or an import's. UNIT/NAME is the
// one in that unit. If several imports declare the name, and several of these declarations fit, the
// error names them. If none fits, named returns all.
func named(u *ir.Unit, name string, fits func(*ir.Decl) bool) ([]*ir.Decl, error) {
	unit, bare, of := strings.Cut(name, "/")
	if !of {
		unit, bare = "", name
	}
	var all, fit []*ir.Decl
	for _, d := range u.AllDecls() {
		if d.Name != bare || of && unitOf(u, d) != unit {
			continue
		}
		if all = append(all, d); fits(d) {
			fit = append(fit, d)
		}
	}
	if of := u.From[bare]; of != "" && len(fit) > 1 && fit[0].Import != nil { // the sidecar chooses
		if i := slices.IndexFunc(fit, func(d *ir.Decl) bool { return unitOf(u, d) == of }); i >= 0 {
			return fit[i : i+1], nil
		}
	}
	switch {
	case len(fit) == 0:
		return all, nil
	case len(fit) == 1 || fit[0].Import == nil || allEqual(fit): // the unit's own are first
		return fit[:1], nil
	}
	var names []string
	for _, d := range fit {
		names = append(names, unitOf(u, d)+"/"+bare)
	}
	return nil, severalUnits(name, names)
}

// severalUnits is the error for a name that several imports declare.
func severalUnits(name string, names []string) error {
	return fmt.Errorf("several units declare %s: name one of %s", name, strings.Join(names, ", "))
}

// allEqual reports whether declarations are typedefs of one type without elements.
func allEqual(decls []*ir.Decl) bool {
	first := typeOf(decls[0]).Underlying()
	for _, d := range decls {
		t := typeOf(d).Underlying()
		if d.Kind != ir.Typedef || t.Elem != nil || t.Kind != first.Kind || t.Ref != first.Ref || t.Len != first.Len || t.Max != first.Max {
			return false
		}
	}
	return true
}

// unitOf returns the name of the unit that has a declaration.
func unitOf(u *ir.Unit, d *ir.Decl) string {
	if d.Import != nil {
		return d.Import.Unit
	}
	return u.Name
}

// typeOf returns the type that a declaration declares.
func typeOf(d *ir.Decl) *ir.Type {
	t := &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos, Size: d.Size}
	if d.List != nil {
		t.Kind = ir.ListHead
	}
	return t
}

// NotFound reports that a unit has no type with a name.
type NotFound struct {
	Message string
	Name    string   // the name, up to the part that is wrong
	Names   []string // names that exist instead
}

func (e *NotFound) Error() string { return e.Message }

// below returns the names for Find that begin with a prefix.
func below(u *ir.Unit, prefix string) []string {
	var out []string
	for _, n := range Names(u) {
		if strings.HasPrefix(n, prefix) {
			out = append(out, n)
		}
	}
	return out
}

// Names returns the names for Find, in order of declaration.
func Names(u *ir.Unit) []string {
	var out []string
	for _, d := range u.AllDecls() {
		switch d.Kind {
		case ir.Const:
		case ir.Program:
			for _, v := range d.Program.Versions {
				for _, p := range v.Procs {
					proc := (&Procedure{d, v, p}).String()
					out = append(out, proc+".args", proc+".result")
				}
			}
		default:
			out = append(out, d.Name)
		}
	}
	return out
}

// side returns the type of the arguments or the result, which the parts of a name after the
// procedure name.
func (p *Procedure) side(parts []string) (*ir.Type, error) {
	side := strings.Join(parts[3:], ".")
	switch side {
	case "args":
		return argsOf(p.Proc, strings.Join(parts, ".")), nil
	case "result":
		return p.Result(), nil
	}
	message := p.String() + " is a procedure, not a type"
	if side != "" {
		message = fmt.Sprintf("found %q after %s", side, p)
	}
	return nil, &NotFound{message, strings.Join(parts, "."), []string{p.String() + ".args", p.String() + ".result"}}
}

// argsOf returns the arguments of a procedure as a struct.
func argsOf(p *ir.Proc, name string) *ir.Type { return structOf(p, name, p.Args) }

func structOf(p *ir.Proc, name string, fields []*ir.Field) *ir.Type {
	return &ir.Type{Kind: ir.Ref, Pos: p.Pos, Ref: &ir.Decl{Kind: ir.Struct, Name: name, Pos: p.Pos, Fields: fields}}
}
