package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// procValues sets the arguments and the result of each procedure as one value each. It declares
// a struct for several arguments, and a typedef for a type that a stub cannot name.
func procValues(u *unit) {
	for _, d := range u.decls[:len(u.decls):len(u.decls)] {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				switch {
				case len(p.Args) == 1:
					p.Call = procValue(u, p, "_args", p.Args[0].Type, "The argument")
				case len(p.Args) > 1:
					all := u.made(p, ir.Struct, "_args", "The arguments of procedure "+p.Name+".")
					all.Fields = p.Args
					p.Call = &ir.Type{Kind: ir.Ref, Ref: all, Pos: p.Pos}
				}
				if p.Result != nil {
					p.Reply = procValue(u, p, "_res", p.Result, "The result")
				}
			}
		}
	}
}

// procValue returns t if a stub can name it, or else a typedef of t.
func procValue(u *unit, p *ir.Proc, suffix string, t *ir.Type, doc string) *ir.Type {
	switch t.Kind {
	case ir.Bool, ir.Int, ir.Uint, ir.Hyper, ir.Uhyper, ir.Ref:
		return t
	}
	d := u.made(p, ir.Typedef, suffix, doc+" of procedure "+p.Name+".")
	d.Type = t
	return &ir.Type{Kind: ir.Ref, Ref: d, Pos: t.Pos}
}

// made declares a type for procedure p.
func (u *unit) made(p *ir.Proc, kind ir.DeclKind, suffix, doc string) *ir.Decl {
	name := p.Name + suffix
	for s := u.lookup(name); s != nil && (s.def != nil || s.decl.Import == u.imp); s = u.lookup(name) {
		name += "_" // the name that an included unit made up for the procedure's original is free
	}
	d := &ir.Decl{Kind: kind, Name: name, Pos: p.Pos, Doc: []string{doc}, Import: u.imp, Anon: true}
	u.scope.put(&symbol{name: name, span: p.Pos, decl: d})
	u.decls = append(u.decls, d)
	return d
}

// resolveProcs binds the lines "once", "nonblocking" and "reply" of the sidecar.
func (l *linker) resolveProcs() {
	for i := range l.bind.Once {
		if p, ok := l.bindProc(&l.bind.Once[i]); ok {
			p.Once = true
		}
	}
	for i := range l.bind.NonBlocking {
		if p, ok := l.bindProc(&l.bind.NonBlocking[i]); ok {
			p.NonBlocking = true
		}
	}
	for i := range l.bind.Replies {
		b := &l.bind.Replies[i]
		if p, ok := l.bindProc(&b.ProcName); ok {
			p.Limit = l.limit(p, b)
		}
	}
}

// limit follows the path of a line "reply" to a number among the arguments.
func (l *linker) limit(p *ir.Proc, b *ir.ReplyBound) (path []*ir.Field) {
	fault := func(at source.Span, format string, args ...any) {
		l.report(diag.New(diag.BindPath, b.Pos, format, args...).With(at, "declared here").
			Helpf("name an unsigned int or unsigned hyper among the arguments that holds the most bytes of the results' data"))
	}
	if p.Result == nil || p.Result.Size.Fixed() {
		l.report(diag.New(diag.BindPath, b.Pos, "the results of %s have a fixed size: no argument bounds them", p.Name).
			With(p.Pos, "declared here").Helpf("remove the line"))
		return nil
	}
	fields, owner := p.Args, "procedure "+p.Name
	if len(p.Args) == 1 {
		if d := inside(p.Args[0].Type); d != nil && d == p.Args[0].Type.Underlying().Ref && d.Kind == ir.Struct {
			fields, owner = d.Fields, "struct "+d.Name
		}
	}
	for i, name := range b.Path {
		f := findField(fields, name)
		if f == nil {
			d := diag.New(diag.BindPath, b.Pos, "%s has no argument %s", owner, name).With(p.Pos, "declared here")
			if len(fields) == 0 {
				d = d.Helpf("remove the line")
			}
			l.report(l.advice.orOneOf(d, name, listNames(fields)))
			return nil
		}
		path = append(path, f)
		under := f.Type.Underlying()
		if i == len(b.Path)-1 {
			if under.Kind == ir.Uint || under.Kind == ir.Uhyper {
				return path
			}
			fault(f.Pos, "%s is %s, expected unsigned int or unsigned hyper", name, describe(under))
			return nil
		}
		if under.Kind != ir.Ref || under.Ref.Kind != ir.Struct {
			fault(f.Pos, "%s has no fields: %s", name, describe(under))
			return nil
		}
		fields, owner = under.Ref.Fields, "struct "+under.Ref.Name
	}
	return nil
}
