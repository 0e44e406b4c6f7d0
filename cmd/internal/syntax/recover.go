package syntax

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// skip skips to the end of a definition whose braces do not match.
func (p *splitter) skip(depth int) {
	p.i++
	p.toEnd(depth, func(depth int) bool {
		return p.startsDef(p.i) && (p.column(p.i) == 1 || depth == 0) && p.restarts(p.i, 1)
	})
}

// lacksBrace reports whether the tokens so far are the head of a body whose { is missing, and
// returns the head.
func (p *splitter) lacksBrace(out []token, depth int, typedef bool) (head string, ok bool) {
	t := p.toks[p.i]
	if typedef || len(out) < 2 || t.is("{") || t.is(";") {
		return "", false
	}
	last := out[len(out)-1]
	switch {
	case depth == 0 && len(out) == 2 && (out[0].is("struct") || out[0].is("enum") || out[0].is("program")):
		head = out[0].text + " " + last.text
	case depth == 0 && out[0].is("union") && last.is(")"):
		head = "union " + out[1].text
	case depth == 1 && out[0].is("program") && out[len(out)-2].is("version") && last.kind == tIdent:
		head = "version " + last.text
	case depth > 0 && (out[len(out)-2].is("struct") || out[len(out)-2].is("enum")) && last.kind == tIdent && t.kind == tKeyword:
		return out[len(out)-2].text + " " + last.text, p.unmatched(depth, p.startsDef)
	default:
		return "", false
	}
	return head, p.closesBelow()
}

// unmatched reports whether a } without a matching { comes next, before a token outside braces
// for which stop returns true. depth is the number of open braces.
func (p *splitter) unmatched(depth int, stop func(i int) bool) bool {
	for i := p.i; i < min(len(p.toks), p.i+maxLook); i++ {
		switch {
		case p.toks[i].is("{"):
			depth++
		case p.toks[i].is("}"):
			if depth--; depth < 0 {
				return true
			}
		case depth == 0 && stop(i):
			return false
		}
	}
	return false
}

// closesBelow reports whether an unmatched } comes before the next definition.
func (p *splitter) closesBelow() bool {
	left := p.column(p.i) - 1
	return p.unmatched(0, func(i int) bool { return i > p.i && p.restarts(i, left) })
}

// nested reports whether the const or typedef that comes next lies inside the open braces: it
// is further right than the definition that they belong to, and they are closed below.
func (p *splitter) nested(column int) bool {
	t := p.toks[p.i]
	if !t.is("const") && !t.is("typedef") || p.column(p.i) <= column {
		return false
	}
	return p.unmatched(0, func(i int) bool { return i > p.i && p.column(i) <= column && p.startsDef(i) })
}

// hoist reports a definition inside another one, and keeps it to be parsed on its own.
func (p *splitter) hoist(outer token) {
	t := p.toks[p.i]
	p.report(diag.New(diag.SyntaxError, t.span(p.f), "found %s inside a %s, expected its fields", diag.Quote(t.text), outer.text).
		Helpf("put the %s before the %s", t.text, outer.text))
	first, closed := p.i, false
	p.toEnd(0, func(depth int) bool {
		closed = depth < 0
		return closed
	})
	if !closed { // it ends before the outer one
		p.inner = append(p.inner, slices.Clone(p.toks[first:p.i]))
	}
	p.i-- // the caller goes to the next token
}

// wrongBracket reports a body in parentheses or square brackets, and replaces them by braces.
// It returns the opening brace, and whether it found such a body.
func (p *splitter) wrongBracket(out []token, depth int) (token, bool) {
	t := p.toks[p.i]
	if depth > 0 || len(out) != 2 || !out[0].is("struct") && !out[0].is("enum") || !t.is("(") && !t.is("[") {
		return token{}, false
	}
	closing := map[string]string{"(": ")", "[": "]"}[t.text]
	level := 0
	for i := p.i; i < min(len(p.toks), p.i+maxLook); i++ {
		switch x := p.toks[i]; {
		case x.is(t.text):
			level++
		case x.is(closing):
			level--
		}
		if level > 0 {
			continue
		}
		p.report(diag.New(diag.SyntaxError, t.span(p.f), "found %s, expected {", diag.Quote(t.text)).With(p.toks[i].span(p.f), "and } here").
			Helpf("write the body of %s %s in braces", out[0].text, out[1].text).
			Replace(t.span(p.f), "{").Replace(p.toks[i].span(p.f), "}"))
		p.toks[p.i].text, p.toks[i].text = "{", "}"
		return p.toks[p.i], true
	}
	return token{}, false
}

// constField reports const before a field, as in C, and whether there is one.
func (p *splitter) constField() bool {
	t, next := p.toks[p.i], p.at(p.i+1)
	for i := p.i + 1; !p.at(i).is(";"); i++ {
		if p.at(i).is("=") || i == len(p.toks) || i > p.i+maxField {
			return false
		}
	}
	p.report(diag.New(diag.SyntaxError, t.span(p.f), "found \"const\", expected a type").
		Helpf("remove it: an XDR field has only a type and a name").Replace(source.Span{File: p.f, Start: t.start, End: next.start}, ""))
	return true
}

// maxField limits how many tokens constField looks ahead.
const maxField = 8

// wordAsName reports a keyword in place of a definition's name, and returns it as a name. If the
// keyword is only repeated and the name follows, it returns an empty token.
func (p *splitter) wordAsName(first, t token) token {
	at := t.span(p.f)
	d := diag.New(diag.SyntaxError, at, "found %s, expected a name", diag.Quote(t.text))
	if next := p.at(p.i + 1); next.kind == tIdent {
		if t.text != first.text {
			return t // another definition begins here
		}
		p.report(d.Helpf("write %s once", t.text).Replace(source.Span{File: p.f, Start: t.start, End: next.start}, ""))
		return token{}
	}
	p.report(d.Helpf("%s is a keyword: choose another name", t.text))
	t.kind, t.text = tIdent, t.text+"_"
	p.toks[p.i] = t
	return t
}
