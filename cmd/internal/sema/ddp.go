package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// resolveDDP follows the path of a binding from the argument or result to the item (RFC 8166
// §6.1), through structs, union arms, optional data, lists and arrays. If the procedure has
// several arguments, the path begins with the name of one of them.
func (l *linker) resolveDDP(b *ir.DDPBinding) {
	proc, ok := l.bindProc(&b.ProcName)
	if !ok {
		return
	}
	roots := proc.Args
	if b.Reply {
		roots = nil
		if proc.Result != nil {
			roots = []*ir.Field{{Name: "result", Type: proc.Result}}
		}
	}
	if len(roots) == 0 {
		what := "arguments"
		if b.Reply {
			what = "result"
		}
		l.report(diag.New(diag.BindPath, b.Pos, "procedure %s has no %s: found void", b.Proc, what).With(proc.Pos, "declared here"))
		return
	}
	path := b.Path
	root := roots[0]
	if len(roots) > 1 {
		if root = findField(roots, path[0]); root == nil || len(path) == 1 {
			l.report(diag.New(diag.BindPath, b.Pos, "procedure %s has %d arguments: begin the path with one of %s, followed by a field", b.Proc, len(roots), fieldNames(roots)))
			return
		}
		path = path[1:]
	}
	again, ok := l.walkDDP(b, root.Type, path)
	if !ok {
		return
	}
	if again != nil {
		l.report(ambiguous(b, again.Name+", which contains itself, at any depth"))
		return
	}
	key := ddpOwner{proc, b.Reply, b.Owner}
	found, ok := l.paths[key]
	if !ok {
		found = pathsTo(b.Owner, roots)
		l.paths[key] = found
	}
	for _, to := range found {
		other := append(to[:len(to):len(to)], b.Field.Name)
		if !slices.Equal(other, b.Path) {
			l.report(ambiguous(b, strings.Join(other, ".")))
			return
		}
	}
}

// ddpOwner is a struct or union in the arguments or the result of a procedure.
type ddpOwner struct {
	proc  *ir.Proc
	reply bool
	owner *ir.Decl
}

// pathsTo returns paths from the arguments or the result to a struct or union, up to two for
// each argument.
func pathsTo(owner *ir.Decl, roots []*ir.Field) (found [][]string) {
	for _, r := range roots {
		s := search{owner: owner, on: map[*ir.Decl]bool{}, dead: map[*ir.Decl]bool{}}
		if len(roots) > 1 {
			s.path = []string{r.Name}
		}
		s.typ(r.Type)
		found = append(found, s.found...)
	}
	return found
}

func ambiguous(b *ir.DDPBinding, other string) diag.Diagnostic {
	return diag.New(diag.BindAmbiguous, b.Pos, "field %s of %s can also be reached by %s", b.Field.Name, b.Owner.Name, other).
		With(b.Field.Pos, "the field is declared here").
		Note("generated code identifies reducible data by field and procedure, so it cannot distinguish the two places")
}

// bindProc returns the procedure that a line of the sidecar names, and sets the numbers of b.
func (l *linker) bindProc(b *ir.ProcName) (*ir.Proc, bool) {
	s := l.u.scope.names[b.Program]
	if s == nil || s.decl.Kind != ir.Program {
		l.report(l.advice.orOneOf(diag.New(diag.BindUnknownName, b.Pos, "found no program %s", b.Program), b.Program, programNames(l.u)))
		return nil, false
	}
	var versions []string
	for _, v := range s.decl.Program.Versions {
		versions = append(versions, v.Name)
		if v.Name != b.Version {
			continue
		}
		var procs []string
		for _, p := range v.Procs {
			procs = append(procs, p.Name)
			if p.Name == b.Proc {
				b.Prog, b.Vers, b.Number = s.decl.Program.Number, v.Number, p.Number
				return p, true
			}
		}
		d := diag.New(diag.BindUnknownName, b.Pos, "version %s has no procedure %s", b.Version, b.Proc).With(v.Pos, "declared here")
		l.report(l.advice.orOneOf(d, b.Proc, procs))
		return nil, false
	}
	d := diag.New(diag.BindUnknownName, b.Pos, "program %s has no version %s", b.Program, b.Version).With(s.span, "declared here")
	l.report(l.advice.orOneOf(d, b.Version, versions))
	return nil, false
}

// programNames returns the names of the unit's programs.
func programNames(u *unit) (names []string) {
	for _, d := range u.decls {
		if d.Kind == ir.Program {
			names = append(names, d.Name)
		}
	}
	return names
}

// walkDDP follows a path and stores the item in b. If a type on the path contains itself, walkDDP
// also returns that type: then other paths lead to the item as well.
func (l *linker) walkDDP(b *ir.DDPBinding, t *ir.Type, path []string) (again *ir.Decl, ok bool) {
	for i, name := range path {
		d := inside(t)
		if d == nil {
			l.report(diag.New(diag.BindPath, b.Pos, "%s has no fields: %s", walked(b, len(b.Path)-len(path)+i), describe(t.Underlying())))
			return nil, false
		}
		fields := fieldsOf(d)
		f := findField(fields, name)
		if f == nil {
			l.report(diag.New(diag.BindPath, b.Pos, "%s %s has no field %s", kindName(d.Kind), d.Name, name).
				With(d.Pos, "declared here").Helpf("use one of %s", fieldNames(fields)))
			return nil, false
		}
		b.Owner, b.Field, t = d, f, f.Type
		if d.Recursive {
			again = d
		}
	}
	// The presence word of optional data stays in the stream. The data may be reduced (RFC 8166
	// §3.4.4.2; R48).
	if u := t.Underlying(); u.Kind == ir.Optional {
		t = u.Elem
	}
	switch t.Underlying().Kind {
	case ir.Opaque, ir.String, ir.Array: // RFC 8166 §3.4.4.3: no union, but data in its arms; R49
		return again, true
	}
	l.report(diag.New(diag.BindPath, b.Pos, "field %s of %s is %s, expected opaque, string or array with a count", b.Field.Name, b.Owner.Name, describe(t.Underlying())).
		With(b.Field.Pos, "declared here"))
	return nil, false
}

// walked names the place of a path after n of its names.
func walked(b *ir.DDPBinding, n int) string {
	switch {
	case n > 0:
		return strings.Join(b.Path[:n], ".")
	case b.Reply:
		return "the result of " + b.Proc
	}
	return "the argument of " + b.Proc
}

// inside returns the struct or union of a type: the type itself, or the element of optional data,
// lists and arrays. For other types it returns nil.
func inside(t *ir.Type) *ir.Decl {
	for {
		t = t.Underlying()
		switch t.Kind {
		case ir.Optional, ir.Array, ir.FixedArray:
			t = t.Elem
			continue
		case ir.ListOf, ir.ListHead:
			return t.Ref
		case ir.Ref:
			if t.Ref.Kind == ir.Struct || t.Ref.Kind == ir.Union {
				return t.Ref
			}
		}
		return nil
	}
}

// fieldsOf returns the fields of a struct, a list node's element or a union's arms.
func fieldsOf(d *ir.Decl) []*ir.Field {
	if d.List != nil {
		return d.List.Elem
	}
	if d.Kind == ir.Struct {
		return d.Fields
	}
	var out []*ir.Field
	for _, a := range d.Arms {
		if a.Field != nil {
			out = append(out, a.Field)
		}
	}
	return out
}

func findField(fields []*ir.Field, name string) *ir.Field {
	for _, f := range fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func fieldNames(fields []*ir.Field) string {
	return strings.Join(listNames(fields[:min(len(fields), 12)]), ", ")
}

func listNames(fields []*ir.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// search collects up to two paths to owner.
type search struct {
	owner *ir.Decl
	path  []string
	found [][]string
	on    map[*ir.Decl]bool // declarations on the current path
	dead  map[*ir.Decl]bool // declarations that do not lead to owner
}

func (s *search) typ(t *ir.Type) {
	d := inside(t)
	if d == nil || s.on[d] || s.dead[d] || len(s.found) > 1 {
		return
	}
	if d == s.owner {
		s.found = append(s.found, slices.Clone(s.path))
		return
	}
	before := len(s.found)
	s.on[d] = true
	for _, f := range fieldsOf(d) {
		s.path = append(s.path, f.Name)
		s.typ(f.Type)
		s.path = s.path[:len(s.path)-1]
	}
	s.on[d] = false
	if len(s.found) == before {
		s.dead[d] = true
	}
}
