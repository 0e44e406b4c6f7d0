// Package reference describes a unit for readers: its programs, types and constants, with sizes,
// comments, packet pictures, and the uses of each. It writes one HTML page, or text of 72 columns.
package reference

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Options select the contents of a description.
type Options struct {
	Bind *ir.Bind // sidecar of the unit; nil for none
	Only []string // names of the declarations to describe; nil for all
}

// unit is a unit with the facts that a description needs.
type unit struct {
	*ir.Unit
	bind   *ir.Bind
	decls  []*ir.Decl // to describe, in source order
	shown  map[*ir.Decl]bool
	users  map[*ir.Decl][]user
	places places
}

// user is a declaration or a procedure that uses another declaration.
type user struct {
	decl *ir.Decl
	vers *ir.Version // nil unless a procedure uses it
	proc *ir.Proc
}

// newUnit collects the facts of a unit.
func newUnit(u *ir.Unit, o Options) *unit {
	out := &unit{Unit: u, bind: o.Bind, shown: map[*ir.Decl]bool{}, users: map[*ir.Decl][]user{}, places: places{sections: map[*source.File][]heading{}}}
	if out.bind == nil {
		out.bind = &ir.Bind{}
	}
	only := map[string]bool{}
	for _, name := range o.Only {
		only[name] = true
	}
	for _, d := range u.Decls {
		if o.Only == nil || only[d.Name] {
			out.decls = append(out.decls, d)
			out.shown[d] = true
		}
		out.use(d)
	}
	return out
}

// use enters a declaration with all that it uses.
func (u *unit) use(d *ir.Decl) {
	for use := range d.Types() {
		for _, r := range []*ir.Decl{use.Type.Ref, use.Type.LenConst} {
			if r != nil && r != d && use.Proc == nil {
				u.add(r, user{decl: d})
			}
		}
	}
	for _, a := range d.Arms {
		for _, l := range a.Labels {
			if l.Const != nil {
				u.add(l.Const, user{decl: d})
			}
		}
	}
	if d.Program == nil {
		return
	}
	for _, v := range d.Program.Versions {
		for _, p := range v.Procs {
			by := user{d, v, p}
			for _, a := range p.Args {
				u.typ(a.Type, by)
			}
			u.typ(p.Result, by)
		}
	}
}

// typ enters a procedure with the types that it uses.
func (u *unit) typ(t *ir.Type, by user) {
	for ; t != nil; t = t.Elem {
		if t.Ref != nil {
			u.add(t.Ref, by)
		}
	}
}

// add adds a use, unless it was the last one that was added.
func (u *unit) add(d *ir.Decl, by user) {
	if all := u.users[d]; len(all) == 0 || all[len(all)-1] != by {
		u.users[d] = append(all, by)
	}
}

// name returns the name of a user.
func (by user) name() string {
	if by.proc != nil {
		return procName(by.decl, by.vers, by.proc)
	}
	return by.decl.Name
}

// procName returns the full name of a procedure, as sidecars have it.
func procName(d *ir.Decl, v *ir.Version, p *ir.Proc) string {
	return d.Name + "." + v.Name + "." + p.Name
}

// ofKind returns the declarations of some kinds that are described.
func (u *unit) ofKind(kinds ...ir.DeclKind) (out []*ir.Decl) {
	for _, d := range u.decls {
		if slices.Contains(kinds, d.Kind) {
			out = append(out, d)
		}
	}
	return out
}

// types returns the types that are described.
func (u *unit) types() []*ir.Decl { return u.ofKind(ir.Enum, ir.Struct, ir.Union, ir.Typedef) }

// title returns the title of the description.
func (u *unit) title() string {
	var names []string
	for _, f := range u.Files {
		names = append(names, f.Name)
	}
	if len(names) == 0 || len(names) > 4 {
		return u.Name
	}
	return strings.Join(names, ", ")
}

// facts returns what the sidecar says about a procedure.
func (u *unit) facts(d *ir.Decl, v *ir.Version, p *ir.Proc) (out []string) {
	is := func(n ir.ProcName) bool {
		return n.Prog == d.Program.Number && n.Vers == v.Number && n.Number == p.Number
	}
	for _, b := range u.bind.DDP {
		if is(b.ProcName) {
			part := "args"
			if b.Reply {
				part = "result"
			}
			out = append(out, "DDP-eligible: "+part+" "+strings.Join(b.Path, "."))
		}
	}
	for _, r := range u.bind.Replies {
		if is(r.ProcName) {
			out = append(out, "bounds the reply: args "+strings.Join(r.Path, "."))
		}
	}
	if slices.ContainsFunc(u.bind.Once, is) {
		out = append(out, "must not run twice for one call")
	}
	if slices.ContainsFunc(u.bind.NonBlocking, is) {
		out = append(out, "never waits at the server")
	}
	return out
}

// sizeOf returns the size of a type in words, or "" for void.
func sizeOf(t *ir.Type) string {
	if t == nil {
		return ""
	}
	return packet.SizeText(t.Size)
}

// hexNumber returns a program number in both notations that people use.
func hexNumber(n uint32) string {
	return strconv.FormatUint(uint64(n), 10) + " (0x" + strconv.FormatUint(uint64(n), 16) + ")"
}
