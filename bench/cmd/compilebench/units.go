package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// unit is an interface for which code is generated and measured.
type unit struct {
	name   string
	source string // file or folder of the main module, or a document of the corpus
	root   string // type of the value that the program decodes and encodes
	proto  bool   // protoFile has the same types
	lacks  string // definitions that goxdr needs and the files do not have
	lines  int    // of the files
	files  []string
	amends []string // files for goxdr
}

// rpcNames are names of the RPC library, which xdrgen knows.
const rpcNames = `
const AUTH_NONE = 0;
const AUTH_SYS = 1;
const RPCSEC_GSS = 6;
struct authsys_parms {
	unsigned int stamp;
	string machinename<255>;
	unsigned int uid;
	unsigned int gid;
	unsigned int gids<16>;
};
`

// units returns the interfaces in the order of the table.
func units() []*unit {
	return []*unit{
		{name: "small", source: "bench/codec/dirplus.x", root: "dp_reply"},
		{name: "nfs3", source: "spec/x/nfs3", root: "READDIRPLUS3res", proto: true},
		{name: "rpcrdma2", source: "spec/x/rpcrdma2", root: "rpcrdma2_chunk_lists"},
		{name: "nfs41", source: "ietf/rfc5662.txt", root: "COMPOUND4args", lacks: rpcNames},
	}
}

// chosen returns the units of a list of names, separated by commas.
func chosen(names string) ([]*unit, error) {
	var out []*unit
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		n := len(out)
		var known []string
		for _, u := range units() {
			known = append(known, u.name)
			if u.name == name {
				out = append(out, u)
			}
		}
		if len(out) == n {
			return nil, fmt.Errorf("no unit %q: expected %s", name, strings.Join(known, ", "))
		}
	}
	return out, nil
}

// prepare copies the files of the unit to a folder, sidecars included, and makes the variant of
// them that goxdr accepts.
func (w *workshop) prepare(u *unit) error {
	dir, amended := filepath.Join(w.dir, "units", u.name), filepath.Join(w.dir, "amended", u.name)
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.MkdirAll(amended, 0o777)); err != nil {
		return err
	}
	if err := w.fetch(u, dir); err != nil {
		return err
	}
	var err error
	if u.files, err = filepath.Glob(filepath.Join(dir, "*.x")); err != nil || len(u.files) == 0 {
		return fmt.Errorf("no .x files in %s: %w", u.source, err)
	}
	for _, file := range u.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		u.lines += strings.Count(string(text), "\n")
		out := filepath.Join(amended, filepath.Base(file))
		u.amends = append(u.amends, out)
		if err := os.WriteFile(out, text, 0o666); err != nil {
			return err
		}
	}
	return w.amend(u)
}

// fetch copies the files of the unit, or extracts them from their document.
func (w *workshop) fetch(u *unit, dir string) error {
	if filepath.Ext(u.source) == ".txt" {
		return command("", filepath.Join(w.dir, "extract"), "-doc", filepath.Join(w.corpus(), u.source), "-o", dir)
	}
	source := filepath.Join(w.root, u.source)
	if filepath.Ext(source) != ".x" {
		return os.CopyFS(dir, os.DirFS(source))
	}
	for _, name := range []string{source, strings.TrimSuffix(source, ".x") + ".bind"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// The amendments for goxdr: it does not know "struct" before the name of a type, and its Go does
// not compile for these discriminants.
var (
	structWord   = regexp.MustCompile(`(?m)^([ \t]+)struct (\w+[ \t]+\*?\w+[;<[])`)
	discriminant = regexp.MustCompile(`\(unsigned(?: int)? (argop|resop)\)`)
)

// amend replaces in the files for goxdr what it does not accept, the names of C's types included.
func (w *workshop) amend(u *unit) error {
	if err := command("", w.xdrgen, append([]string{"check", "-fix"}, u.amends...)...); err != nil {
		return err
	}
	for _, file := range u.amends {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = structWord.ReplaceAll(text, []byte("$1$2"))
		text = discriminant.ReplaceAll(text, []byte("(nfs_cb_opnum4 $1)"))
		text = append(text, u.lacks...)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
