package sema

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/bind"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// loadBind reads the unit's sidecar and what it imports. The default place is
// <file>.bind for a unit of one file, else <folder>/<folder name>.bind.
func (c *compiler) loadBind(u *unit, files []string) error {
	u.bind = &ir.Bind{}
	dir := filepath.Dir(files[0])
	var places []string
	switch {
	case u.imp == nil && c.o.BindFile != "":
		places = []string{c.o.BindFile}
	case u.imp == nil && len(files) == 1:
		places = append(places, strings.TrimSuffix(files[0], ".x")+".bind")
		fallthrough
	default:
		places = append(places, filepath.Join(dir, u.name+".bind"))
	}
	for _, name := range places {
		text, err := c.o.FS.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && name != c.o.BindFile {
			continue
		}
		if err != nil {
			return err
		}
		f := source.NewFile(filepath.ToSlash(name), text)
		c.files = append(c.files, f)
		parsed := bind.Parse(f, c.report)
		u.bind, u.open, u.given = parsed.Bind, parsed.Open, parsed.Given
		for _, w := range parsed.Imports {
			c.include(u, w.Text, w.Pos)
		}
		return nil
	}
	return nil
}

// resolveBind binds the names of the sidecar. After faults in the unit itself
// it says nothing: they may be why a name is missing.
func (c *compiler) resolveBind(u *unit) {
	if u.imp == nil {
		u.bind.Renames = append(slices.Clone(c.o.Renames), u.bind.Renames...)
	}
	if u.broken {
		return
	}
	names := u.bindNames()
	for _, p := range u.bind.Prefixes {
		if !names.hasPrefix(p.Text) {
			c.report(diag.New(diag.BindUnknownName, p.Pos, "no name of the unit begins with %s", p.Text).Helpf("remove the line"))
		}
	}
	for _, r := range u.bind.Renames {
		if !names.set[r.XDR] {
			c.report(names.nearest(diag.New(diag.BindUnknownName, r.Pos, "the unit has no %s to rename", r.XDR), r.XDR))
		}
	}
	for _, w := range u.open {
		s := u.scope[w.Text]
		if s == nil || s.member != nil || s.decl.Kind != ir.Enum {
			c.report(names.nearest(diag.New(diag.BindUnknownName, w.Pos, "the unit has no enum %s", w.Text), w.Text))
			continue
		}
		s.decl.Open = true
	}
	c.resolveCodes(u)
	for i := range u.bind.DDP {
		c.resolveDDP(u, &u.bind.DDP[i])
	}
}

// resolveCodes binds code points: a constant with a 32-bit number, and a type.
func (c *compiler) resolveCodes(u *unit) {
	type key struct {
		space string
		value uint32
	}
	seen := map[key]source.Span{}
	for i := range u.bind.Codes {
		p := &u.bind.Codes[i]
		s := u.lookup(p.Const)
		switch {
		case s == nil || !s.isConst():
			c.report(c.suggest(u, diag.New(diag.BindUnknownName, p.Pos, "no constant %s", p.Const), p.Const, (*symbol).isConst))
			continue
		case s.value.Neg || s.value.Abs > math.MaxUint32:
			c.report(diag.New(diag.BindCode, p.Pos, "%s is %s, expected a value from 0 to 4294967295", p.Const, show(s.value)).With(s.span, "declared here"))
			continue
		}
		p.Value = uint32(s.value.Abs)
		k := key{p.Space, p.Value}
		if at, dup := seen[k]; dup {
			c.report(diag.New(diag.BindDuplicate, p.Pos, "second %s with the number %d", p.Space, p.Value).With(at, "the first is here"))
		}
		seen[k] = p.Pos
		if p.Type == "" {
			continue
		}
		t := u.lookup(p.Type)
		if t == nil || !t.isType() {
			c.report(c.suggest(u, diag.New(diag.BindUnknownName, p.Pos, "no type %s", p.Type), p.Type, (*symbol).isType))
			continue
		}
		p.Decl = t.decl
	}
}

// bindNames are the names that a sidecar can speak of.
type bindNames struct {
	set   map[string]bool // names, and struct.field
	plain map[string]bool // names alone, of fields too
}

func (u *unit) bindNames() bindNames {
	n := bindNames{map[string]bool{}, map[string]bool{}}
	put := func(owner, name string) {
		n.plain[name] = true
		if owner != "" {
			name = owner + "." + name
		}
		n.set[name] = true
	}
	for _, s := range u.syms {
		put("", s.name)
	}
	for _, d := range u.decls {
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
			for _, p := range v.Procs {
				put("", p.Name)
			}
		}
	}
	return n
}

func (n bindNames) hasPrefix(text string) bool {
	for name := range n.plain {
		if strings.HasPrefix(name, text) {
			return true
		}
	}
	return false
}

func (n bindNames) nearest(d diag.Diagnostic, name string) diag.Diagnostic {
	var all []string
	for k := range n.set {
		all = append(all, k)
	}
	if near, ok := diag.Nearest(name, all); ok {
		return d.Helpf("did you mean %s?", near)
	}
	return d
}
