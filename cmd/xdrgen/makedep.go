package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
)

// dependencies is the content of a dependency file for make, in the form of gcc -MD -MP: one rule
// from the sources to the generated files, and an empty rule for each source that the user did not
// name, so that make does not fail after it is removed.
type dependencies struct {
	targets []string // the generated files
	given   []string // the sources of the command line
	found   []string // includes, sidecars
}

// dependenciesOf returns the dependencies of the files that gen writes into a folder.
func dependenciesOf(out string, made *generated, files []string) dependencies {
	var d dependencies
	for _, f := range made.files {
		d.targets = append(d.targets, filepath.ToSlash(filepath.Join(out, filepath.FromSlash(f.Name))))
	}
	for _, f := range made.sources {
		switch {
		case f.Synthetic || f.Name == sema.StdinFile:
		case slices.Contains(files, f.Name):
			d.given = append(d.given, f.Name)
		default:
			d.found = append(d.found, f.Name)
		}
	}
	return d
}

// text returns the makefile, or an error if make cannot read one of the names.
func (d dependencies) text() ([]byte, error) {
	var b strings.Builder
	for i, name := range slices.Concat(d.targets, d.given, d.found) {
		word, err := makeWord(name)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
		case i < len(d.targets):
			b.WriteByte(' ')
		case i == len(d.targets):
			b.WriteString(": \\\n  ")
		default:
			b.WriteString(" \\\n  ")
		}
		b.WriteString(word)
	}
	if len(d.given)+len(d.found) == 0 {
		b.WriteByte(':')
	}
	b.WriteByte('\n')
	for _, name := range d.found {
		word, _ := makeWord(name)
		b.WriteString("\n" + word + ":\n")
	}
	return []byte(b.String()), nil
}

// makeWord returns a file's name as a word of a makefile. Make has no way to write some characters.
func makeWord(name string) (string, error) {
	if i := strings.IndexAny(name, "%;|="); i >= 0 {
		return "", fmt.Errorf("-MD: %s has the character %q, which make cannot read in the name of a file: rename the file, or run gen without -MD", diag.Quote(name), name[i:i+1])
	}
	var b strings.Builder
	volume := len(filepath.VolumeName(name))
	if strings.HasPrefix(name, "~") {
		b.WriteString("./") // not the home folder
	}
	backslashes := 0
	for i, c := range []byte(name) {
		switch {
		case c == '$':
			b.WriteByte('$')
		case i >= volume && strings.IndexByte(" #:*?[", c) >= 0:
			// Backslashes are themselves, except before a character that one escapes.
			b.WriteString(strings.Repeat(`\`, backslashes+1))
		}
		b.WriteByte(c)
		if backslashes++; c != '\\' {
			backslashes = 0
		}
	}
	return b.String(), nil
}

// makeFile is the dependency file that gen writes. Without -MF, it is in the output folder.
func (g *genCmd) makeFile() string {
	if g.MF != "" {
		return g.MF
	}
	return filepath.Join(g.Out, g.Package+"_xdr.d")
}

// checkMake returns an error if the flags for make do not fit the others.
func (g *genCmd) checkMake() error {
	switch {
	case g.MF != "" && !g.MD:
		return errors.New("found -MF without -MD, which writes the dependency file")
	case g.MD && g.Names:
		return errors.New("found -MD with -names, which writes no files")
	}
	return nil
}

// touch gives files the present time. Make compares times: without it, a file whose content stays
// the same would be older than its sources, and each make would run gen again.
func touch(names []string) error {
	now := time.Now()
	for _, name := range names {
		if err := os.Chtimes(name, now, now); err != nil {
			return err
		}
	}
	return nil
}

// generated is the result of a run without errors.
type generated struct {
	files   []gogen.File
	sources []*source.File // all files that were read
}
