package dynamic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Procedure is a procedure of a program that a unit declares.
type Procedure struct {
	Program *ir.Decl
	Version *ir.Version
	Proc    *ir.Proc
}

// FindProcedure returns the procedure PROGRAM.VERSION.PROCEDURE in a unit or in the units that it
// imports. Each part is a name, or a number as in C: for example, NFS_PROGRAM.3.NFSPROC3_READ. If
// several imports have such a procedure, the name begins with UNIT/. For a procedure that does not
// exist, the error is a [*NotFound] and names the part that does not exist.
func FindProcedure(u *ir.Unit, name string) (*Procedure, error) {
	parts := strings.Split(name, ".")
	if len(parts) == 3 {
		return findProcedure(u, parts)
	}
	return nil, &NotFound{"found " + strconv.Quote(name) + ", expected PROGRAM.VERSION.PROCEDURE", name, Procedures(u)}
}

// Procedures returns the names of all procedures, in order of declaration.
func Procedures(u *ir.Unit) []string {
	var out []string
	for _, d := range Programs(u) {
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				out = append(out, (&Procedure{d, v, p}).String())
			}
		}
	}
	return out
}

// findProcedure finds the procedure that the first three parts of a name name.
func findProcedure(u *ir.Unit, parts []string) (*Procedure, error) {
	var programs, versions, procs, places []string
	var all []*Procedure
	unit, program, of := strings.Cut(parts[0], "/")
	if !of {
		program = parts[0]
	}
	for _, d := range Programs(u) {
		programs = append(programs, d.Name)
		if !called(program, d.Name, d.Program.Number) || of && unitOf(u, d) != unit {
			continue
		}
		for _, v := range d.Program.Versions {
			versions = append(versions, d.Name+"."+v.Name)
			if !called(parts[1], v.Name, v.Number) {
				continue
			}
			for _, p := range v.Procs {
				found := &Procedure{d, v, p}
				procs = append(procs, found.String())
				if len(parts) > 2 && called(parts[2], p.Name, p.Number) {
					all = append(all, found)
					places = append(places, unitOf(u, d)+"/"+found.String())
				}
			}
		}
	}
	switch {
	// The unit's own are first.
	case len(all) > 1 && all[0].Program.Import != nil && all[0].Program != all[1].Program:
		return nil, severalUnits(strings.Join(parts[:3], "."), places)
	case len(all) > 0:
		return all[0], nil
	}
	upTo := func(n int) string { return strings.Join(parts[:n], ".") }
	switch {
	case len(versions) == 0:
		return nil, &NotFound{"program " + parts[0] + " is not declared", parts[0], programs}
	case len(procs) == 0:
		return nil, &NotFound{"program " + parts[0] + " has no version " + parts[1], upTo(2), versions}
	case len(parts) == 2:
		return nil, &NotFound{"the name of the procedure is missing", upTo(2), procs}
	}
	return nil, &NotFound{"version " + upTo(2) + " has no procedure " + parts[2], upTo(3), procs}
}

// called reports whether a word is the name or the number of something.
func called(word, name string, number uint32) bool {
	if word == name {
		return true
	}
	n, err := strconv.ParseUint(word, 0, 32)
	return err == nil && uint32(n) == number
}

// String returns PROGRAM.VERSION.PROCEDURE.
func (p *Procedure) String() string {
	return p.Program.Name + "." + p.Version.Name + "." + p.Proc.Name
}

// Args returns the type of the arguments: a single argument's own type, else a struct of all
// arguments.
func (p *Procedure) Args() *ir.Type {
	if len(p.Proc.Args) == 1 {
		return p.Proc.Args[0].Type
	}
	return argsOf(p.Proc, p.String()+".args")
}

// Result returns the type of the result. For void, it is a struct without fields.
func (p *Procedure) Result() *ir.Type {
	if p.Proc.Result != nil {
		return p.Proc.Result
	}
	return structOf(p.Proc, p.String()+".result", nil)
}

// Item is a part of a value that an upper-layer binding makes eligible for direct data placement:
// opaque data without its count and padding, or the elements of an array.
type Item struct {
	Owner, Field string // struct or union, and its field
	Start, End   int    // offsets in the XDR
}

// Items returns the eligible items of the arguments args, which Decode returned, in order of offset
// (RFC 8166 §6.1). bindings may include other procedures'.
func (p *Procedure) Items(args *Value, bindings []ir.DDPBinding) []Item {
	own := slices.DeleteFunc(slices.Clone(bindings), func(b ir.DDPBinding) bool {
		return b.Reply || b.Prog != p.Program.Program.Number || b.Vers != p.Version.Number || b.Number != p.Proc.Number
	})
	if len(own) == 0 {
		return nil
	}
	return appendItems(nil, args, own)
}

func appendItems(out []Item, v *Value, bindings []ir.DDPBinding) []Item {
	owner := v.Type.Underlying().Ref
	for _, c := range v.Items {
		i := slices.IndexFunc(bindings, func(b ir.DDPBinding) bool { return b.Owner == owner && b.Field.Name == c.Name })
		if i < 0 {
			out = appendItems(out, c, bindings)
			continue
		}
		if c.Type.Underlying().Kind == ir.Optional {
			if len(c.Items) == 0 {
				continue
			}
			c = c.Items[0] // RFC 8166 §3.4.4.2: the presence word stays
		}
		item := Item{Owner: owner.Name, Field: bindings[i].Field.Name, Start: c.Offset + 4, End: c.Offset + c.Length}
		if c.Type.Underlying().Kind != ir.Array {
			item.End = item.Start + len(c.Bytes)
		}
		out = append(out, item)
	}
	return out
}
