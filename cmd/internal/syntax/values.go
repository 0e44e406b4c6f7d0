package syntax

import (
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// isOperator reports whether a character is an operator of C that XDR does not use as
// punctuation.
func isOperator(c byte) bool { return strings.IndexByte("+-/&|^~%", c) >= 0 }

// number lexes a number of XDR, or of another language: with a fraction, or with ' between its
// digits.
func (s *scanner) number() {
	start := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos]
		if !isWord(c) && !((c == '.' || c == '\'') && isWord(s.peek(1)) && isWord(s.text[s.pos-1])) {
			break
		}
	}
	s.toks = append(s.toks, token{tNumber, start, s.pos, string(s.text[start:s.pos])})
}

// character lexes a character constant of C, and reports whether there is one.
func (s *scanner) character() bool {
	rest := s.text[s.pos:]
	n := 3
	if len(rest) > 1 && rest[1] == '\\' {
		n = 4
	}
	if len(rest) < n || rest[n-1] != '\'' || rest[n-2] < ' ' || rest[n-2] > '~' || n == 3 && rest[1] == '\'' {
		return false
	}
	s.toks = append(s.toks, token{tNumber, s.pos, s.pos + n, string(rest[:n])})
	s.pos += n
	return true
}

// foreignNumber converts a number of another language, such as 1'000, 1_000, 10u, 0b11 or 'a', to
// one of XDR.
func foreignNumber(text string) (plain string, ok bool) {
	if len(text) > 2 && text[0] == '\'' {
		code, ok := characterValue(text[1 : len(text)-1])
		return strconv.Itoa(code), ok
	}
	digits := strings.NewReplacer("'", "", "_", "").Replace(text)
	if bits, binary := strings.CutPrefix(strings.ToLower(digits), "0b"); binary {
		n, err := strconv.ParseUint(bits, 2, 64)
		return strconv.FormatUint(n, 10), err == nil
	}
	plain = strings.TrimRight(digits, "uUlL")
	_, _, err := Number(plain)
	return plain, err == nil
}

// plainNumber returns the text of a token in an expression, in a form that Eval accepts.
func plainNumber(t token) string {
	if t.kind != tNumber {
		return t.text
	}
	if _, _, err := Number(t.text); err != nil {
		if plain, ok := foreignNumber(t.text); ok {
			return plain
		}
	}
	return t.text
}

// characterValue returns the code of the character between the quotes.
func characterValue(text string) (int, bool) {
	if len(text) == 1 {
		return int(text[0]), true
	}
	const escapes = "0abtnvfr\\'\"?"
	i := strings.IndexByte(escapes, text[1])
	return []int{0, 7, 8, 9, 10, 11, 12, 13, '\\', '\'', '"', '?'}[max(i, 0)], i >= 0
}

// joinValues joins the tokens of each expression in place of a number or name into one token.
func (s *scanner) joinValues(toks []token) []token {
	out := make([]token, 0, len(toks))
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		out = append(out, t)
		opens := t.kind == tPunct && strings.Contains("=[<", t.text)
		if !opens && !t.is("case") {
			continue
		}
		e := expression{toks: toks, i: i + 1, angle: t.is("<")}
		if !e.binary(0) || e.i <= i+2 {
			continue
		}
		var text []string
		for _, x := range toks[i+1 : e.i] {
			if n := len(text); n > 0 && (x.is("<") || x.is(">")) && text[n-1] == x.text {
				text[n-1] += x.text // a shift
				continue
			}
			text = append(text, plainNumber(x))
		}
		out = append(out, token{tExpr, toks[i+1].start, toks[e.i-1].end, strings.Join(text, " ")})
		i = e.i - 1
	}
	return out
}

// dropScopes removes and reports the names of namespaces before ::, since a file has one scope.
func (s *scanner) dropScopes(toks []token) []token {
	out := toks[:0]
	for i, t := range toks {
		if !t.is("::") || i+1 == len(toks) || toks[i+1].kind != tIdent {
			out = append(out, t)
			continue
		}
		from, scope := t.start, "::"
		if n := len(out); n > 0 && out[n-1].kind == tIdent && !out[n-1].is("namespace") {
			from, scope = out[n-1].start, out[n-1].text+"::"
			out = out[:n-1]
		}
		if !s.reported[scope] && !(len(out) > 0 && out[len(out)-1].is("namespace")) {
			s.markReported(scope)
			s.report(diag.New(diag.Pragma, s.span(from, t.end), "%s is ignored", scope))
		}
	}
	return out
}

// dropMarks removes and reports the annotations of ocamlnet: _prefix and others before a
// string, _unboxed and others within a number type.
func (s *scanner) dropMarks(toks []token) []token {
	out := toks[:0]
	for i := 0; i < len(toks); i++ {
		t, next := toks[i], tokenAt(toks, i+1)
		n := 0
		switch {
		case t.kind != tIdent:
		case (t.is("_prefix") || t.is("_equals") || t.is("_abstract")) && next.kind == tString:
			n = 2
		case t.is("_tuple") && next.is("{"):
			n = 1
		case t.is("_unboxed") || t.is("_int") || t.is("_int32") || t.is("_int64"):
			last := token{}
			if len(out) > 0 {
				last = out[len(out)-1]
			}
			after := last.is("unsigned") || last.is("int") || last.is("hyper")
			if next.is("unsigned") || next.is("int") || next.is("hyper") || after && next.kind == tIdent {
				n = 1
			}
		}
		if n == 0 {
			out = append(out, t)
			continue
		}
		if !s.reported[t.text] {
			s.markReported(t.text)
			at := s.span(t.start, toks[i+n-1].end)
			s.report(diag.New(diag.Pragma, at, "%s is ignored", t.text).Replace(at, ""))
		}
		i += n - 1
	}
	return out
}

// expression finds the end of an expression.
type expression struct {
	toks  []token
	i     int
	angle bool // the expression is between < and >
}

func (e *expression) at(n int) token {
	if e.i+n < len(e.toks) {
		return e.toks[e.i+n]
	}
	return token{}
}

// binary skips operands with operators between them, and reports whether there is one.
func (e *expression) binary(depth int) bool {
	if !e.operand(depth) {
		return false
	}
	for {
		n := e.operator()
		if n < 0 {
			return true
		}
		before := e.i
		e.i += n
		if !e.operand(depth) {
			e.i = before
			return true
		}
	}
}

// operator returns the number of tokens in the next operator, or -1 if no operator follows.
func (e *expression) operator() int {
	t, next := e.at(0), e.at(1)
	switch {
	case t.kind == tNumber && t.text[0] == '-':
		return 0 // 2-1: the sign is the operator
	case t.kind != tPunct:
	case t.is("*"), t.text != "~" && isOperator(t.text[0]):
		return 1
	case (t.is("<") || t.is(">") && !e.angle) && next.is(t.text) && next.start == t.end:
		return 2
	}
	return -1
}

func (e *expression) operand(depth int) bool {
	t := e.at(0)
	switch {
	case depth > maxDepth:
		return false
	case t.kind == tNumber, t.kind == tIdent:
		e.i++
		return true
	case t.is("-"), t.is("+"), t.is("~"):
		e.i++
		return e.operand(depth + 1)
	case t.is("("):
		e.i++
		if !e.binary(depth+1) || !e.at(0).is(")") {
			return false
		}
		e.i++
		return true
	}
	return false
}
