package gofile

import (
	"go/ast"
	"go/token"
)

// simplify removes the parentheses that a person would not write. Emitters write an expression
// before its context is known: (*v) needs parentheses before an index, but not as an argument.
func simplify(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			bareAll(n.Args)
		case *ast.AssignStmt:
			bareAll(n.Lhs)
			bareAll(n.Rhs)
		case *ast.ReturnStmt:
			bareAll(n.Results)
		case *ast.RangeStmt:
			bare(&n.X)
		case *ast.SwitchStmt:
			bare(&n.Tag)
		case *ast.UnaryExpr:
			bare(&n.X)
		case *ast.BinaryExpr:
			if n.Op != token.MUL && n.Op != token.QUO {
				bare(&n.X)
				bare(&n.Y)
			}
		case *ast.SelectorExpr:
			if x := n.X; bare(&x) {
				if id, ok := x.(*ast.StarExpr).X.(*ast.Ident); ok && id.Name == "v" {
					n.X = id // the receiver: one pointer, which a selector follows
				}
			}
		}
		return true
	})
}

func bareAll(list []ast.Expr) {
	for i := range list {
		bare(&list[i])
	}
}

// bare makes *v of (*v), and reports whether it did.
func bare(x *ast.Expr) bool {
	p, ok := (*x).(*ast.ParenExpr)
	if !ok {
		return false
	}
	star, ok := p.X.(*ast.StarExpr)
	if ok {
		*x = star
	}
	return ok
}
