package bind

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// amend parses a statement that the unit adds to a declaration of an included unit, or replaces it.
func (p *parser) amend(w []Word, all source.Span) {
	name := w[1]
	if !p.once("amend "+name.Text, name.Pos, "amend or replace of "+name.Text) {
		return
	}
	a := ir.Amend{Pos: all, Name: name.Text, At: name.Pos, Replace: w[0].Text == "replace"}
	for _, c := range w[2:] {
		if p.once("amend "+name.Text+" "+c.Text, c.Pos, "constant "+c.Text+" for "+name.Text) {
			a.Consts = append(a.Consts, ir.AmendConst{Name: c.Text, Pos: c.Pos})
		}
	}
	p.out.Bind.Amends = append(p.out.Bind.Amends, a)
}

// from parses a statement that some names mean an included unit's declarations.
func (p *parser) from(w []Word) {
	l := From{Unit: w[1]}
	for _, name := range w[2:] {
		if p.once("from "+name.Text, name.Pos, "unit for the name "+name.Text) {
			l.Names = append(l.Names, name)
		}
	}
	p.out.From = append(p.out.From, l)
}
