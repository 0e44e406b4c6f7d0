package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// certainRepair reports a fault at token k for which the right repair is certain. It returns
// the repaired tokens, so that the rest of the definition is read as intended.
func certainRepair(s *scanner, toks []token, k int, expected string) (out []token, ok bool) {
	if k == 0 || k >= len(toks) {
		return nil, false
	}
	t, last := toks[k], toks[k-1]
	d := diag.New(diag.SyntaxError, t.span(s.f), "found %s, expected %s", diag.Quote(t.text), expected)
	after := s.span(last.end, last.end)
	switch {
	case t.is("=") && last.is("="), t.is(":") && tokenAt(toks, k+1).is("="):
		d.Message = "found " + diag.Quote(map[string]string{"=": "==", ":": ":="}[t.text]) + ", expected ="
		s.report(d.Helpf("write a single =").Replace(t.span(s.f), ""))
		return splice(toks, k, k+1), true
	case t.kind == tKeyword && !(t.is("switch") && toks[0].is("union")) && namePlace(toks, k, expected):
		d.Message = "found " + diag.Quote(t.text) + ", expected a name"
		s.report(d.Helpf("%s is a keyword: choose another name", t.text))
		return splice(toks, k, k+1, token{tIdent, t.start, t.end, t.text + "_"}), true
	case expected == ";" && t.kind == tNumber && !wholeNumber(t.text) && wordBefore(toks, k):
		d.Message = "found " + diag.Quote(t.text) + ", expected a name"
		s.report(d.Helpf("names begin with a letter or _"))
		return splice(toks, k, k+1, token{tIdent, t.start, t.end, "_" + t.text}), true
	case expected == ";" && t.is("=") && !toks[0].is("typedef") && tokenAt(toks, k+2).is(";"):
		d = d.Helpf("XDR has no default values: remove it")
		s.report(d.Replace(s.span(last.end, toks[k+1].end), ""))
		return splice(toks, k, k+2), true
	case parameters(toks, k) > 0:
		to := parameters(toks, k)
		d.Span, d.Message = s.span(toks[k-2].start, toks[to].end), "XDR has no types with parameters"
		s.report(d.Helpf("declare a struct for one item, and an array of it with < and >"))
		return splice(toks, k-2, to+1, token{tKeyword, toks[k-2].start, toks[to].end, "int"}), true
	case expected == ";" && t.is(":") && wordBefore(toks, k-1):
		s.report(d.Helpf("XDR has no bit-fields: declare an integer, and its bits as constants"))
		if width := tokenAt(toks, k+1); width.kind == tNumber || width.kind == tIdent {
			return splice(toks, k, k+2), true
		}
		return splice(toks, k, k+1), true
	case expected == ";" && t.is("quadruple") && last.is("unsigned"):
		d.Span, d.Message = s.span(last.start, t.end), "\"unsigned quadruple\" is not a type"
		s.report(d.Helpf("unsigned goes only with int and hyper; quadruple is a floating-point type"))
		return splice(toks, k-1, k), true
	case expected == "switch" && t.is("("):
		s.report(d.Helpf("write switch before the discriminant").Replace(s.span(t.start, t.start), "switch "))
		return splice(toks, k, k, token{tKeyword, t.start, t.start, "switch"}), true
	case expected == ":" && t.is(","):
		s.report(d.Helpf("write each value as a case of its own: case %s: case", last.text).Replace(t.span(s.f), ": case"))
		return splice(toks, k, k+1, token{tPunct, t.start, t.start, ":"}, token{tKeyword, t.start, t.end, "case"}), true
	case (expected == ">" && last.is("<") || expected == "]" && last.is("[")) && !t.is("]") && !t.is(">") && !t.is(";"):
		d.Message = "found " + diag.Quote(t.text) + ", expected a number or the name of a constant"
		s.report(d.Helpf("the bound of an array is a constant"))
		return splice(toks, k, k+1, token{tNumber, t.start, t.end, "1"}), true
	case t.is("=") && last.is(":"):
		return splice(toks, k-1, k), true // the : of :=, which was reported
	case t.is(";") && expected == "}" && toks[0].is("enum") && tokenAt(toks, k+1).is("}"):
		d = diag.New(diag.SyntaxError, t.span(s.f), "found \";\" after the last member, expected }")
		s.report(d.Helpf("remove it: members are separated by commas, and nothing follows the last one").Replace(t.span(s.f), ""))
		return splice(toks, k, k+1), true
	case t.is(";") && expected == "}" && toks[0].is("enum"):
		d = diag.New(diag.SyntaxError, t.span(s.f), "found \";\" after a member, expected ,")
		s.report(d.Helpf("separate members by commas").Replace(t.span(s.f), ","))
		return splice(toks, k, k+1, token{tPunct, t.start, t.end, ","}), true
	case t.kind == tIdent && (expected == "}" || expected == "case or default"):
		word, near := spelling.Nearest(t.text, []string{"case", "default"})
		if !near {
			return nil, false
		}
		s.report(d.Helpf("did you mean %s?", word))
		return splice(toks, k, k+1, token{tKeyword, t.start, t.end, word}), true
	case expected == ">" && t.is("]"), expected == "]" && t.is(">"):
		// No fix: the two forms have different encodings.
		s.report(d.Helpf("use < and > for a length of at most the bound, [ and ] for exactly that length"))
		return splice(toks, k, k+1, token{tPunct, t.start, t.end, expected}), true
	case expected == ":":
		return arm(s, toks, k), true
	case expected == ">", expected == "]", expected == ")", expected == "=" && t.kind == tNumber:
		d = diag.New(diag.SyntaxError, after, "expected %s after %s", expected, diag.Quote(last.text))
		s.report(d.Helpf("put a %s here", expected).Replace(after, expected))
		return splice(toks, k, k, token{tPunct, last.end, last.end, expected}), true
	}
	return nil, false
}

// arm reports that the : of a case or default is missing before token k, and returns the
// tokens with the :. Only before a declaration is the repair certain; otherwise the arm may be
// empty, or share the next one.
func arm(s *scanner, toks []token, k int) []token {
	t, last, next := toks[k], toks[k-1], tokenAt(toks, k+1)
	after := s.span(last.end, last.end)
	colon := token{tPunct, last.end, last.end, ":"}
	d := diag.New(diag.SyntaxError, after, "expected : after %s", diag.Quote(last.text))
	label := t.is("case") || t.is("default")
	if t.kind == tKeyword && !label || t.kind == tIdent && (next.kind == tIdent || next.is("*")) {
		s.report(d.Helpf("put a : here").Replace(after, ":"))
		return splice(toks, k, k, colon)
	}
	if !label && !t.is(";") {
		s.report(d.Helpf("put a : here, and a declaration after it"))
		return splice(toks, k, k, colon)
	}
	s.report(d.Helpf("write \": void;\" for an arm without data, or \":\" alone to share the next arm"))
	if label {
		return splice(toks, k, k, colon)
	}
	return splice(toks, k, k, colon, token{tKeyword, last.end, last.end, "void"})
}

// splice returns the tokens with those from i to j replaced.
func splice(toks []token, i, j int, with ...token) []token {
	out := append([]token(nil), toks[:i]...)
	return append(append(out, with...), toks[j:]...)
}

// namePlace reports whether the keyword at token k is in the place of a name: after a type or
// a keyword that declares, and before a token that can follow a name.
func namePlace(toks []token, k int, expected string) bool {
	next := tokenAt(toks, k+1)
	switch expected {
	case "a name":
		return next.is("{") || next.is("=") || next.is("switch") || next.is("(") || next.is("[") || next.is("<") || next.is(";") || next.is(",")
	case ";", ",", ")", "}":
		last := toks[k-1]
		typed := last.kind == tIdent || last.kind == tKeyword || last.is("*") || last.is("}")
		return typed && (next.is(";") || next.is("[") || next.is("<") || next.is(",") || next.is(")"))
	}
	return false
}

// wordBefore reports whether the token before token k may be a type of one word.
func wordBefore(toks []token, k int) bool {
	if k < 2 {
		return false
	}
	last, before := toks[k-1], toks[k-2]
	if last.kind == tKeyword {
		return !last.is("const") && !last.is("case")
	}
	return last.is("*") || last.kind == tIdent && (before.is("{") || before.is(";") || before.is(":") || before.kind == tKeyword)
}

// parameters returns the index of the > that ends type parameters, such as map<string, int> of
// other languages, if token k is the first parameter; else 0.
func parameters(toks []token, k int) int {
	if k < 2 || !toks[k-1].is("<") || toks[k].kind != tKeyword {
		return 0
	}
	for to := k; to < len(toks) && !toks[to].is(";"); to++ {
		if toks[to].is(">") {
			if tokenAt(toks, to+1).kind == tIdent {
				return to
			}
			break
		}
	}
	return 0
}

// wholeNumber reports whether a text is an integer of any size.
func wholeNumber(text string) bool {
	_, _, err := Number(text)
	return err == nil || strings.Contains(err.Error(), "out of range")
}

// extraSemicolon removes and reports a superfluous semicolon at token k, and reports whether
// there is one.
func extraSemicolon(s *scanner, toks []token, k int) ([]token, bool) {
	if k == 0 || k >= len(toks) || !toks[k].is(";") || !toks[k-1].is(";") && !toks[k-1].is("{") || toks[k].start == toks[k].end {
		return nil, false
	}
	at := toks[k].span(s.f)
	s.report(diag.New(diag.ExtraSemicolon, at, "second ; after a field").Replace(at, ""))
	return splice(toks, k, k+1), true
}
