package bind

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// attributes parses a statement that a struct holds numbered values in an opaque field.
func (p *parser) attributes(w []Word, all source.Span) {
	switch {
	case !isGoName(w[3].Text):
		p.report(notGoName(w[3]))
	case p.once("attributes "+w[1].Text, w[1].Pos, "attributes of "+w[1].Text):
		p.out.Bind.Attributes = append(p.out.Bind.Attributes, ir.Attributes{
			Pos: all, Struct: w[1].Text, Prefix: w[2].Text, GoName: w[3].Text,
		})
	}
}

// notGoName is the finding for a word that is not an exported Go name.
func notGoName(w Word) diag.Diagnostic {
	return diag.New(diag.BindSyntax, w.Pos, "%s is not an exported Go name", diag.Quote(w.Text)).
		Helpf("start it with a capital letter, followed by letters, digits and _")
}
