package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// open begins a level of #if.
func (s *scanner) open(word, rest string, at source.Span) {
	c := cond{at: at, word: "#" + word}
	for _, name := range ExprNames(rest) {
		c.output = c.output || isOutput(name)
	}
	if !s.active() {
		c.done = true
		s.conds = append(s.conds, c)
		return
	}
	switch word {
	case "if":
		c.on = s.test(rest, at)
	default:
		name, more := splitWord(rest)
		if name == "" || more != "" {
			s.report(diag.New(diag.BadDirective, at, "found #%s %s, expected one name", word, diag.Quote(rest)))
		}
		_, defined := s.ctx.Macros[name]
		c.on = defined == (word == "ifdef")
	}
	c.done = c.on
	s.conds = append(s.conds, c)
}

// isOutput reports whether rpcgen defines a name for one of its outputs only.
// None of them is defined here: what such an #if holds is nearly always C, and
// other lines are warned about. -D NAME takes the branch.
func isOutput(name string) bool {
	switch name {
	case "RPC_HDR", "RPC_XDR", "RPC_SVC", "RPC_CLNT", "RPC_TBL", "RPC_INTR":
		return true
	}
	return false
}

// leftOut warns of a line that an #if for one of rpcgen's outputs leaves out,
// unless it holds nothing of XDR.
func (s *scanner) leftOut(start, end int) {
	c := &s.conds[len(s.conds)-1]
	text := strings.TrimSpace(string(s.text[start:end]))
	if !c.output || c.told || text == "" || text[0] == '%' || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "//") {
		return
	}
	c.told = true
	at := s.span(start, start+len(text))
	s.report(diag.New(diag.OutputOnly, at, "lines for one of rpcgen's outputs are left out").With(c.at, "by this line"))
}

// turn handles #elif, #else and #endif.
func (s *scanner) turn(word, rest string, at source.Span) {
	if len(s.conds) == 0 {
		s.report(diag.New(diag.UnbalancedIf, at, "#%s without #if", word))
		return
	}
	c := &s.conds[len(s.conds)-1]
	switch word {
	case "endif":
		s.conds = s.conds[:len(s.conds)-1]
		return
	case "else":
		if c.elsed {
			s.report(diag.New(diag.UnbalancedIf, at, "second #else").With(c.at, "belongs to this"))
		}
		c.elsed = true
		c.on = !c.done
	case "elif":
		if c.elsed {
			s.report(diag.New(diag.UnbalancedIf, at, "#elif after #else").With(c.at, "belongs to this"))
		}
		c.on = !c.done && s.test(rest, at)
	}
	c.done = c.done || c.on
}

// test evaluates the condition of an #if. As in C, a name that is not defined
// is 0.
func (s *scanner) test(text string, at source.Span) bool {
	e := expr{
		rest: text,
		value: func(name string) (int64, error) {
			neg, abs, err := Number(s.ctx.Macros[name])
			switch {
			case err != nil:
				return 0, nil
			case neg:
				return -int64(abs), nil
			}
			return int64(abs), nil
		},
		defined: func(name string) bool { _, ok := s.ctx.Macros[name]; return ok },
	}
	v, err := e.all()
	if err != nil {
		s.report(diag.New(diag.BadDirective, at, "condition: %v", err))
		return false
	}
	return v != 0
}
