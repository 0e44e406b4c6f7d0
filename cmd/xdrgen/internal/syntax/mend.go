package syntax

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

// mend reports a fault at token k whose repair leaves no doubt, and returns the
// tokens repaired, so that the rest of the definition is read as it is meant.
func mend(s *scanner, toks []token, k int, expected string) (out []token, ok bool) {
	if k == 0 || k >= len(toks) {
		return nil, false
	}
	t, last := toks[k], toks[k-1]
	d := diag.New(diag.SyntaxError, t.span(s.f), "found %s, expected %s", diag.Quote(t.text), expected)
	after := s.span(last.end, last.end)
	switch {
	case t.is("=") && last.is("="), t.is(":") && k+1 < len(toks) && toks[k+1].is("="):
		s.report(d.Helpf("write one = alone").Replace(t.span(s.f), ""))
		return splice(toks, k, k+1), true
	case t.is("=") && last.is(":"):
		return splice(toks, k-1, k), true // after :=, reported
	case t.is(";") && expected == "}" && toks[0].is("enum"):
		d = diag.New(diag.SyntaxError, t.span(s.f), "found \";\" after a member, expected ,")
		s.report(d.Helpf("put a , between members, and nothing after the last").Replace(t.span(s.f), ","))
		return splice(toks, k, k+1, token{tPunct, t.start, t.end, ","}), true
	case t.kind == tIdent && (expected == "}" || expected == "case or default"):
		word, near := diag.Nearest(t.text, []string{"case", "default"})
		if !near {
			return nil, false
		}
		s.report(d.Helpf("did you mean %s?", word))
		return splice(toks, k, k+1, token{tKeyword, t.start, t.end, word}), true
	case expected == ">" && t.is("]"), expected == "]" && t.is(">"):
		s.report(d.Helpf("close with %s what was opened so", expected).Replace(t.span(s.f), expected))
		return splice(toks, k, k+1, token{tPunct, t.start, t.end, expected}), true
	case expected == ":", expected == ">", expected == "]", expected == ")", expected == "=" && t.kind == tNumber:
		d = diag.New(diag.SyntaxError, after, "expected %s after %s", expected, diag.Quote(last.text))
		s.report(d.Helpf("put a %s here", expected).Replace(after, expected))
		return splice(toks, k, k, token{tPunct, last.end, last.end, expected}), true
	}
	return nil, false
}

// splice returns tokens with those from i to j replaced.
func splice(toks []token, i, j int, with ...token) []token {
	out := append([]token(nil), toks[:i]...)
	return append(append(out, with...), toks[j:]...)
}
