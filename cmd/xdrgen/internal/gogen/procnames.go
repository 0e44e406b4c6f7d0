package gogen

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// addProcs names the versions and procedures of the programs in decls: a version
// behind its program, a procedure behind Proc. The procedures of a program that
// has several versions, or shares the name of one with another program, stand
// behind their version.
func (n *names) addProcs(r *renamer, decls []*ir.Decl) {
	short := map[*ir.Proc]string{}
	first := map[string]*ir.Decl{} // the program that has a procedure of this name
	long := map[*ir.Decl]bool{}
	for _, d := range decls {
		if d.Kind != ir.Program {
			continue
		}
		n.addVersions(r, d)
		long[d] = len(d.Program.Versions) > 1
		for _, v := range d.Program.Versions {
			names := make([]string, len(v.Procs))
			for i, p := range v.Procs {
				names[i] = r.strip(p.Name)
			}
			for i, ws := range own(r.called(d.Name), names) {
				g := camelWords(ws)
				short[v.Procs[i]] = g
				if other := first[g]; other == nil {
					first[g] = d
				} else if other != d {
					long[other], long[d] = true, true
				}
			}
		}
	}
	for _, d := range decls {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				switch g := r.rename(p.Name); {
				case g != "":
					n.proc[p] = g
				case long[d]:
					n.proc[p] = n.vers[v] + short[p]
				default:
					n.proc[p] = "Proc" + short[p]
				}
			}
		}
	}
}

func (n *names) addVersions(r *renamer, d *ir.Decl) {
	names := make([]string, len(d.Program.Versions))
	for i, v := range d.Program.Versions {
		names[i] = r.strip(v.Name)
	}
	for i, ws := range own(r.called(d.Name), names) {
		v := d.Program.Versions[i]
		if n.vers[v] = r.rename(v.Name); n.vers[v] == "" {
			n.vers[v] = n.decl[d] + camelWords(ws)
		}
	}
}
