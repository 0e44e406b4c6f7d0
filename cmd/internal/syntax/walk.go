package syntax

// Walk calls typ for each type and value for each constant in a definition, in source order,
// and inner for each inline type.
func (d *Def) Walk(typ func(*Type), value func(*Value), inner func(*Def)) {
	w := walker{typ, value, inner}
	w.def(d)
}

type walker struct {
	typ   func(*Type)
	value func(*Value)
	inner func(*Def)
}

func (w walker) def(d *Def) {
	switch d.Kind {
	case Const, Program:
		w.value(&d.Value)
	}
	for _, m := range d.Members {
		if m.Value != nil {
			w.value(m.Value)
		}
	}
	for _, f := range d.Fields {
		w.decl(f)
	}
	if d.Disc != nil {
		w.decl(d.Disc)
	}
	for _, a := range d.Arms {
		for i := range a.Labels {
			w.value(&a.Labels[i])
		}
		for _, f := range a.Decls {
			w.decl(f)
		}
	}
	if d.Decl != nil {
		w.decl(d.Decl)
	}
	for _, v := range d.Versions {
		w.value(&v.Number)
		for _, p := range v.Procs {
			w.decl(p.Result)
			for _, a := range p.Args {
				w.decl(a)
			}
			w.value(&p.Number)
		}
	}
}

func (w walker) decl(d *Decl) {
	w.typ(d.Type)
	if d.Type.Body != nil {
		w.inner(d.Type.Body)
		w.def(d.Type.Body)
	}
	if d.Bound != nil {
		w.value(d.Bound)
	}
}

// Names calls visit with each name that a definition declares, in source order.
func (d *Def) Names(visit func(Ident)) {
	visit(d.Name)
	decl := func(f *Decl) {
		if f.Type.Body != nil {
			f.Type.Body.Names(visit)
		}
		visit(f.Name)
	}
	for _, m := range d.Members {
		visit(m.Name)
	}
	for _, f := range d.Fields {
		decl(f)
	}
	if d.Disc != nil {
		decl(d.Disc)
	}
	for _, a := range d.Arms {
		for _, f := range a.Decls {
			decl(f)
		}
	}
	if d.Decl != nil && d.Decl.Type.Body != nil {
		d.Decl.Type.Body.Names(visit)
	}
	for _, v := range d.Versions {
		visit(v.Name)
		for _, p := range v.Procs {
			visit(p.Name)
			for _, a := range p.Args {
				decl(a)
			}
		}
	}
}
