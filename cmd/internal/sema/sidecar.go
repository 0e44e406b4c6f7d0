package sema

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/bind"
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// loadBind reads the unit's sidecar and its imports. By default, the sidecar of one file has the
// name that sidecarOf returns; several files have <folder>/<folder name>.bind. If one file of a
// folder with several files is given, folderBind checks the second place later, when the includes
// of the file are known.
func (c *compiler) loadBind(u *unit, files []string) error {
	u.side.bind = &ir.Bind{}
	dir := filepath.Dir(files[0])
	folder := filepath.Join(dir, u.name+".bind")
	switch {
	case u.imp == nil && c.o.BindFile != "":
		return c.readBind(u, c.o.BindFile)
	case u.imp == nil && len(files) == 1:
		own := sidecarOf(files[0])
		if c.lib.whole(u) {
			return c.readBind(u, own, folder)
		}
		return c.readBind(u, own)
	}
	return c.readBind(u, folder)
}

// sidecarOf returns the name of a file's own sidecar: proto.bind for proto.x, and for the document
// proto.txt.
func sidecarOf(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".bind" }

// folderBind reads the sidecar of the folder for a file that includes all other files of the
// folder. If the folder has more files, its sidecar belongs to another unit. Then folderBind does
// not use it and reports a warning.
func (c *compiler) folderBind(u *unit) error {
	file := c.o.Files[0]
	folder := filepath.Join(filepath.Dir(file), u.name+".bind")
	if len(c.o.Files) > 1 || c.o.BindFile != "" || u.side.bind.File != "" || !c.lib.isFile(filepath.Join(u.dir, u.name+".bind")) {
		return nil
	}
	if c.lib.whole(u) {
		return c.readBind(u, folder)
	}
	own := sidecarOf(filepath.Base(file))
	c.report(diag.New(diag.BindOfFolder, source.Span{File: u.files[0].Source}, "%s.bind is the sidecar of all files of its folder: not used for %s alone", u.name, u.files[0].Source.Base()).
		Helpf("give all files of the folder, or the flag -bind %s, or a sidecar %s of its own", filepath.ToSlash(folder), own))
	return nil
}

// strayBind warns of a sidecar next to the files with the name of another file. It does so if the
// unit has no sidecar, because that one is probably meant for the unit. A folder with other files
// is only searched for a name that differs in case.
func (c *compiler) strayBind(u *unit) {
	file := c.o.Files[0]
	if c.o.BindFile != "" || u.side.bind.File != "" || file == StdinFile {
		return
	}
	want, of := sidecarOf(filepath.Base(file)), filepath.Base(file)
	if len(c.o.Files) > 1 {
		want, of = u.name+".bind", "all files of a folder"
	}
	entries, err := c.lib.readDir(u.dir)
	if err != nil {
		return
	}
	whole, stray := c.lib.whole(u), ""
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".bind")
		if !ok || e.IsDir() || e.Name() == u.name+".bind" || c.lib.isFile(filepath.Join(u.dir, name+".x")) {
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
		read := c.lib.found
		if name == c.o.BindFile {
			read = c.lib.fs.ReadFile
		}
		text, err := read(name)
		if errors.Is(err, fs.ErrNotExist) && name != c.o.BindFile {
			continue
		}
		if err != nil {
			return err
		}
		f := source.NewFile(filepath.ToSlash(name), text)
		c.lib.files = append(c.lib.files, f)
		parsed := bind.Parse(f, c.report)
		u.side.take(parsed)
		for _, w := range parsed.Imports {
			c.include(u, w.Text, w.Pos)
		}
		return nil
	}
	return nil
}
