package gohelper

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// helper is a kind of function that generated code has for types: the prefix of its name.
type helper string

const (
	cloneHelper  helper = "xdrClone"
	equalHelper  helper = "xdrEqual"
	extentHelper helper = "xdrExtent"
)

// helperOf is a helper for a type.
type helperOf struct {
	helper helper
	typ    *plan.Type
}

// Helpers writes helpers, and the methods that call them. The package has a helper for each of its
// own types, and for each imported type that it needs one for: it does not depend on the methods
// that the other package was made with.
type Helpers struct {
	pkg      *goexpr.Package
	names    map[helperOf]string // of the helpers that are called
	borrowed []helperOf          // for imported types, not yet written
}

func New(p *goexpr.Package) *Helpers {
	return &Helpers{pkg: p, names: map[helperOf]string{}}
}

// name returns the name of the function of kind k for type t.
func (h *Helpers) name(k helper, t *plan.Type) string {
	key := helperOf{k, t}
	name, ok := h.names[key]
	if !ok {
		name = string(k)
		if imp := t.Decl.Import; imp != nil {
			name += gonames.Camel(imp.GoName)
			h.borrowed = append(h.borrowed, key)
		}
		name = h.pkg.Names.Fresh(name + h.pkg.Names.Decl(t.Decl))
		h.names[key] = name
	}
	return name
}

// Borrow writes the helpers for imported types. Each may call more helpers.
func (h *Helpers) Borrow(f *jen.File) {
	for len(h.borrowed) > 0 {
		next := h.borrowed[0]
		h.borrowed = h.borrowed[1:]
		switch next.helper {
		case cloneHelper:
			h.cloneFunc(f, next.typ)
		case equalHelper:
			h.equalFunc(f, next.typ)
		case extentHelper:
			h.extentFunc(f, next.typ)
		}
	}
}
