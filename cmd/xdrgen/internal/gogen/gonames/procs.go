package gonames

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// addProcs names the versions and procedures of the programs in decls: the name of a version begins
// with its program, the name of a procedure with Proc or its version (ADR 0045). No name depends on
// a higher version of the program, nor on a later program in the file, so that adding one changes
// no name.
func (n *Names) addProcs(r *renamer, decls []*ir.Decl) {
	taken := map[string]bool{} // procedure names in the programs so far
	for _, d := range decls {
		if d.Kind != ir.Program {
			continue
		}
		n.addVersions(r, d)
		for i, v := range ByNumber(d.Program.Versions) {
			n.addVersion(r, d, v, i == 0, taken)
		}
	}
}

// ByNumber returns versions in the order of their numbers.
func ByNumber(versions []*ir.Version) []*ir.Version {
	out := slices.Clone(versions)
	slices.SortStableFunc(out, func(a, b *ir.Version) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// addVersion names the procedures of version v. In the lowest version of a program they begin with
// Proc, unless an earlier program has one of the names; otherwise with the version.
func (n *Names) addVersion(r *renamer, d *ir.Decl, v *ir.Version, lowest bool, taken map[string]bool) {
	xdr := make([]string, len(v.Procs))
	for i, p := range v.Procs {
		xdr[i] = apartRole(r.strip(p.Name), "proc")
	}
	short, met := own(r.calledProgram(d.Name)+"_proc", xdr, free)
	prefix := n.vers[v]
	if lowest && slices.ContainsFunc(short, func(ws []string) bool { return taken[camelWords(ws)] }) {
		met = true
	} else if lowest {
		prefix = "Proc"
	}
	for i, p := range v.Procs {
		g := camelWords(short[i])
		if lowest {
			taken[g] = true
		}
		var renamed bool
		n.proc[p], renamed = r.part(p.Name, d.Name+"."+v.Name+"."+p.Name, p.Pos, prefix+g)
		n.method[p] = methodName(n.proc[p], prefix)
		n.explain(p, renamed, met || n.proc[p] != prefix+g)
	}
}

// methodName is the name of the stub method for a procedure: the constant's name, without the
// prefix if an exported name is left.
func methodName(constant, prefix string) string {
	if name := strings.TrimPrefix(constant, prefix); token.IsExported(name) {
		return name
	}
	return constant
}

// addVersions names the versions of program d: without the words that the program's name
// begins with, unless a lower version has that name.
func (n *Names) addVersions(r *renamer, d *ir.Decl) {
	used := map[string]bool{}
	for _, v := range ByNumber(d.Program.Versions) {
		name := apartRole(r.strip(v.Name), "version", "vers")
		short, _ := own(r.calledProgram(d.Name), []string{name}, free)
		ws := short[0]
		met := used[strings.ToLower(camelWords(ws))]
		if met {
			ws = words(name)
		}
		used[strings.ToLower(camelWords(ws))] = true
		usual := n.decl[d] + camelWords(ws)
		var renamed bool
		n.vers[v], renamed = r.part(v.Name, d.Name+"."+v.Name, v.Pos, usual)
		n.explain(v, renamed, met || n.vers[v] != usual)
	}
}

// part takes the Go name of a version or procedure: the rename in the sidecar for its path, or for
// its name alone, or else usual, with underscores if it is taken.
func (r *renamer) part(xdr, path string, pos source.Span, usual string) (g string, renamed bool) {
	g = cmp.Or(r.rename(path), r.rename(xdr))
	renamed = g != ""
	g = cmp.Or(g, usual)
	return r.take(xdr, path, g, usual, pos, renamed), renamed
}

// free takes all names: nothing else is looked at.
func free([]string) bool { return false }

// program is the Go name of a program.
func (r *renamer) program(xdr string) string {
	if g := r.rename(xdr); g != "" {
		return g
	}
	return Camel(r.calledProgram(xdr))
}

// calledProgram returns the words of a program's name in Go, as called does.
func (r *renamer) calledProgram(xdr string) string {
	if g := r.rename(xdr); g != "" {
		return g
	}
	return apartRole(r.strip(xdr), "program", "prog")
}

// apartRole puts an underscore in front of the word for the kind of declaration, where a word in
// capitals ends with it: MOUNT_PROG, MOUNT_VERS and MOUNT_PROC_MNT for MOUNTPROG,
// MOUNTVERS and MOUNTPROC_MNT, as protocols of ONC RPC are written by custom.
func apartRole(xdr string, roles ...string) string {
	parts := strings.Split(xdr, "_")
	for i, w := range parts {
		l := letters(w)
		for _, role := range roles {
			if bare, ok := strings.CutSuffix(l, strings.ToUpper(role)); ok && bare != "" {
				parts[i] = bare + "_" + w[len(bare):]
				break
			}
		}
	}
	return strings.Join(parts, "_")
}
