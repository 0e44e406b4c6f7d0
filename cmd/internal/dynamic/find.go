package dynamic

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Find returns the type with a name in a unit or in the units that it imports. It finds
// typedefs, enums, structs and unions by name, and the arguments and the result of a procedure
// as PROGRAM.VERSION.PROCEDURE.args and .result. The arguments are a struct, and a void result
// is a struct without fields.
func Find(u *ir.Unit, name string) (*ir.Type, error) {
	if parts := strings.Split(name, "."); len(parts) > 1 {
		return findProc(u, parts)
	}
	for _, d := range u.AllDecls() {
		if d.Name != name {
			continue
		}
		switch d.Kind {
		case ir.Const:
			return nil, &NotFound{name + " is a constant, not a type", name, Names(u)}
		case ir.Program:
			return nil, &NotFound{name + " is a program, not a type", name, below(u, name+".")}
		}
		return typeOf(d), nil
	}
	return nil, &NotFound{"type " + name + " is not declared", name, Names(u)}
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
					proc := d.Name + "." + v.Name + "." + p.Name
					out = append(out, proc+".args", proc+".result")
				}
			}
		default:
			out = append(out, d.Name)
		}
	}
	return out
}

// findProc finds PROGRAM.VERSION.PROCEDURE.args or .result. Its error names the part that does
// not exist.
func findProc(u *ir.Unit, parts []string) (*ir.Type, error) {
	var programs, versions, procs []string
	for _, d := range u.AllDecls() {
		if d.Kind != ir.Program {
			continue
		}
		programs = append(programs, d.Name)
		if d.Name != parts[0] {
			continue
		}
		for _, v := range d.Program.Versions {
			versions = append(versions, d.Name+"."+v.Name)
			if v.Name != parts[1] {
				continue
			}
			for _, p := range v.Procs {
				procs = append(procs, d.Name+"."+v.Name+"."+p.Name)
				if len(parts) > 2 && p.Name == parts[2] {
					return procType(p, parts)
				}
			}
		}
	}
	switch {
	case len(versions) == 0:
		return nil, &NotFound{"program " + parts[0] + " is not declared", parts[0], programs}
	case len(procs) == 0:
		return nil, &NotFound{"program " + parts[0] + " has no version " + parts[1], strings.Join(parts[:2], "."), versions}
	case len(parts) == 2:
		return nil, &NotFound{"the name of the procedure is missing", strings.Join(parts, "."), procs}
	}
	return nil, &NotFound{"version " + strings.Join(parts[:2], ".") + " has no procedure " + parts[2], strings.Join(parts[:3], "."), procs}
}

// procType returns the type of the arguments or the result of a procedure.
func procType(p *ir.Proc, parts []string) (*ir.Type, error) {
	proc := strings.Join(parts[:3], ".")
	side := strings.Join(parts[3:], ".")
	switch side {
	case "args":
		return argsOf(p, strings.Join(parts, ".")), nil
	case "result":
		if p.Result != nil {
			return p.Result, nil
		}
		return structOf(p, strings.Join(parts, "."), nil), nil
	default:
		message := proc + " is a procedure, not a type"
		if side != "" {
			message = fmt.Sprintf("found %q after %s", side, proc)
		}
		return nil, &NotFound{message, strings.Join(parts, "."), []string{proc + ".args", proc + ".result"}}
	}
}

// argsOf returns the arguments of a procedure as a struct.
func argsOf(p *ir.Proc, name string) *ir.Type { return structOf(p, name, p.Args) }

func structOf(p *ir.Proc, name string, fields []*ir.Field) *ir.Type {
	return &ir.Type{Kind: ir.Ref, Pos: p.Pos, Ref: &ir.Decl{Kind: ir.Struct, Name: name, Pos: p.Pos, Fields: fields}}
}
