package bind

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// with parses the statement of the optional methods.
func (p *parser) with(w []Word) {
	if !p.once("with", w[0].Pos, "with") {
		return
	}
	for _, name := range w[1:] {
		if new(ir.Methods).Apply(name.Text) {
			p.out.Bind.With = append(p.out.Bind.With, name.Text)
			continue
		}
		d := diag.New(diag.BindSyntax, name.Pos, "%s is not an optional method", diag.Quote(name.Text)).
			Helpf("use one of %s", strings.Join(ir.MethodWords(), ", "))
		if near, ok := spelling.Nearest(name.Text, ir.MethodWords()); ok {
			d = d.Helpf("did you mean %s?", near)
		}
		if strings.Contains(name.Text, ",") {
			d = d.Helpf("separate the names with spaces: with %s", strings.Join(strings.FieldsFunc(name.Text, isComma), " "))
		}
		p.report(d)
	}
}

func isComma(r rune) bool { return r == ',' }
