package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Limits on the types of hand-written files other than tests. A type over them is about several
// things: give each its own state and methods. The fields of types whose names end in Config, Stats
// or Quirks do not count: each field is a fact of its own.
const (
	maxMethods = 40
	maxFields  = 25
)

// Size has the numbers of methods and of fields of a type. The methods of embedded types do not
// count, and an embedded type is one field.
type Size struct{ Methods, Fields int }

func (s Size) String() string { return fmt.Sprintf("%d methods and %d fields", s.Methods, s.Fields) }

// within reports whether neither number is above that of most.
func (s Size) within(most Size) bool { return s.Methods <= most.Methods && s.Fields <= most.Fields }

// limits is the size that each type may have.
var limits = Size{maxMethods, maxFields}

// sizes are the types of a package.
type sizes map[string]*sized

// sized is a type. Files for several systems may declare the same method.
type sized struct {
	file    string
	line    int
	fields  int
	methods []string
}

func (s *sized) size() Size { return Size{len(s.methods), s.fields} }

// of returns the type with a name.
func (s sizes) of(name string) *sized {
	if s[name] == nil {
		s[name] = new(sized)
	}
	return s[name]
}

// measure adds the declarations of a file.
func (s sizes) measure(fset *token.FileSet, file string, syntax *ast.File) {
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := receiver(d); name != "" {
				if t := s.of(name); !slices.Contains(t.methods, d.Name.Name) {
					t.methods = append(t.methods, d.Name.Name)
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				t := s.of(spec.Name.Name)
				t.file, t.line = file, fset.Position(spec.Pos()).Line
				if list, ok := spec.Type.(*ast.StructType); ok && !isExempt(spec.Name.Name) {
					t.fields = max(t.fields, list.Fields.NumFields())
				}
			}
		}
	}
}

// isExempt reports whether the fields of a type do not count.
func isExempt(name string) bool {
	return strings.HasSuffix(name, "Config") || strings.HasSuffix(name, "Stats") || strings.HasSuffix(name, "Quirks")
}

// receiver returns the name of the type that a method is of, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

// size reports the types of a package that are larger than the limits, and than their entry in
// Large.
func (c *checker) size(pkg string, types sizes) {
	for name, t := range types {
		is, most := t.size(), limits
		if entry, ok := c.large[pkg+"."+name]; ok {
			most = entry
		}
		if is.within(limits) {
			continue
		}
		c.over[pkg+"."+name] = is
		if !is.within(most) {
			c.report(t.file, t.line, "size", "type %s has %v, expected at most %v: give what belongs together a type of its own, with its state and methods", name, is, most)
		}
	}
}
