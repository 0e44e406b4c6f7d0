package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// output is a file to write below the output folder.
type output struct {
	path string
	data []byte
}

// outputs lists the .x files of the results, each followed by its origin map.
func outputs(dir string, results []*docResult) []output {
	var list []output
	for _, r := range results {
		for _, u := range r.units {
			for _, f := range u.files {
				p := filepath.Join(dir, u.unit.name, f.name)
				list = append(list, output{p, text(f.lines)}, output{p + ".origin", originMap(r.doc.name, f.lines)})
			}
		}
	}
	return list
}

// current returns what the file holds now; a missing file holds nothing and differs from an empty
// one.
func (o output) current() (data []byte, same bool, err error) {
	data, err = os.ReadFile(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil && bytes.Equal(data, o.data), err
}

// write replaces the file in one step, so that a reader never sees half of it. Errors name the
// file, and not the temporary one.
func (o output) write() (err error) {
	defer func() {
		var ofPath *fs.PathError
		var ofLink *os.LinkError
		if errors.As(err, &ofPath) {
			err = &fs.PathError{Op: "write", Path: o.path, Err: ofPath.Err}
		} else if errors.As(err, &ofLink) {
			err = &fs.PathError{Op: "write", Path: o.path, Err: ofLink.Err}
		}
	}()
	dir := filepath.Dir(o.path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(o.path)+"-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(o.data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), o.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// stale returns the files below dir that were extracted earlier and that no document yields now:
// they have an origin map, and are not among the outputs. Files added by hand have no origin map.
func stale(dir string, list []output) ([]string, error) {
	maps, err := filepath.Glob(filepath.Join(dir, "*", "*.x.origin"))
	if err != nil {
		return nil, err
	}
	made := map[string]bool{}
	for _, o := range list {
		made[o.path] = true
	}
	var old []string
	for _, m := range maps {
		if !made[m] {
			old = append(old, strings.TrimSuffix(m, ".origin"))
		}
	}
	return old, nil
}

// diffLines is the number of differing lines that are shown of each side.
const diffLines = 20

// diff returns the differing middle of two files, removed lines first, in the manner of a unified
// diff with one hunk.
func diff(name string, have, want []byte) string {
	a, b := strings.SplitAfter(string(have), "\n"), strings.SplitAfter(string(want), "\n")
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	a, b = a[from:], b[from:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var s strings.Builder
	fmt.Fprintf(&s, "--- %s\n+++ %s (as extracted)\n@@ -%d,%d +%d,%d @@\n", name, name, from+1, len(a), from+1, len(b))
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"-", a}, {"+", b}} {
		for i, l := range side.lines {
			if i == diffLines {
				fmt.Fprintf(&s, "%s ... %d more lines\n", side.sign, len(side.lines)-i)
				break
			}
			if l = strings.TrimSuffix(l, "\n"); l != "" || i+1 < len(side.lines) {
				fmt.Fprintf(&s, "%s%s\n", side.sign, l)
			}
		}
	}
	return s.String()
}
