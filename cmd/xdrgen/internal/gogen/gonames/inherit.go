package gonames

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// AddImports names the declarations of the units that a unit imports.
func (n *Names) AddImports(u *ir.Unit) {
	for _, i := range u.Imports {
		n.Add(i.Decls, i.Bind, false)
	}
}

// inherit gives copies of included units' declarations, and their parts, the Go names of the
// originals, unless the sidecar has others. The imports were added before.
func (n *Names) inherit(r *renamer, decls []*ir.Decl) {
	set := func(xdr, g string) {
		if r.renames[xdr] == "" && g != "" {
			r.renames[xdr] = g
		}
	}
	for _, d := range decls {
		if d.Of == nil {
			continue
		}
		for _, of := range n.all[d.Name] {
			if of.Original() != d.Original() {
				continue // another unit's declaration with that name
			}
			set(d.Name, n.decl[of])
			for _, m := range of.Members {
				if r.renames[m.Name] == "" {
					set(d.Name+"."+m.Name, n.member[m])
				}
			}
			for f := range of.AllFields() {
				set(d.Name+"."+f.Name, n.field[f])
			}
			if of.Program == nil {
				continue
			}
			for _, v := range of.Program.Versions {
				set(d.Name+"."+v.Name, n.vers[v])
				for _, p := range v.Procs {
					set(d.Name+"."+v.Name+"."+p.Name, n.proc[p])
				}
			}
		}
	}
}
