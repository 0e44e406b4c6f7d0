package gogen

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// packageDoc is the comment of a package without a doc.go written by hand. command makes the
// package again.
func (g *gen) packageDoc(command []string) []string {
	if command == nil {
		command = []string{"xdrgen", "gen", "-o", ".", "-package", g.pkg.Name}
		for _, f := range g.unit.Files {
			command = append(command, f.Name)
		}
	}
	doc := []string{
		"Package " + g.pkg.Name + " is the XDR of " + gofile.SourceNames(g.unit) + " in Go. The documentation of",
		"[" + goexpr.XDR + "] describes the methods of its types and who owns",
		"the memory.",
		"//",
		"Do not edit: after a change of the source, run",
		"//",
	}
	doc = append(doc, commandLines(command)...)
	return append(doc, "//", "Before that, xdrgen compat shows what the change breaks.")
}

// commandLines writes a command as code in a comment, in lines of about lineWidth columns that a
// shell joins.
func commandLines(words []string) []string {
	lines := []string{"//\t" + words[0]}
	for _, w := range words[1:] {
		last := &lines[len(lines)-1]
		if len(*last)+len(w) > lineWidth {
			*last += " \\"
			lines = append(lines, "//\t\t"+w)
			continue
		}
		*last += " " + w
	}
	return lines
}
