package gogen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// importName is the name of a package in the files.
type importName struct {
	path, name string
	alias      bool // it is not the package's own name
}

// nameImports chooses the names of all packages that the files may import, so that every piece uses
// the same ones.
func (g *gen) nameImports(imports []*ir.Import) {
	taken := map[string]bool{}
	for _, s := range standardImports {
		taken[s.name] = true
		g.imports = append(g.imports, importName{path: s.path, name: s.name})
	}
	for _, imp := range imports {
		g.imports = append(g.imports, nameImport(taken, imp.Package, imp.GoName))
	}
}

// nameImport chooses the name of one package: its own, unless another package or a variable in
// generated functions has it.
func nameImport(taken map[string]bool, path, own string) importName {
	name := own
	for n := 0; taken[name] || jen.IsReservedWord(name) || isLocal(name); n++ {
		if name = own + "pkg"; n > 0 {
			name = fmt.Sprint(own, "pkg", n)
		}
	}
	taken[name] = true
	return importName{path, name, name != own}
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

// isLocal reports whether a variable in generated functions may have the name.
func isLocal(name string) bool { return locals[strings.TrimRight(name, "0123456789")] }
