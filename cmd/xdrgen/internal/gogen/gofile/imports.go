package gofile

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
)

// Imports holds the names by which all pieces of a file call the packages that they may import.
type Imports struct {
	path, pkg string // of the file's own package; path is empty if it is not known
	names     []importName
	taken     map[string]bool
}

// importName is the name of a package in the files.
type importName struct {
	path, name string
	alias      bool // it is not the package's own name
}

// NewImports returns the imports of a file that belongs to package pkg, which has the path.
func NewImports(path, pkg string) *Imports {
	return &Imports{path: path, pkg: pkg, taken: map[string]bool{}}
}

// Standard adds a package that has its own name in all files.
func (m *Imports) Standard(path, name string) {
	m.taken[name] = true
	m.names = append(m.names, importName{path: path, name: name})
}

// Unit adds the package of a unit: by its own name, unless another package or a variable in
// generated functions has it.
func (m *Imports) Unit(path, own string) {
	name := own
	for n := 0; m.taken[name] || jen.IsReservedWord(name) || IsLocal(name); n++ {
		if name = own + "pkg"; n > 0 {
			name = fmt.Sprint(own, "pkg", n)
		}
	}
	m.taken[name] = true
	m.names = append(m.names, importName{path, name, name != own})
}

// Piece begins a piece of the file.
func (m *Imports) Piece() *jen.File {
	file := jen.NewFilePathName(m.path, m.pkg)
	for _, i := range m.names {
		if i.alias {
			file.ImportAlias(i.path, i.name)
		} else {
			file.ImportName(i.path, i.name)
		}
	}
	return file
}

// locals are the names of variables and parameters in generated functions, without the number that
// a second one of the same name has.
var locals = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`another args at b bb c cfg ctx d data depth e enum err f fault from i k kind
		left limit list more n name off ok old opt over p place q r res s service size there v w word x yield`) {
		all[name] = true
	}
	return all
}()

// IsLocal reports whether a variable in generated functions may have the name.
func IsLocal(name string) bool { return locals[strings.TrimRight(name, "0123456789")] }
