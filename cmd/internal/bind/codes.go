package bind

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

var spaces = []string{ir.SpaceHeaderType, ir.SpaceFlag, "property", "characteristic", ir.SpaceError, "operation"}

// space reports whether w is a code space. If it is not, it reports a finding.
func (p *parser) space(w Word) bool {
	if slices.Contains(spaces, w.Text) {
		return true
	}
	d := diag.New(diag.BindSyntax, w.Pos, "%s is not a space of code points", diag.Quote(w.Text)).
		Helpf("use one of %s", strings.Join(spaces, ", "))
	if near, ok := spelling.Nearest(w.Text, spaces); ok {
		d = d.Helpf("did you mean %s?", near)
	}
	p.report(d)
	return false
}

// code parses a statement that a constant is a code point. Its space is known.
func (p *parser) code(w []Word) {
	if !p.once("code "+w[1].Text+" "+w[2].Text, w[2].Pos, "code "+w[2].Text) {
		return
	}
	c := ir.CodePoint{Pos: w[0].Pos.To(w[len(w)-1].Pos), Space: w[1].Text, Const: w[2].Text}
	if w[3].Text != "void" {
		c.Type = w[3].Text
	}
	if c.Space == ir.SpaceFlag && c.Type != "" {
		p.report(diag.New(diag.BindSyntax, w[3].Pos, "found %s, expected void: a flag carries no data", diag.Quote(c.Type)))
		return
	}
	for _, f := range w[4:] {
		c.Flags = append(c.Flags, f.Text)
	}
	p.out.Bind.Codes = append(p.out.Bind.Codes, c)
}

// message parses a statement that a struct begins messages.
func (p *parser) message(w []Word, all source.Span) {
	path := strings.Split(w[2].Text, ".")
	switch {
	case hasEmpty(path):
		p.report(diag.New(diag.BindSyntax, w[2].Pos, "found %s, expected names separated by dots", diag.Quote(w[2].Text)))
	case p.once("message "+w[1].Text, all, "message of "+w[1].Text):
		p.out.Bind.Messages = append(p.out.Bind.Messages, ir.Message{Pos: all, Struct: w[1].Text, Path: path})
	}
}

// number parses a statement that a field is a number of a code space.
func (p *parser) number(w []Word, all source.Span) {
	name := strings.Split(w[1].Text, ".")
	if len(name) != 2 || hasEmpty(name) {
		p.report(diag.New(diag.BindSyntax, w[1].Pos, "found %s, expected STRUCT.FIELD", diag.Quote(w[1].Text)))
		return
	}
	if !p.space(w[2]) {
		return
	}
	n := ir.Number{Pos: all, Struct: name[0], Field: name[1], Space: w[2].Text, Default: len(w) > 4}
	if len(w) > 3 {
		n.Data = w[3].Text
	}
	switch {
	case n.Default && w[4].Text != "default":
		p.report(diag.New(diag.BindSyntax, w[4].Pos, "found %s, expected default or the end of the line", diag.Quote(w[4].Text)))
	case n.Space == ir.SpaceFlag && n.Data != "":
		p.report(diag.New(diag.BindSyntax, w[3].Pos, "found %s, expected the end of the line: a flag carries no data", diag.Quote(n.Data)))
	case !p.once("number "+w[1].Text, w[1].Pos, "number "+w[1].Text):
	case n.Data != "" && !p.once("data "+n.Struct+"."+n.Data, w[3].Pos, "number for the data "+n.Struct+"."+n.Data):
	default:
		p.out.Bind.Numbers = append(p.out.Bind.Numbers, n)
	}
}
