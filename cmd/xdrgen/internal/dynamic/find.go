package dynamic

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// Find returns the type that a name stands for in a unit or what it imports:
// a typedef, enum, struct or union, or PROGRAM.VERSION.PROCEDURE.args and
// .result, whose fields are the arguments, or none for void.
func Find(u *ir.Unit, name string) (*ir.Type, error) {
	if parts := strings.Split(name, "."); len(parts) == 4 {
		return findProc(u, parts)
	}
	for _, d := range declarations(u) {
		if d.Name != name {
			continue
		}
		switch d.Kind {
		case ir.Const, ir.Program:
			return nil, fmt.Errorf("%s is not a type: expected a typedef, enum, struct or union, or PROGRAM.VERSION.PROCEDURE.args or .result", name)
		}
		t := &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos, Size: d.Size}
		if d.List != nil {
			t.Kind = ir.ListHead
		}
		return t, nil
	}
	return nil, fmt.Errorf("type %s is not declared", name)
}

// Names returns what Find finds, in order of declaration.
func Names(u *ir.Unit) []string {
	var out []string
	for _, d := range declarations(u) {
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

func declarations(u *ir.Unit) []*ir.Decl {
	out := u.Decls[:len(u.Decls):len(u.Decls)]
	for _, i := range u.Imports {
		out = append(out, i.Decls...)
	}
	return out
}

func findProc(u *ir.Unit, parts []string) (*ir.Type, error) {
	for _, d := range declarations(u) {
		if d.Kind != ir.Program || d.Name != parts[0] {
			continue
		}
		for _, v := range d.Program.Versions {
			if v.Name != parts[1] {
				continue
			}
			for _, p := range v.Procs {
				if p.Name == parts[2] {
					return procType(p, parts)
				}
			}
		}
	}
	return nil, fmt.Errorf("procedure %s is not declared", strings.Join(parts[:3], "."))
}

func procType(p *ir.Proc, parts []string) (*ir.Type, error) {
	fields := p.Args
	switch parts[3] {
	case "args":
	case "result":
		if p.Result != nil {
			return p.Result, nil
		}
		fields = nil
	default:
		return nil, fmt.Errorf("found %s, expected .args or .result after %s", parts[3], strings.Join(parts[:3], "."))
	}
	return &ir.Type{Kind: ir.Ref, Pos: p.Pos, Ref: &ir.Decl{Kind: ir.Struct, Name: strings.Join(parts, "."), Pos: p.Pos, Fields: fields}}, nil
}
