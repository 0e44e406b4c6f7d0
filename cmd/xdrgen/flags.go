package main

import (
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// inputFlags are the flags of every command that compiles files.
type inputFlags struct {
	Include []string `short:"I" name:"include" sep:"none"`
	Define  []string `short:"D" name:"define" sep:"none"`
	Type    []string `name:"type" sep:"none"`
	Import  []string `name:"import" sep:"none"`
	Bind    string   `name:"bind"`
}

// reportFlags are the flags of every command that reports findings.
type reportFlags struct {
	Errors int    `name:"errors" default:"20"`
	Color  string `name:"color" enum:"auto,always,never" default:"auto"`
}

// unitFlags are the flags of a command that reads one unit.
type unitFlags struct {
	inputFlags
	reportFlags
	documentFlags
	Files []string `arg:"" name:"file"`
}

// options returns the compiler options of the flags. Its error is a usage error.
func (f *inputFlags) options() (o sema.Options, err error) {
	if o.Defines, err = defines(f.Define); err != nil {
		return o, err
	}
	if o.Types, err = types(f.Type); err != nil {
		return o, err
	}
	o.Include, o.Imports, o.BindFile = f.Include, f.Import, f.Bind
	return o, nil
}

// options returns the compiler options of the flags with the files to compile, standard
// input included. If it fails, it reports the error and returns its exit code.
func (f *unitFlags) options(env environment) (sema.Options, int) {
	o, err := f.inputFlags.options()
	if err != nil {
		return o, usage(env, err)
	}
	for _, name := range f.Files {
		files, err := unitFiles(sema.Disk{}, name)
		if err != nil {
			return o, failed(env, err)
		}
		o.Files = append(o.Files, files...)
	}
	if slices.Contains(f.Files, "-") {
		if o.Files, o.FS, err = sema.FromStdin(o.Files, env.stdin); err != nil {
			return o, failed(env, err)
		}
	}
	return o, exitClean
}

// unitFiles returns the .x files of a folder, or the name itself if it is not a folder.
func unitFiles(f sema.FileSystem, name string) ([]string, error) {
	entries, err := f.ReadDir(name)
	if err != nil {
		return []string{name}, nil // not a folder; reading it reports any other error
	}
	var out []string
	for _, e := range entries {
		switch {
		case e.IsDir() || !strings.HasSuffix(e.Name(), ".x"):
		case e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
			return nil, fmt.Errorf("%s is not a regular file", filepath.Join(name, e.Name()))
		default:
			out = append(out, filepath.Join(name, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no .x files", name)
	}
	return out, nil
}

// color reports whether findings written to w are coloured.
func (f *reportFlags) color(w io.Writer, env environment) bool {
	switch f.Color {
	case "always":
		return true
	case "never":
		return false
	}
	if env.getenv("NO_COLOR") != "" { // https://no-color.org
		return false
	}
	if force := env.getenv("CLICOLOR_FORCE"); force != "" && force != "0" { // https://bixense.com/clicolors
		return true
	}
	return env.getenv("TERM") != "dumb" && env.getenv("CLICOLOR") != "0" && env.terminal(w)
}

// defines parses the values of -D.
func defines(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, d := range list {
		name, value, _ := strings.Cut(d, "=")
		if !isName(name) {
			return nil, fmt.Errorf("-D %s: found %s, expected name or name=value", d, diag.Quote(name))
		}
		out[name] = value
	}
	return out, nil
}

// types parses the values of -type.
func types(list []string) ([]sema.Given, error) {
	var out []sema.Given
	for _, t := range list {
		name, xdr, _ := strings.Cut(t, "=")
		if !isName(name) || strings.TrimSpace(xdr) == "" {
			return nil, fmt.Errorf("-type %s: expected NAME=XDRTYPE, such as -type 'netobj=opaque<1024>'", t)
		}
		out = append(out, sema.Given{Name: name, XDR: xdr})
	}
	return out, nil
}

// renames parses the values of -rename.
func renames(list []string) ([]ir.Rename, error) {
	var out []ir.Rename
	for _, r := range list {
		name, goName, _ := strings.Cut(r, "=")
		if !isName(strings.ReplaceAll(name, ".", "")) || !token.IsIdentifier(goName) || !token.IsExported(goName) {
			return nil, fmt.Errorf("-rename %s: expected NAME=GoName, such as -rename Foo=OtherFoo, or STRUCT.FIELD=GoName", r)
		}
		f := source.NewFile("<-rename>", []byte(r+"\n"))
		f.Synthetic = true
		out = append(out, ir.Rename{Pos: source.Span{File: f, End: len(name)}, XDR: name, GoName: goName})
	}
	return out, nil
}

// isName reports whether s is an identifier of XDR, or may be one of C.
func isName(s string) bool {
	for i, r := range s {
		if !(r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}
