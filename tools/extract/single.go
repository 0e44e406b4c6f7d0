package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// single extracts the XDR of one document without manifest and errata.
func (o *options) single() int {
	raw, err := os.ReadFile(o.doc)
	if err != nil {
		fmt.Fprintf(o.stderr, "extract: %v\n", err)
		return exitFailed
	}
	d, err := xdrdoc.Extract(raw, xdrdoc.Options{Mode: o.mode, Sections: o.section})
	for _, n := range d.Notes() {
		fmt.Fprintf(o.stderr, "extract: %s: %s\n", o.doc, n)
	}
	if err != nil {
		fmt.Fprintf(o.stderr, "extract: %s: %v\n", o.doc, err)
		return exitFailed
	}
	if o.out == "-" && len(d.Parts) > 1 && d.Parts[0].Alone {
		var names []string
		for _, p := range d.Parts {
			names = append(names, p.Name)
		}
		fmt.Fprintf(o.stderr, "extract: %s: the document divides its XDR into the files %s, which do not compile as one: use -o DIR\n",
			o.doc, strings.Join(names, ", "))
	}
	base := filepath.Base(o.doc)
	rest := strings.TrimSuffix(base, filepath.Ext(base)) + ".x"
	for i, p := range d.Parts {
		if o.out == "-" {
			_, err = o.stdout.Write(text(p.Own(i)))
		} else {
			if p.Name == "" {
				p.Name = rest
			}
			path := filepath.Join(o.out, p.Name)
			if err = (output{path, text(p.Lines)}).write(); err == nil {
				err = output{path + ".origin", originMap(base, p.Lines)}.write()
			}
			fmt.Fprintln(o.stdout, path)
		}
		if err != nil {
			fmt.Fprintf(o.stderr, "extract: %v\n", err)
			return exitFailed
		}
	}
	if len(d.Lost) > 0 {
		return exitFindings
	}
	return exitOK
}
