package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// linker binds the names of a unit's sidecar to its declarations.
type linker struct {
	*findings
	advice  *adviser
	u       *unit
	bind    *ir.Bind
	names   bindNames
	numbers map[numberKey]ir.Number // fields with numbers of code points, of imported units too
	paths   map[ddpOwner][][]string // results of pathsTo: a struct can have thousands of items
}

// newLinker returns the linker of a unit without errors.
func (c *compiler) newLinker(u *unit) *linker {
	return &linker{
		findings: c.findings, advice: c.advice, u: u, bind: u.side.bind, names: u.bindNames(),
		numbers: map[numberKey]ir.Number{}, paths: map[ddpOwner][][]string{},
	}
}

// link binds the names of the sidecar.
func (l *linker) link() {
	for _, p := range l.bind.Prefixes {
		if !l.names.hasPrefix(p.Text) {
			l.report(diag.New(diag.BindUnknownName, p.Pos, "no name of the unit begins with %s", p.Text).Helpf("remove the line"))
		}
	}
	for _, r := range l.bind.Renames {
		if !l.names.set[r.XDR] {
			l.report(l.advice.nearestName(l.names, diag.New(diag.BindUnknownName, r.Pos, "the unit has no %s to rename", r.XDR), r.XDR))
		}
	}
	for _, w := range l.u.side.open {
		s := l.u.scope.names[w.Text]
		if s == nil || s.member != nil || s.decl.Kind != ir.Enum {
			l.report(l.advice.nearestName(l.names, diag.New(diag.BindUnknownName, w.Pos, "the unit has no enum %s", w.Text), w.Text))
			continue
		}
		s.decl.Open = true
	}
	l.resolveCodes()
	l.resolveNumbers()
	for i := range l.bind.DDP {
		l.resolveDDP(&l.bind.DDP[i])
	}
	l.resolveProcs()
	for i := range l.bind.Attributes {
		l.resolveAttributes(&l.bind.Attributes[i])
	}
}

// bindNames are the names that a sidecar can refer to.
type bindNames struct {
	set   map[string]bool // names, and struct.field
	plain []string        // names without their owners, of fields too, sorted
}

func (u *unit) bindNames() bindNames {
	n := bindNames{set: map[string]bool{}}
	put := func(owner, name string) {
		n.plain = append(n.plain, name)
		if owner != "" {
			name = owner + "." + name
		}
		n.set[name] = true
	}
	for _, s := range u.scope.syms {
		put("", s.name)
	}
	for _, d := range u.decls {
		for _, m := range d.Members {
			n.set[d.Name+"."+m.Name] = true
		}
		for _, f := range d.Fields {
			put(d.Name, f.Name)
		}
		if d.Disc != nil {
			put(d.Name, d.Disc.Name)
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				put(d.Name, a.Field.Name)
			}
		}
		if d.Program == nil {
			continue
		}
		for _, v := range d.Program.Versions {
			put("", v.Name)
			n.set[d.Name+"."+v.Name] = true
			for _, p := range v.Procs {
				put("", p.Name)
				n.set[d.Name+"."+v.Name+"."+p.Name] = true
			}
		}
	}
	slices.Sort(n.plain)
	return n
}

func (n bindNames) hasPrefix(text string) bool {
	i, _ := slices.BinarySearch(n.plain, text)
	return i < len(n.plain) && strings.HasPrefix(n.plain[i], text)
}
