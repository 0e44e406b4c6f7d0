package syntax

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Context is the state that the files of a unit share while they are parsed.
type Context struct {
	Macros  map[string]string                 // from -D and #define; Parse adds to it
	Include func(name string, at source.Span) // called for each #include "name"; may call Parse
	Report  func(diag.Diagnostic)
	Every   bool // report every // comment, not only the first of a file
}

// scanner is the lexer of one file.
type scanner struct {
	f     *source.File
	text  []byte
	pos   int
	ctx   *Context
	toks  []token
	notes notes
	defs  []*Def // from #define lines
	conds []cond

	percent []source.Span
	cdefs   []*Def // from %#define lines
	headers []Header

	fresh     bool            // only blanks since the start of the line
	slashSeen bool            // a // comment was reported
	reported  map[string]bool // invalid names that were reported

	branches map[int]bool // directives whose branches contain XDR; nil until holdsXDR is called
	unread   bool         // a branch for one output of rpcgen was opened after the last token
	unclosed bool         // an unterminated comment takes up the rest of the file
}

func (s *scanner) report(d diag.Diagnostic) { s.ctx.Report(d) }

func (s *scanner) span(start, end int) source.Span {
	return source.Span{File: s.f, Start: start, End: end}
}

// begin moves to the start of the text, after a byte order mark.
func (s *scanner) begin() {
	s.fresh = true
	if strings.HasPrefix(string(s.text[:min(3, len(s.text))]), "\ufeff") {
		s.pos = 3
	}
}

// scan lexes the whole file.
func (s *scanner) scan() {
	s.begin()
	for s.pos < len(s.text) {
		if !s.active() {
			s.skipLine()
			continue
		}
		s.next()
	}
	for _, c := range s.conds {
		s.report(diag.New(diag.UnbalancedIf, c.at, "%s without #endif", c.word))
	}
	nameBool(s.toks)
	s.toks = s.joinNames(s.joinValues(s.dropMarks(s.dropScopes(s.splitSpaces(s.toks)))))
}

// dosEnd is the end-of-file byte of DOS text files. Only dosBlanks may follow it.
const (
	dosEnd    = 0x1a
	dosBlanks = "\x1a \t\r\n\f\v"
)

// next lexes one token, comment, or line for C.
func (s *scanner) next() {
	c := s.text[s.pos]
	start := s.pos
	switch {
	case c == '\n':
		s.fresh = true
		s.pos++
		return
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		s.pos++
		return
	case c == dosEnd && len(bytes.Trim(s.text[start:], dosBlanks)) == 0:
		s.pos = len(s.text)
		return
	case s.fresh && pageBreak(s):
		return
	case c == '%' && s.fresh:
		s.pos = lineEnd(s.text, start)
		s.percentLine(start, s.pos)
		return
	case c == '#' && s.fresh:
		s.directive()
		return
	case c == '/' && s.peek(1) == '*':
		s.blockComment()
		return
	case c == '*' && s.peek(1) == '/' && s.peek(2) != '*': // "*/*" is a star and a comment
		s.strayEnd()
		return
	case c == '/' && s.peek(1) == '/':
		s.pos = endOfLine(s.text, start)
		s.notes.all = append(s.notes.all, comment{start, s.pos})
		if !s.slashSeen || s.ctx.Every {
			s.slashSeen = true
			s.report(s.lineComment(start, s.pos))
		}
		return
	}
	s.fresh = false
	s.readForAll(start)
	switch {
	case isLetter(c), s.letterAt(s.pos) > 0, s.beginsName(s.pos):
		s.name()
	case isDigit(c) || c == '-' && isDigit(s.peek(1)):
		s.number()
	case c == '"':
		s.quoted()
	case c == '\'' && s.character():
	case c == ':' && s.peek(1) == ':':
		s.pos += 2
		s.toks = append(s.toks, token{tPunct, start, s.pos, "::"})
	case strings.IndexByte("{}()[]<>;:,=*", c) >= 0, isOperator(c):
		s.pos++
		s.toks = append(s.toks, token{tPunct, start, s.pos, string(c)})
	default:
		s.badCharacter()
	}
}

// badCharacter reports a character that is not part of XDR, and skips it with its
// repetitions. A run of bytes that are not UTF-8 is one fault.
func (s *scanner) badCharacter() {
	start := s.pos
	r, n := utf8.DecodeRune(s.text[s.pos:])
	if r == utf8.RuneError && n == 1 {
		for s.pos < len(s.text) && (s.text[s.pos] >= 0x80 || s.text[s.pos] < ' ' && s.text[s.pos] != '\n') {
			s.pos++
		}
		s.pos = max(s.pos, start+1)
		s.report(diag.New(diag.BadCharacter, s.span(start, s.pos), "byte 0x%02x is not part of XDR", s.text[start]))
		return
	}
	for s.pos < len(s.text) {
		q, k := utf8.DecodeRune(s.text[s.pos:])
		if q != r {
			break
		}
		s.pos += k
	}
	if s.pos-start > 1 && r == '.' && len(s.toks) > 0 && s.toks[len(s.toks)-1].end == start && isDigit(s.peek(0)) {
		for isDigit(s.peek(0)) {
			s.pos++
		}
		s.report(diag.New(diag.BadCharacter, s.span(start, s.pos), "%s after a number is not part of XDR", s.text[start:s.pos]).
			Helpf("XDR has no ranges: write each value, in a union with a case for each"))
		return
	}
	if s.pos-start > 1 && r == '.' {
		s.report(diag.New(diag.BadCharacter, s.span(start, s.pos), "%s is not part of XDR", s.text[start:s.pos]).
			Helpf("write what the dots stand for"))
		if c := s.peek(0); c == ',' || c == ';' { // it belongs to the omitted text
			s.pos++
		}
		return
	}
	d := diag.New(diag.BadCharacter, s.span(start, s.pos), "character %s is not part of XDR", strconv.QuoteRune(r))
	c, ok := lookalikes[r]
	switch {
	case ok && c == ' ':
		d = d.Helpf("write a space").Replace(d.Span, " ")
	case ok:
		d = d.Helpf("write %c", c).Replace(d.Span, string(c))
	case r == '?':
		d = d.Helpf("remove it; for data that may be absent, write a * before the name, as in int *a")
	}
	if ok && strings.IndexByte("{}()[]<>;:,=*", c) >= 0 { // it counts as c: nothing else is missing
		s.toks = append(s.toks, token{tPunct, start, s.pos, string(c)})
	}
	s.report(d)
}

// lookalikes are characters that word processors and keyboards write in place of ASCII.
var lookalikes = map[rune]byte{
	'“': '"', '”': '"', '„': '"', '‘': '\'', '’': '\'', '–': '-', '—': '-', '−': '-', '‐': '-', '‑': '-', '×': '*', '∗': '*', '‹': '<', '›': '>',
	'；': ';', '，': ',', '：': ':', '（': '(', '）': ')', '｛': '{', '｝': '}', '［': '[', '］': ']', '＜': '<', '＞': '>', '＝': '=', '＊': '*',
	'\u00a0': ' ', '\u2007': ' ', '\u2009': ' ', '\u202f': ' ', '\u3000': ' ',
}

// blockComment lexes a comment between /* and */.
func (s *scanner) blockComment() {
	start := s.pos
	if i := bytes.Index(s.text[start+2:], []byte("*/")); i >= 0 {
		s.pos = start + 2 + i + 2
		s.notes.all = append(s.notes.all, comment{start, s.pos})
		return
	}
	s.report(diag.New(diag.UnclosedComment, s.span(start, start+2), "comment is not terminated"))
	s.unclosed = true
	s.pos = len(s.text)
}

// lineComment returns the finding on a // comment.
func (s *scanner) lineComment(start, end int) diag.Diagnostic {
	d := diag.New(diag.LineComment, s.span(start, end), "comments that begin with // are not part of XDR")
	text := strings.TrimRight(string(s.text[start+2:end]), " \t\r")
	if strings.Contains(text, "*/") {
		return d // it cannot become a /* comment
	}
	return d.Replace(s.span(start, start+2+len(text)), "/*"+text+" */")
}

// strayEnd reports a */ outside a comment. If an earlier comment contains a second /*, the
// two were meant to nest, and the tokens between them are removed.
func (s *scanner) strayEnd() {
	start := s.pos
	s.pos += 2
	if n := len(s.notes.all); n > 0 {
		c := s.notes.all[n-1]
		for i := n - 1; i >= 0 && i > n-8; i-- {
			c = s.notes.all[i]
			inner := bytes.Index(s.text[c.start+2:c.end], []byte("/*"))
			if inner < 0 {
				continue
			}
			for len(s.toks) > 0 && s.toks[len(s.toks)-1].start >= c.end {
				s.toks = s.toks[:len(s.toks)-1]
			}
			inner += c.start + 2
			s.report(diag.New(diag.UnclosedComment, s.span(inner, inner+2), "comments do not nest: this one ended at its first */").
				With(s.span(start, s.pos), "and not here").Helpf("remove the /* or the */ within it"))
			return
		}
	}
	s.report(diag.New(diag.UnclosedComment, s.span(start, s.pos), "*/ outside a comment").Helpf("remove it, or put /* where the comment begins"))
}

// quoted lexes a string.
func (s *scanner) quoted() {
	start := s.pos
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '\n'; s.pos++ {
		if s.text[s.pos] == '"' {
			s.pos++
			s.toks = append(s.toks, token{tString, start, s.pos, string(s.text[start:s.pos])})
			return
		}
	}
	s.report(diag.New(diag.BadCharacter, s.span(start, start+1), "string is not terminated"))
	if i := bytes.IndexByte(s.text[start:s.pos], ';'); i > 0 {
		s.pos = start + i
	}
	s.toks = append(s.toks, token{tString, start, s.pos, string(s.text[start:s.pos])})
}

// peek returns the byte n places ahead, or 0 at the end of the file.
func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

// endOfLine returns the offset of the next newline from pos on, or len(text) if there is no
// newline.
func endOfLine(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

// lineEnd is endOfLine for a line that continues after a backslash, as in the preprocessor.
func lineEnd(text []byte, pos int) int {
	for {
		end := endOfLine(text, pos)
		if end == len(text) || !strings.HasSuffix(strings.TrimSuffix(string(text[pos:end]), "\r"), `\`) {
			return end
		}
		pos = end + 1
	}
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) }

// Number parses a constant (RFC 4506 §6.2): decimal, hexadecimal with 0x, or octal with 0,
// each with an optional minus sign.
func Number(text string) (neg bool, abs uint64, err error) {
	digits, neg := strings.CutPrefix(text, "-")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	abs, err = strconv.ParseUint(digits, base, 64)
	return neg && abs != 0, abs, err
}
