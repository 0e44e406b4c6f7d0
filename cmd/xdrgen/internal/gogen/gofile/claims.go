package gofile

import "go/ast"

// Claim is a Go name that a file declares.
type Claim struct {
	Key  string // the name, with its type's in front where it is a field or method
	Name string // whose declaration is to blame

	Alias bool // a type, which is another name
}

// claimed returns the names that a file declares.
func claimed(f *ast.File) []Claim {
	var out []Claim
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if recv := receiver(d); recv != "" {
				out = append(out, Claim{Key: recv + "." + name, Name: recv})
			} else {
				out = append(out, Claim{Key: name, Name: name})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				out = claimSpec(out, s)
			}
		}
	}
	return out
}

func claimSpec(out []Claim, s ast.Spec) []Claim {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.Name != "_" {
				out = append(out, Claim{Key: n.Name, Name: n.Name})
			}
		}
	case *ast.TypeSpec:
		out = append(out, Claim{Key: s.Name.Name, Name: s.Name.Name, Alias: s.Assign.IsValid()})
		if t, ok := s.Type.(*ast.StructType); ok {
			for _, f := range t.Fields.List {
				for _, n := range f.Names {
					out = append(out, Claim{Key: s.Name.Name + "." + n.Name, Name: s.Name.Name})
				}
			}
		}
	}
	return out
}

// receiver is the name of a method's type, or empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
