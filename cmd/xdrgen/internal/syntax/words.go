package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

// letterAt returns the width of the letter at an offset that is none of ASCII;
// 0 where there is no such letter.
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

// name lexes a name or a word of the language. Letters that are none of ASCII
// are told once a name, and kept, so that its uses are the same name.
func (s *scanner) name() {
	start, odd := s.pos, 0
	for s.pos < len(s.text) {
		n := 1
		if !isWord(s.text[s.pos]) {
			if n = s.letterAt(s.pos); n == 0 {
				break
			}
			if odd == 0 {
				odd = s.pos
			}
		}
		s.pos += n
	}
	w := string(s.text[start:s.pos])
	if strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) && !s.odd[w] {
		s.told(w)
		if odd == 0 {
			odd = start
		}
		r, n := utf8.DecodeRune(s.text[odd:])
		s.report(diag.New(diag.BadCharacter, s.span(odd, odd+n), "name %s holds the letter %s", w, string(r)).
			Helpf("use the letters a to z and A to Z, digits and _ in names"))
	}
	kind := tIdent
	if isKeyword(w) {
		kind = tKeyword
	}
	s.toks = append(s.toks, token{kind, start, s.pos, w})
}

func (s *scanner) told(name string) {
	if s.odd == nil {
		s.odd = map[string]bool{}
	}
	s.odd[name] = true
}

// joinNames makes one name of a-b, which other languages have, and reports the
// operators that stand where no value does.
func (s *scanner) joinNames(toks []token) []token {
	out := toks[:0]
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if last := len(out) - 1; last >= 0 && out[last].kind == tIdent && out[last].end == t.start && t.text[0] == '-' && t.kind != tString {
			if end := i + 1; t.kind == tNumber || end < len(toks) && toks[end].kind == tIdent && toks[end].start == t.end {
				if t.kind != tNumber {
					t, i = toks[end], end
				}
				name := s.span(out[last].start, t.end)
				if w := name.Text(); !s.odd[w] {
					s.told(w)
					s.report(diag.New(diag.BadCharacter, s.span(out[last].end, out[last].end+1), "name %s holds -", w).
						Helpf("write %s", strings.ReplaceAll(w, "-", "_")).Replace(s.span(out[last].end, out[last].end+1), "_"))
				}
				out[last] = token{tIdent, name.Start, name.End, out[last].text + "_" + strings.TrimPrefix(t.text, "-")}
				continue
			}
		}
		if t.kind == tPunct && isOperator(t.text[0]) {
			s.report(diag.New(diag.BadCharacter, s.span(t.start, t.end), "character '%s' is not part of XDR", t.text))
			continue
		}
		out = append(out, t)
	}
	return out
}
