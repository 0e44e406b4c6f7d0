package syntax

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// open begins a level of #if.
func (s *scanner) open(word, rest string, at source.Span) {
	c := cond{at: at, word: "#" + word}
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

// test evaluates the condition of an #if: integers, names, defined, ==, !=, !,
// && and ||.
func (s *scanner) test(text string, at source.Span) bool {
	e := condParser{rest: text, macros: s.ctx.Macros}
	v := e.or(0)
	if e.err == nil && strings.TrimSpace(e.rest) != "" {
		e.fail("found %s, expected the end of the line", diag.Quote(strings.TrimSpace(e.rest)))
	}
	if e.err != nil {
		s.report(diag.New(diag.BadDirective, at, "condition: %v", e.err))
		return false
	}
	return v != 0
}

// maxCond limits how deep the parentheses of a condition go.
const maxCond = 64

type condParser struct {
	rest   string
	macros map[string]string
	err    error
}

func (e *condParser) fail(format string, args ...any) int64 {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	e.rest = ""
	return 0
}

func (e *condParser) take(op string) bool {
	e.rest = strings.TrimLeft(e.rest, " \t")
	rest, ok := strings.CutPrefix(e.rest, op)
	if ok {
		e.rest = rest
	}
	return ok
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (e *condParser) or(depth int) int64 {
	v := e.and(depth)
	for e.take("||") {
		w := e.and(depth)
		v = truth(v != 0 || w != 0)
	}
	return v
}

func (e *condParser) and(depth int) int64 {
	v := e.equal(depth)
	for e.take("&&") {
		w := e.equal(depth)
		v = truth(v != 0 && w != 0)
	}
	return v
}

func (e *condParser) equal(depth int) int64 {
	v := e.unary(depth)
	for {
		switch {
		case e.take("=="):
			v = truth(v == e.unary(depth))
		case e.take("!="):
			v = truth(v != e.unary(depth))
		default:
			return v
		}
	}
}

func (e *condParser) unary(depth int) int64 {
	if depth > maxCond {
		return e.fail("nested more than %d deep", maxCond)
	}
	switch {
	case e.take("!"):
		return truth(e.unary(depth+1) == 0)
	case e.take("("):
		v := e.or(depth + 1)
		if !e.take(")") {
			e.fail("found %s, expected )", diag.Quote(e.rest))
		}
		return v
	}
	if e.rest != "" && (isDigit(e.rest[0]) || e.rest[0] == '-') {
		sign := e.take("-")
		word, rest := splitWord(e.rest)
		_, abs, err := Number(word)
		if err != nil {
			return e.fail("found %s, expected an integer", diag.Quote(e.rest))
		}
		e.rest = rest
		if sign {
			return -int64(abs)
		}
		return int64(abs)
	}
	word, rest := splitWord(e.rest)
	if word == "" {
		return e.fail("found %s, expected a name or an integer", diag.Quote(e.rest))
	}
	e.rest = rest
	if word == "defined" {
		paren := e.take("(")
		name, rest := splitWord(e.rest)
		e.rest = rest
		if name == "" || paren && !e.take(")") {
			return e.fail("found defined without a name")
		}
		_, ok := e.macros[name]
		return truth(ok)
	}
	// As in C, a name that is not defined is 0.
	neg, abs, err := Number(e.macros[word])
	if err != nil {
		return 0
	}
	if neg {
		return -int64(abs)
	}
	return int64(abs)
}
