package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// value is a value in emitted code: its Go expression, and its name in errors.
type value struct {
	x       goexpr.Expr // nil in a check-only reader, which keeps no values
	ptr     goexpr.Expr // the pointer that x dereferences, if there is one
	root    string      // the type that the path begins at
	path    string      // fields since the last index, or since the type
	indices []index     // the indexed fields around it, outermost first
}

// index is a field with an index into it.
type index struct {
	path string
	i    goexpr.Expr
}

// self is the value of the method's receiver v. A struct or union is used by its pointer.
func self(p *goexpr.Package, t *plan.Type) value {
	v := value{x: goexpr.ID("v"), root: p.Name + "." + p.Names.Decl(t.Decl)}
	switch {
	case t.PointerName:
		v.x = v.x.Dot(goexpr.PointerField)
	case t.Op == plan.Enum || t.Op == plan.Typedef:
		return v.deref()
	}
	return v
}

// field is field f of the struct or union v.
func (v value) field(p *goexpr.Package, f *plan.Field) value {
	name := p.Names.Field(f.Field)
	v.path, v.ptr = join(v.path, name), nil
	if v.x != nil {
		v.x = v.x.Dot(name)
	}
	return v
}

// arm is the value of the union v's arm a.
func (v value) arm(p *goexpr.Package, a *plan.Arm) value {
	q := v.field(p, a.Field)
	if a.Pointer && !a.Field.Step.Selectors() {
		return q.deref()
	}
	return q
}

// converted is value v of typedef t in the type under it.
func (v value) converted(p *goexpr.Package, t *plan.Type) value {
	if !t.Converts {
		return v
	}
	return v.with(func() *jen.Statement { return p.GoType(t.Body).Call(v.x()) })
}

// with is the same value by another expression.
func (v value) with(x goexpr.Expr) value {
	v.x = x
	return v
}

// addr is a pointer to v.
func (v value) addr() *jen.Statement {
	if v.ptr != nil {
		return v.ptr()
	}
	return jen.Op("&").Add(v.x())
}

// deref is the value that v is a pointer to.
func (v value) deref() value {
	p := v.x
	v.ptr, v.x = p, func() *jen.Statement { return jen.Parens(jen.Op("*").Add(p())) }
	return v
}

// elem is an element of v, with expression x.
func (v value) elem(x, i goexpr.Expr) value {
	indices := append(v.indices[:len(v.indices):len(v.indices)], index{v.path, i})
	return value{x: x, root: v.root, indices: indices}
}

// elems calls f for each element of v, an array of n elements, with constant indices.
func (v value) elems(n int, f func(e value)) {
	for i := range n {
		at := func() *jen.Statement { return jen.Lit(i) }
		var x goexpr.Expr
		if v.x != nil {
			x = func() *jen.Statement { return v.x().Index(jen.Lit(i)) }
		}
		f(v.elem(x, at))
	}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// fail is the expression of an error at v, at offset off.
func (v value) fail(code string, off, found, want jen.Code) *jen.Statement {
	return v.locate("Fail", jen.Qual(goexpr.XDR, code), off, found, want)
}

// short is the expression of an error for input that ends at v.
func (v value) short(buf, off, need jen.Code) *jen.Statement {
	return v.locate("Short", buf, off, need)
}

// wrap is the expression of an error that a part of v returned.
func (v value) wrap(err goexpr.Expr) *jen.Statement { return v.locate("In", err()) }

// stepIndices is the largest number of indices in one step of an error's path.
const stepIndices = 2

// locate is a call of the runtime that ends with the path to v and the indices in it. The path is
// one step, or several if it has too many indices.
func (v value) locate(name string, args ...jen.Code) *jen.Statement {
	indices := v.indices
	if n := len(indices) - stepIndices; n > 0 {
		inner := value{indices: indices[n:], path: v.path}.locate(name, args...)
		return value{root: v.root, indices: indices[:n]}.locate("In", inner)
	}
	path := ""
	for _, i := range indices {
		path = join(path, i.path) + "[]"
	}
	path = join(path, v.path)
	if v.root != "" {
		path = v.root + ":" + path
	}
	args = append(args, jen.Lit(path))
	for _, i := range indices {
		args = append(args, i.i())
	}
	return jen.Qual(goexpr.Codec, name).Call(args...)
}
