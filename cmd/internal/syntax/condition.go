package syntax

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// open handles #if, #ifdef and #ifndef.
func (s *scanner) open(word, rest string, at source.Span) {
	c := cond{at: at, word: "#" + word, output: forOutput(rest)}
	switch {
	case !s.active():
		c.done = true
	case c.output && !s.outputGiven():
		c.on, c.every, c.done = true, true, s.holdsXDR(at.Start)
		s.unread = true
		s.conds = append(s.conds, c)
		return
	case word == "if":
		c.on = s.test(rest, at)
	default:
		name, more := splitWord(rest)
		if name == "" || more != "" {
			s.report(diag.New(diag.BadDirective, at, "found #%s %s, expected one name", word, diag.Quote(rest)))
		}
		_, defined := s.ctx.Macros[name]
		c.on = defined == (word == "ifdef")
	}
	c.done = c.done || c.on
	s.conds = append(s.conds, c)
}

// branch handles #elif, #else and #endif.
func (s *scanner) branch(word, rest string, at source.Span) {
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
			s.report(diag.New(diag.UnbalancedIf, at, "second #else").With(c.at, "of this line"))
		}
		c.elsed = true
		c.on = !c.done
	case "elif":
		if c.elsed {
			s.report(diag.New(diag.UnbalancedIf, at, "#elif after #else").With(c.at, "of this line"))
		}
		c.on = !c.done && (c.every && forOutput(rest) || s.test(rest, at))
	}
	if c.every && c.on {
		c.done = s.holdsXDR(at.Start)
		s.unread = true
		return
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
		s.report(diag.New(diag.BadDirective, at, "in the condition: %v", err))
		return false
	}
	return v != 0
}
