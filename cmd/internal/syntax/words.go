package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// letterAt returns the width of the letter outside ASCII at an offset, or 0 if there is no such
// letter.
func (s *scanner) letterAt(pos int) int {
	if pos >= len(s.text) || s.text[pos] < utf8.RuneSelf {
		return 0
	}
	r, n := utf8.DecodeRune(s.text[pos:])
	if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsMark(r) {
		return 0
	}
	return n
}

// notUTF8 reports whether the byte at an offset begins no character of UTF-8.
func (s *scanner) notUTF8(pos int) bool {
	r, n := utf8.DecodeRune(s.text[pos:])
	return r == utf8.RuneError && n == 1
}

// beginsName reports whether bytes at an offset that are not UTF-8 are the first letters of a name:
// it follows a type, or the * of a pointer, and the letters after it are not a keyword.
func (s *scanner) beginsName(pos int) bool {
	if len(s.toks) == 0 || !s.notUTF8(pos) {
		return false
	}
	if before := s.toks[len(s.toks)-1]; before.kind == tPunct && before.text != "*" {
		return false
	}
	for pos < len(s.text) && s.text[pos] >= utf8.RuneSelf && s.notUTF8(pos) {
		pos++
	}
	end := pos
	for end < len(s.text) && isWord(s.text[end]) {
		end++
	}
	return !isKeyword(string(s.text[pos:end]))
}

// name lexes a name or a keyword. A name with letters outside ASCII is reported once, and
// kept as it is, so that its uses refer to the same name.
func (s *scanner) name() {
	start, odd := s.pos, 0
	for s.pos < len(s.text) {
		n := 1
		if !isWord(s.text[s.pos]) {
			if n = s.letterAt(s.pos); n == 0 && s.notUTF8(s.pos) {
				n = 1 // a letter of Latin-1, or of another encoding
			}
			if n == 0 {
				break
			}
			if odd == 0 {
				odd = s.pos
			}
		}
		s.pos += n
	}
	w := string(s.text[start:s.pos])
	if strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) && !s.reported[w] {
		s.markReported(w)
		if odd == 0 {
			odd = start
		}
		const help = "use only the letters a to z and A to Z, digits and _ in names"
		if r, n := utf8.DecodeRune(s.text[odd:]); s.notUTF8(odd) {
			s.report(diag.New(diag.BadCharacter, s.span(odd, odd+1), "a name contains the byte 0x%02x, which is not UTF-8", s.text[odd]).Helpf(help))
		} else {
			s.report(diag.New(diag.BadCharacter, s.span(odd, odd+n), "name %s contains the letter %s", w, string(r)).Helpf(help))
		}
	}
	kind := tIdent
	if isKeyword(w) {
		kind = tKeyword
	}
	s.toks = append(s.toks, token{kind, start, s.pos, w})
}

// markReported records that a name was reported.
func (s *scanner) markReported(name string) {
	if s.reported == nil {
		s.reported = map[string]bool{}
	}
	s.reported[name] = true
}

// joinNames joins the tokens of names such as a-b, which other languages allow, into one
// token, and reports operators outside values.
func (s *scanner) joinNames(toks []token) []token {
	out := toks[:0]
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		n := hyphenated(toks[i:])
		switch {
		case n > 1:
			t.end = toks[i+n-1].end
			t.text = strings.ReplaceAll(s.span(t.start, t.end).Text(), "-", "_")
			if !s.reported[t.text] {
				s.markReported(t.text)
				sign := s.span(toks[i].end, toks[i].end+1)
				s.report(diag.New(diag.BadCharacter, sign, "name %s contains -", s.span(t.start, t.end).Text()).
					Helpf("write %s", t.text).Replace(sign, "_"))
			}
			i += n - 1
		case t.kind == tPunct && isOperator(t.text[0]):
			s.report(diag.New(diag.BadCharacter, s.span(t.start, t.end), "character '%s' is not part of XDR", t.text))
			continue
		}
		out = append(out, t)
	}
	return out
}

// hyphenated returns the number of tokens in the name at the start of toks: 1 if no - follows it.
func hyphenated(toks []token) int {
	if toks[0].kind != tIdent {
		return 1
	}
	n := 1
	for n < len(toks) && toks[n].start == toks[n-1].end {
		switch next := tokenAt(toks, n+1); {
		case toks[n].kind == tNumber && toks[n].text[0] == '-':
			n++
		case toks[n].is("-") && next.kind == tIdent && next.start == toks[n].end:
			n += 2
		default:
			return n
		}
	}
	return n
}

// nameBool turns the keyword in "enum bool {" into a name. Such a definition repeats the one
// of RFC 4506 §4.4; sema compares the two.
func nameBool(toks []token) {
	for i := range toks {
		if toks[i].is("bool") && i > 0 && toks[i-1].is("enum") && tokenAt(toks, i+1).is("{") {
			toks[i].kind = tIdent
		}
	}
}
