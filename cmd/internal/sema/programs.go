package sema

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// resolvePrograms resolves programs. Their numbers have 32 bits, unsigned, and must be unique
// where RFC 5531 §12.3 requires it. Several program definitions may have the same number if
// their versions differ.
func (r *resolver) resolvePrograms() {
	parts := map[uint32][]*symbol{} // programs by number
	for _, s := range append([]*symbol(nil), r.u.scope.syms...) {
		if s.member != nil || s.decl.Kind != ir.Program {
			continue
		}
		p := &ir.Prog{}
		s.decl.Program = p
		if s.broken && len(s.def.Versions) == 0 {
			continue
		}
		if k, ok := r.values.uint32Value(s.def.Value, diag.ProgramRange, "number of program "+s.name); ok {
			p.Number = uint32(k.Abs)
			r.versions(s, p)
			for _, other := range parts[p.Number] {
				r.sharedVersion(other, s)
			}
			parts[p.Number] = append(parts[p.Number], s)
			continue
		}
		r.versions(s, p)
	}
}

// sharedVersion reports a version that two programs with the same number both have (RFC 5531
// §12.3). A Call of that version would match both.
func (r *resolver) sharedVersion(old, s *symbol) {
	for _, v := range s.decl.Program.Versions {
		for _, o := range old.decl.Program.Versions {
			if v.Number == o.Number {
				r.report(diag.New(diag.DuplicateProgram, v.Pos, "programs %s and %s both have the number %d and a version %d",
					old.name, s.name, s.decl.Program.Number, v.Number).With(o.Pos, "the first is here"))
				return
			}
		}
	}
}

func (r *resolver) versions(s *symbol, p *ir.Prog) {
	names, numbers := map[string]source.Span{}, map[uint64]source.Span{}
	if len(s.def.Versions) == 0 && !s.broken {
		r.report(diag.New(diag.EmptyProgram, s.span, "program %s has no versions", s.name))
	}
	for _, v := range s.def.Versions {
		if at, ok := names[v.Name.Name]; ok {
			r.report(diag.New(diag.DuplicateVersion, v.Name.Span, "program %s has two versions %s", s.name, v.Name.Name).With(at, "declared here first"))
		}
		names[v.Name.Name] = v.Name.Span
		ver := &ir.Version{Name: v.Name.Name, Pos: v.Name.Span, Doc: v.Doc}
		if k, ok := r.values.uint32Value(v.Number, diag.ProgramRange, "number of version "+v.Name.Name); ok {
			ver.Number = uint32(k.Abs)
			if at, dup := numbers[k.Abs]; dup {
				r.report(diag.New(diag.DuplicateVersion, v.Number.Span, "program %s has two versions with number %d", s.name, k.Abs).With(at, "the first is here"))
			} else {
				numbers[k.Abs] = v.Number.Span
			}
		}
		if len(v.Procs) == 0 && !s.broken {
			r.report(diag.New(diag.EmptyProgram, v.Name.Span, "version %s has no procedures", v.Name.Name))
		}
		r.procs(v, ver)
		p.Versions = append(p.Versions, ver)
	}
}

func (r *resolver) procs(v *syntax.Version, ver *ir.Version) {
	names, numbers := map[string]source.Span{}, map[uint64]source.Span{}
	for _, p := range v.Procs {
		if at, ok := names[p.Name.Name]; ok {
			r.report(diag.New(diag.DuplicateProc, p.Name.Span, "version %s has two procedures %s", v.Name.Name, p.Name.Name).With(at, "declared here first"))
		}
		names[p.Name.Name] = p.Name.Span
		proc := &ir.Proc{Name: p.Name.Name, Pos: p.Name.Span, Doc: p.Doc, Tail: p.Tail}
		if k, ok := r.values.uint32Value(p.Number, diag.ProgramRange, "number of procedure "+p.Name.Name); ok {
			proc.Number = uint32(k.Abs)
			if at, dup := numbers[k.Abs]; dup {
				r.report(diag.New(diag.DuplicateProc, p.Number.Span, "version %s has two procedures with number %d", v.Name.Name, k.Abs).With(at, "the first is here"))
			} else {
				numbers[k.Abs] = p.Number.Span
			}
		}
		if p.Result.Type.Kind != syntax.Void || p.Result.Star {
			proc.Result = r.procType(p.Result, p.Name.Name)
		}
		proc.Args = r.args(p)
		ver.Procs = append(ver.Procs, proc)
	}
}

// procType resolves the type of an argument or result.
func (r *resolver) procType(d *syntax.Decl, proc string) *ir.Type {
	if d.Type.Kind == syntax.Void {
		r.report(diag.New(diag.BadVoid, d.Span, "void with a name, a * or further arguments"))
		return nil
	}
	if d.Type.Kind == syntax.String && d.Shape == syntax.Plain && !d.Star {
		r.report(diag.New(diag.BareString, d.Span, "string without bounds in procedure %s", proc).
			Helpf("write typedef string some_name<>; and use that name"))
		return &ir.Type{Kind: ir.String, Max: math.MaxUint32, Pos: d.Span}
	}
	if d.Star {
		r.report(diag.New(diag.OptionalInProc, d.Span, "optional data in procedure %s", proc))
	}
	return r.declType(d)
}

func (r *resolver) args(p *syntax.Proc) []*ir.Field {
	if len(p.Args) == 1 {
		a := p.Args[0]
		if a.Type.Kind == syntax.Void && !a.Star && a.Name.Name == "" && a.Shape == syntax.Plain {
			return nil
		}
	}
	var out []*ir.Field
	seen := map[string]source.Span{}
	for i, a := range p.Args {
		f := &ir.Field{Name: fmt.Sprintf("arg%d", i+1), Pos: a.Span, Doc: a.Doc, Tail: a.Tail}
		if a.Name.Name != "" {
			f.Name, f.Pos = a.Name.Name, a.Name.Span
			if at, dup := seen[f.Name]; dup {
				r.report(diag.New(diag.DuplicateField, f.Pos, "procedure %s has two arguments %s", p.Name.Name, f.Name).With(at, "declared here first"))
			}
			seen[f.Name] = f.Pos
		}
		f.Type = r.procType(a, p.Name.Name)
		out = append(out, f)
	}
	return out
}
