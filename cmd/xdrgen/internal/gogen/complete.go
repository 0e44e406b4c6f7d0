package gogen

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// incomplete returns an error if the files lack a type of the unit, or a method that every type has
// with these options. It reads the declarations in the output, not the decisions that led to them,
// so that it notices a wrong decision.
func (g *gen) incomplete(files ...*gofile.Assembly) error {
	written := map[string]gofile.Claim{}
	for _, f := range files {
		for _, p := range f.Pieces {
			for _, c := range p.Claims {
				written[c.Key] = c
			}
		}
	}
	lacks := func(d *ir.Decl, what string) error {
		return fmt.Errorf("internal error: the package made of %s lacks %s, for %s in line %d; nothing is written. "+
			"This is a fault of xdrgen: report it with the file", d.Pos.File.Name, what, d.Name, d.Pos.Position().Line)
	}
	methods := g.methodsOfAll()
	for _, d := range named(g.unit) {
		if !declared(d) {
			continue
		}
		name := g.pkg.Names.Decl(d)
		switch c, ok := written[name]; {
		case !ok:
			return lacks(d, "type "+name)
		case c.Alias:
			continue // of a type with methods
		}
		for _, m := range methods {
			if _, ok := written[name+"."+m]; !ok {
				return lacks(d, "method "+m+" of "+name)
			}
		}
		if _, ok := written[g.pkg.Names.View(d)]; !ok && g.wantViews && plan.HasView(d) {
			return lacks(d, "type "+g.pkg.Names.View(d))
		}
	}
	return nil
}

// named returns what the names of a unit stand for: its declarations, and the lists of the nodes.
func named(u *ir.Unit) []*ir.Decl {
	var out []*ir.Decl
	for _, d := range u.Decls {
		out = append(out, d)
		if d.List != nil {
			out = append(out, d.List.Whole)
		}
	}
	return out
}

// declared reports whether Go has a type for d: not for a node with a single field, since its lists
// have one, and not for a name of a built-in type.
func declared(d *ir.Decl) bool {
	switch d.Kind {
	case ir.Const, ir.Program:
		return false
	}
	return !plan.Transparent(d) && (d.List == nil || plan.HasView(d))
}

// methodsOfAll returns the methods that every type has, except aliases.
func (g *gen) methodsOfAll() []string {
	all := []string{
		"XDRSize", "EncodeXDR", "DecodeXDR", "MarshalBinary", "AppendBinary", "UnmarshalBinary",
		"PutXDR", "GetXDR", "ResetXDR",
	}
	for _, m := range []struct {
		wanted bool
		names  []string
	}{
		{g.wantViews, []string{"CheckXDR", "SkipXDR"}},
		{g.with.Clone, []string{"Clone"}},
		{g.with.Equal, []string{"Equal"}},
		{g.with.Stream, []string{"EncodeTo", "DecodeFrom"}},
		{g.with.JSON, []string{"MarshalJSON", "UnmarshalJSON"}},
	} {
		if m.wanted {
			all = append(all, m.names...)
		}
	}
	return all
}
