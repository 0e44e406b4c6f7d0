package sema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// maxInclude limits the depth of includes.
const maxInclude = 64

func (c *compiler) newUnit(dir string) *unit {
	u := &unit{
		name: filepath.Base(dir), dir: dir, have: map[string]bool{}, macros: map[string]string{}, warned: map[string]bool{},
		undeclared: undeclared{reported: map[string]bool{}},
		scope:      scope{names: map[string]*symbol{}, inner: map[*syntax.Def]*symbol{}, strings: map[string]source.Span{}},
	}
	for k, v := range c.o.Defines {
		u.macros[k] = v
	}
	c.byDir[dir] = u
	return u
}

// loadRoot reads the files of the command line.
func (c *compiler) loadRoot() (*unit, error) {
	if len(c.o.Files) == 0 {
		return nil, errors.New("no files")
	}
	first, err := filepath.Abs(c.o.Files[0])
	if err != nil {
		return nil, err
	}
	u := c.newUnit(filepath.Dir(first))
	c.loading = append(c.loading, u)
	for _, name := range c.o.Files { // all first: an #include of one of them is not an import
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if u.have[abs] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		u.have[abs] = true
		f, err := c.lib.read(name, abs, c.lib.fs.ReadFile)
		if err != nil {
			return nil, err
		}
		u.files = append(u.files, &syntax.File{Source: f})
	}
	if err := c.loadBind(u, c.o.Files); err != nil {
		return nil, err
	}
	for i := range u.files {
		parsed := c.parse(u, u.files[i].Source)
		*u.files[i] = *parsed
	}
	if err := c.folderBind(u); err != nil {
		return nil, err
	}
	c.strayBind(u)
	for _, name := range c.o.Imports {
		flag := synthetic("<-import>", name)
		flag.Name = filepath.ToSlash(filepath.Join(filepath.Dir(c.o.Files[0]), flag.Name))
		c.include(u, name, source.Span{File: flag, End: len(name)})
	}
	c.loading = c.loading[:0]
	return u, nil
}

// parse parses a file of a unit. It loads the files that this file includes.
func (c *compiler) parse(u *unit, f *source.File) *syntax.File {
	if d, ok := notText(f); ok {
		c.report(d)
		return &syntax.File{Source: f}
	}
	c.depth++
	defer func() { c.depth-- }()
	return c.lib.parser.Parse(f, &syntax.Context{
		Macros:  u.macros,
		Report:  c.report,
		Every:   c.o.Every,
		Include: func(name string, at source.Span) { c.include(u, name, at) },
	})
}

// notText returns a finding for a file that cannot be XDR: too long, or not text.
func notText(f *source.File) (diag.Diagnostic, bool) {
	if len(f.Text) > source.MaxSize {
		return diag.New(diag.NotText, source.Span{File: f}, "%s is longer than %d bytes", f.Base(), source.MaxSize), true
	}
	zero := bytes.IndexByte(f.Text[:min(len(f.Text), 8192)], 0)
	if zero < 0 {
		return diag.Diagnostic{}, false
	}
	d := diag.New(diag.NotText, source.Span{File: f, Start: zero, End: zero + 1}, "%s is not text: found a zero byte", f.Base())
	if bytes.HasPrefix(f.Text, []byte{0xff, 0xfe}) || bytes.HasPrefix(f.Text, []byte{0xfe, 0xff}) {
		d = diag.New(diag.NotText, source.Span{File: f}, "%s is in UTF-16", f.Base()).Helpf("save it in ASCII or UTF-8")
	}
	return d, true
}

// include handles #include "name" in a file of unit u.
func (c *compiler) include(u *unit, name string, at source.Span) {
	if c.depth > maxInclude {
		c.report(diag.New(diag.IncludeTooDeep, at, "found includes more than %d deep", maxInclude))
		return
	}
	var tried []string
	candidates := append([]string(nil), c.o.Include...)
	candidates = append(candidates, filepath.Dir(filepath.FromSlash(at.File.Name)))
	for _, dir := range candidates {
		file := filepath.Join(dir, filepath.FromSlash(name))
		abs, err := filepath.Abs(file)
		if err != nil {
			continue
		}
		switch {
		case u.have[abs]:
			return
		case filepath.Dir(abs) == u.dir:
			f, err := c.lib.read(file, abs, c.lib.found)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					file = err.Error()
				}
				break
			}
			u.have[abs] = true
			slot := &syntax.File{Source: f}
			u.files = append(u.files, slot)
			*slot = *c.parse(u, f)
			return
		case c.lib.isFile(abs):
			c.importUnit(u, name, filepath.Dir(file), at)
			return
		}
		if name := filepath.ToSlash(file); !slices.Contains(tried, name) {
			tried = append(tried, name)
		}
	}
	u.partial = true
	c.report(diag.New(diag.IncludeNotFound, at, "file %s is not found", diag.Quote(name)).Note("looked for %s", strings.Join(tried, ", ")))
}

// importUnit adds the unit in folder dir to the imports of u. It loads the unit if that has not
// been done.
func (c *compiler) importUnit(u *unit, include, dir string, at source.Span) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		c.report(diag.New(diag.IncludeNotFound, at, "%v", err))
		return
	}
	for i, l := range c.loading {
		if l.dir == abs {
			c.report(importCycle(c.loading[i:], at))
			for _, l := range c.loading[i:] {
				l.partial = true
			}
			return
		}
	}
	other := c.byDir[abs]
	if other == nil {
		other = c.loadUnit(include, dir, abs, at)
	}
	if other.unread {
		u.partial = true
		return
	}
	for _, i := range append([]*unit{other}, other.imports...) {
		u.addImport(i)
	}
}

func (u *unit) addImport(i *unit) {
	for _, have := range u.imports {
		if have == i {
			return
		}
	}
	u.imports = append(u.imports, i)
}

func importCycle(loading []*unit, at source.Span) diag.Diagnostic {
	var names []string
	for _, u := range loading {
		names = append(names, u.name)
	}
	names = append(names, loading[0].name)
	return diag.New(diag.ImportCycle, at, "units import each other: %s", strings.Join(names, " -> "))
}

// loadUnit reads and compiles all files of a folder as a unit. A folder that cannot be read is
// reported once, and its unit is empty.
func (c *compiler) loadUnit(include, dir, abs string, at source.Span) *unit {
	u := c.newUnit(abs)
	u.imp = &ir.Import{Include: include, Unit: u.name}
	if err := c.readUnit(u, dir); err != nil {
		c.report(diag.New(diag.IncludeNotFound, at, "%v", err))
		u.unread = true
		return u
	}
	c.loading = append(c.loading, u)
	for i := range u.files {
		*u.files[i] = *c.parse(u, u.files[i].Source)
	}
	c.loading = c.loading[:len(c.loading)-1]
	c.compile(u)
	c.goPackage(u, at)
	u.imp.Bind, u.imp.Decls = u.side.bind, u.decls
	return u
}

// readUnit reads the files of a folder, and its sidecar.
func (c *compiler) readUnit(u *unit, dir string) error {
	entries, err := c.lib.readDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".x") && !e.IsDir() {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	sort.Strings(names)
	for _, name := range names {
		abs := filepath.Join(u.dir, filepath.Base(name))
		f, err := c.lib.read(name, abs, c.lib.found)
		if err != nil {
			return err
		}
		u.have[abs] = true
		u.files = append(u.files, &syntax.File{Source: f})
	}
	return c.loadBind(u, names)
}

// goPackage finds the Go package of an imported unit.
func (c *compiler) goPackage(u *unit, at source.Span) {
	switch {
	case u.side.bind != nil && u.side.bind.Package != "":
		u.imp.Package = u.side.bind.Package
	case c.o.ImportRoot != "":
		u.imp.Package = strings.TrimSuffix(c.o.ImportRoot, "/") + "/" + u.name
	case c.o.Generate:
		c.report(diag.New(diag.ImportPackage, at, "the Go package of unit %s is not known", u.name).
			Helpf("give -import-root PATH, if PATH/%s is its import path: for units of the folder spec/x of rpcrdma that is -import-root github.com/rpcrdma/rpcrdma/gen; or add the line \"package PATH\" to its sidecar", u.name))
	}
	u.imp.GoName = packageName(path.Base(u.imp.Package))
}

// packageName returns the name of the Go package in a folder: the letters, in lower case, and
// digits of the folder's name. The target generate of the Makefile has the same rule.
func packageName(folder string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, folder)
}

func irFile(f *syntax.File) *ir.File {
	whole := f.Source.Text
	if f.Source.Document != nil {
		whole = f.Source.Document
	}
	sum := sha256.Sum256(whole)
	return &ir.File{Name: f.Source.Base(), SHA256: hex.EncodeToString(sum[:]), License: f.License}
}
