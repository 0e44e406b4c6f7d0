package sema

import (
	"math"
	"math/bits"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// codeKey is a number in a space of code points.
type codeKey struct {
	space string
	value uint32
}

// takenCode is the code point that uses a number.
type takenCode struct {
	at   source.Span
	unit string // unit of the code point; empty for the unit itself
}

// resolveCodes binds the constant and the type of each code point. In the unit and all units that
// it includes, a number must have only one meaning (R322).
func (l *linker) resolveCodes() {
	taken := map[codeKey]takenCode{}
	for _, i := range l.u.imports {
		if i.side.bind == nil {
			continue
		}
		for _, p := range i.side.bind.Codes {
			k := codeKey{p.Space, p.Value}
			if old, dup := taken[k]; dup && old.unit != i.name {
				l.report(diag.New(diag.BindDuplicate, p.Pos, "%s %s has the number %d, which unit %s uses", p.Space, p.Const, p.Value, old.unit).
					With(old.at, "used here").Helpf("include only one of the units %s and %s", old.unit, i.name))
				continue
			}
			taken[k] = takenCode{p.Pos, i.name}
		}
	}
	for i := range l.bind.Codes {
		p := &l.bind.Codes[i]
		value, ok := l.codeNumber(p, p.Const)
		if !ok {
			continue
		}
		p.Value = value
		if p.Space == "flag" && bits.OnesCount32(value) != 1 {
			l.report(diag.New(diag.BindCode, p.Pos, "flag %s is %#x, expected a number with one bit", p.Const, value))
			continue
		}
		k := codeKey{p.Space, p.Value}
		switch old, dup := taken[k]; {
		case dup && old.unit != "":
			l.report(diag.New(diag.BindDuplicate, p.Pos, "%s %s has the number %d, which unit %s uses", p.Space, p.Const, p.Value, old.unit).
				With(old.at, "used here").Helpf("give %s a number that neither unit uses", p.Const))
		case dup:
			l.report(diag.New(diag.BindDuplicate, p.Pos, "second %s with the number %d", p.Space, p.Value).With(old.at, "the first is here"))
		}
		taken[k] = takenCode{at: p.Pos}
		l.codeFlags(p)
		if p.Type == "" {
			continue
		}
		t := l.resolve(l.u, p.Type, p.Pos, (*symbol).isType)
		if t == nil || !t.isType() {
			l.report(l.advice.suggest(l.u, diag.New(diag.BindUnknownName, p.Pos, "found no type %s", p.Type), p.Type, (*symbol).isType))
			continue
		}
		p.Decl = t.decl
	}
}

// codeNumber returns the value of a constant in the statement of code point p.
func (l *linker) codeNumber(p *ir.CodePoint, name string) (uint32, bool) {
	s := l.resolve(l.u, name, p.Pos, (*symbol).isConst)
	switch {
	case s == nil || !s.isConst():
		l.report(l.advice.suggest(l.u, diag.New(diag.BindUnknownName, p.Pos, "found no constant %s", name), name, (*symbol).isConst))
		return 0, false
	case s.value.Neg || s.value.Abs > math.MaxUint32:
		l.report(diag.New(diag.BindCode, p.Pos, "%s is %s, expected a value from 0 to 4294967295", name, show(s.value)).With(s.span, "declared here"))
		return 0, false
	}
	return uint32(s.value.Abs), true
}

// codeFlags resolves the flags that header type p may have
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2).
func (l *linker) codeFlags(p *ir.CodePoint) {
	for _, name := range p.Flags {
		value, ok := l.codeNumber(p, name)
		switch {
		case !ok:
		case bits.OnesCount32(value) != 1:
			l.report(diag.New(diag.BindCode, p.Pos, "flag %s is %#x, expected a number with one bit", name, value))
		case p.Mask&value != 0:
			l.report(diag.New(diag.BindDuplicate, p.Pos, "second flag %#x of %s", value, p.Const))
		default:
			p.Mask |= value
		}
	}
}
