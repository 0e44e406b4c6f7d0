package bind

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// procedure parses PROGRAM.VERSION.PROC.
func (p *parser) procedure(w Word) (ir.ProcName, bool) {
	parts := strings.Split(w.Text, ".")
	if len(parts) != 3 || hasEmpty(parts) {
		p.report(diag.New(diag.BindSyntax, w.Pos, "found %s, expected PROGRAM.VERSION.PROC", diag.Quote(w.Text)))
		return ir.ProcName{}, false
	}
	return ir.ProcName{Pos: w.Pos, Program: parts[0], Version: parts[1], Proc: parts[2]}, true
}

// notTwice parses a procedure that must not be executed twice for one call.
func (p *parser) notTwice(w []Word) {
	if name, ok := p.procedure(w[1]); ok && p.once("once "+w[1].Text, w[1].Pos, "once of "+w[1].Text) {
		p.out.Bind.Once = append(p.out.Bind.Once, name)
	}
}

// nonBlocking parses a procedure that never waits at the server.
func (p *parser) nonBlocking(w []Word) {
	if name, ok := p.procedure(w[1]); ok && p.once("nonblocking "+w[1].Text, w[1].Pos, "nonblocking of "+w[1].Text) {
		p.out.Bind.NonBlocking = append(p.out.Bind.NonBlocking, name)
	}
}

// reply parses the argument that bounds the reply of a procedure.
func (p *parser) reply(w []Word, all source.Span) {
	name, ok := p.procedure(w[1])
	path := strings.Split(w[2].Text, ".")
	switch {
	case !ok:
	case hasEmpty(path):
		p.report(diag.New(diag.BindSyntax, w[2].Pos, "found %s, expected names separated by dots", diag.Quote(w[2].Text)))
	case p.once("reply "+w[1].Text, all, "reply of "+w[1].Text):
		name.Pos = all
		p.out.Bind.Replies = append(p.out.Bind.Replies, ir.ReplyBound{ProcName: name, Path: path})
	}
}
