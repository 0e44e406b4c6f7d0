package archtest

import (
	"go/ast"
	"slices"
	"strconv"
)

// Sequential reports whether the package at name, a path from the module's
// root, starts no goroutine. Its row says so, and Check verifies it.
func Sequential(name string) bool {
	row := find(Table(), name)
	return row != nil && row.Sequential
}

// sequential reports statements that start a goroutine, and uses of package sync.
func (c *checker) sequential(file string, syntax *ast.File) {
	found := func(n ast.Node, what string) {
		c.report(file, c.fset.Position(n.Pos()).Line, "goroutine",
			"%s in a package whose row says Sequential, which is not tested with the race detector: do without it, or take the word from the row", what)
	}
	// Of packages time and context; of tests and benchmarks.
	starters := []string{"AfterFunc", "Parallel", "RunParallel"}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n, "a go statement")
		case *ast.ImportSpec:
			if path, err := strconv.Unquote(n.Path.Value); err == nil && within("sync", path) {
				found(n, "package "+path)
			}
		case *ast.SelectorExpr:
			if slices.Contains(starters, n.Sel.Name) {
				found(n, n.Sel.Name)
			}
		}
		return true
	})
}
