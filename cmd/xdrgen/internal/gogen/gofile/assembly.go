package gofile

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// Assembly is a file made of pieces.
type Assembly struct {
	Name   string
	Head   *jen.File // comments and the package clause
	Pieces []*Piece
}

// Add gives code to the formatter, as the next piece of the file.
func (a *Assembly) Add(p *Formatter, code *jen.File) {
	a.Pieces = append(a.Pieces, p.Make(code))
}

// Content puts the pieces together, after the formatter has stopped.
func (a *Assembly) Content() ([]byte, error) {
	var out bytes.Buffer
	if err := a.Head.Render(&out); err != nil {
		return nil, err
	}
	imports := map[string]string{}
	size := 0
	for _, p := range a.Pieces {
		if p.err != nil {
			return nil, p.err
		}
		maps.Copy(imports, p.imports)
		size += len(p.text) + 1
	}
	list := importDecl(imports)
	out.Grow(len(list) + size)
	out.WriteString(list)
	for _, p := range a.Pieces {
		if len(p.text) > 0 {
			out.WriteByte('\n')
			out.Write(p.text)
		}
	}
	return out.Bytes(), nil
}

// importDecl writes import specs by path, the standard library's before the
// others, as goimports does.
func importDecl(specs map[string]string) string {
	var std, other []string
	for _, path := range slices.Sorted(maps.Keys(specs)) {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") {
			other = append(other, specs[path])
		} else {
			std = append(std, specs[path])
		}
	}
	switch {
	case len(specs) == 0:
		return ""
	case len(specs) == 1:
		return "\nimport " + append(std, other...)[0] + "\n"
	case len(std) > 0 && len(other) > 0:
		std = append(std, "")
	}
	var b strings.Builder
	b.WriteString("\nimport (\n")
	for _, spec := range append(std, other...) {
		if spec != "" {
			spec = "\t" + spec
		}
		b.WriteString(spec + "\n")
	}
	return b.String() + ")\n"
}
