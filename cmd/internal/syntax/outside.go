package syntax

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// strays is the state for versions and procedures outside programs. Documents that extend a
// protocol print them so.
type strays struct {
	found bool
	end   int // token after the last one
}

// maxProc limits how many tokens outsideProgram looks ahead in a procedure.
const maxProc = 64

// outsideProgram reports a version or procedure that begins here, outside a program, and skips it.
// Of several in a row, it reports the first. It returns false if none begins here.
func (p *splitter) outsideProgram() bool {
	what, form := "", "version NAME { ... } = NUMBER;"
	name := p.procedureName()
	switch {
	case p.toks[p.i].is("version") && p.at(p.i+1).kind == tIdent && p.at(p.i+2).is("{"):
		name = p.at(p.i + 1)
		what, form = "version", "version "+name.text+" { ... } = NUMBER;"
	case name.text != "":
		what = "procedure"
	default:
		return false
	}
	if !p.strays.found || p.strays.end != p.i {
		at := source.Span{File: p.f, Start: p.toks[p.i].start, End: name.end}
		p.report(diag.New(diag.AmendWhich, at, "%s %s is in no program", what, name.text).
			Helpf("write it in the program: program NAME { %s } = NUMBER; if an included unit declares the program, write the same name and number, and add to the sidecar the line \"amend NAME\"", form))
	}
	p.pass()
	p.strays = strays{true, p.i}
	return true
}

// procedureName returns the name of the procedure that begins here, "TYPE NAME(ARGS) = NUMBER;", or
// an empty token.
func (p *splitter) procedureName() token {
	i := p.i + 1
	for (p.at(i).kind == tIdent || p.at(i).kind == tKeyword) && !p.at(i+1).is("(") && i < p.i+maxField {
		i++
	}
	name := p.at(i)
	if name.kind != tIdent || !p.at(i+1).is("(") {
		return token{}
	}
	for end := i + 2; end < i+maxProc; end++ {
		switch t := p.at(end); {
		case t.is("(") || t.is(";") || t.is("{"):
			return token{}
		case t.is(")"):
			if value := p.at(end + 2); p.at(end+1).is("=") && (value.kind == tNumber || value.kind == tIdent) && p.at(end+3).is(";") {
				return name
			}
			return token{}
		}
	}
	return token{}
}
