package sema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/bind"
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// loadBind reads the unit's sidecar and its imports. The default place is <file>.bind for a unit
// of one file, else <folder>/<folder name>.bind. If one file of a folder with several files is
// given, folderBind checks the second place later, when the includes of the file are known.
func (c *compiler) loadBind(u *unit, files []string) error {
	u.bind = &ir.Bind{}
	dir := filepath.Dir(files[0])
	folder := filepath.Join(dir, u.name+".bind")
	switch {
	case u.imp == nil && c.o.BindFile != "":
		return c.readBind(u, c.o.BindFile)
	case u.imp == nil && len(files) == 1:
		own := strings.TrimSuffix(files[0], ".x") + ".bind"
		if c.wholeFolder(u) {
			return c.readBind(u, own, folder)
		}
		return c.readBind(u, own)
	}
	return c.readBind(u, folder)
}

// wholeFolder reports whether all .x files of the unit's folder belong to it.
func (c *compiler) wholeFolder(u *unit) bool {
	entries, err := c.readDir(u.dir)
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".x") && !e.IsDir() && !u.have[filepath.Join(u.dir, e.Name())]
	})
}

// folderBind reads the sidecar of the folder for a file that includes all other files of the
// folder. If the folder has more files, its sidecar belongs to another unit. Then folderBind does
// not use it and reports a warning.
func (c *compiler) folderBind(u *unit) error {
	file := c.o.Files[0]
	folder := filepath.Join(filepath.Dir(file), u.name+".bind")
	if len(c.o.Files) > 1 || c.o.BindFile != "" || u.bind.File != "" || !c.isFile(filepath.Join(u.dir, u.name+".bind")) {
		return nil
	}
	if c.wholeFolder(u) {
		return c.readBind(u, folder)
	}
	own := strings.TrimSuffix(filepath.Base(file), ".x") + ".bind"
	c.report(diag.New(diag.BindOfFolder, source.Span{File: u.files[0].Source}, "%s.bind is the sidecar of all files of its folder: not used for %s alone", u.name, u.files[0].Source.Base()).
		Helpf("give all files of the folder, or the flag -bind %s, or a sidecar %s of its own", filepath.ToSlash(folder), own))
	return nil
}

// strayBind warns of a sidecar beside the files that has the name of none of them, if the unit has
// no sidecar: it is probably meant for the unit. A folder with other files is only searched for a
// name that differs in case.
func (c *compiler) strayBind(u *unit) {
	file := c.o.Files[0]
	if c.o.BindFile != "" || u.bind.File != "" || file == stdinFile {
		return
	}
	want, of := strings.TrimSuffix(filepath.Base(file), ".x")+".bind", filepath.Base(file)
	if len(c.o.Files) > 1 {
		want, of = u.name+".bind", "all files of a folder"
	}
	entries, err := c.readDir(u.dir)
	if err != nil {
		return
	}
	whole, stray := c.wholeFolder(u), ""
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".bind")
		if !ok || e.IsDir() || e.Name() == u.name+".bind" || c.isFile(filepath.Join(u.dir, name+".x")) {
			continue
		}
		if same := strings.EqualFold(e.Name(), want); same || whole && stray == "" {
			stray = e.Name()
			if same {
				break
			}
		}
	}
	if stray != "" {
		c.report(diag.New(diag.BindNotRead, source.Span{File: u.files[0].Source}, "%s is not read; the sidecar of %s is %s", stray, of, want).
			Helpf("rename it to %s, or give it with the flag -bind %s", want, filepath.ToSlash(filepath.Join(filepath.Dir(file), stray))))
	}
}

// readBind reads the first of some files that exists.
func (c *compiler) readBind(u *unit, places ...string) error {
	for _, name := range places {
		read := c.found
		if name == c.o.BindFile {
			read = c.o.FS.ReadFile
		}
		text, err := read(name)
		if errors.Is(err, fs.ErrNotExist) && name != c.o.BindFile {
			continue
		}
		if err != nil {
			return err
		}
		f := source.NewFile(filepath.ToSlash(name), text)
		c.files = append(c.files, f)
		parsed := bind.Parse(f, c.report)
		u.bind, u.open, u.given, u.payloads = parsed.Bind, parsed.Open, parsed.Given, parsed.Payloads
		u.opened = map[string]bool{}
		for _, w := range u.open {
			u.opened[w.Text] = true
		}
		for _, w := range parsed.Imports {
			c.include(u, w.Text, w.Pos)
		}
		return nil
	}
	return nil
}

// resolveBind binds the names of the sidecar. If the unit has errors, it reports nothing: a name
// may be missing because of them.
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
			c.report(c.nearestName(names, diag.New(diag.BindUnknownName, r.Pos, "the unit has no %s to rename", r.XDR), r.XDR))
		}
	}
	for _, w := range u.open {
		s := u.scope[w.Text]
		if s == nil || s.member != nil || s.decl.Kind != ir.Enum {
			c.report(c.nearestName(names, diag.New(diag.BindUnknownName, w.Pos, "the unit has no enum %s", w.Text), w.Text))
			continue
		}
		s.decl.Open = true
	}
	c.resolveCodes(u)
	c.resolveNumbers(u, names)
	paths := map[ddpOwner][][]string{}
	for i := range u.bind.DDP {
		c.resolveDDP(u, &u.bind.DDP[i], paths)
	}
	c.resolveProcs(u)
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
	for _, s := range u.syms {
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

// nearestName adds the most similar name to a finding, up to maxSuggest times.
func (c *compiler) nearestName(n bindNames, d diag.Diagnostic, name string) diag.Diagnostic {
	if !c.maySuggest() {
		return d
	}
	var all []string
	for k := range n.set {
		all = append(all, k)
	}
	if near, ok := spelling.Nearest(name, all); ok {
		return d.Helpf("did you mean %s?", near)
	}
	return d
}
