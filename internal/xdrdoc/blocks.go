package xdrdoc

import (
	"fmt"
	"regexp"
	"strings"
)

// Patterns that distinguish the beginning of a definition (RFC 4506 §6.3, RFC 5531 §12.2) from
// prose. blockHere matches a line that is a beginning by itself, the others one that is a beginning
// if the next line opens with a brace, a parenthesis or "switch". A constant need not have its
// equals sign, a struct's name may have a star, and a union may lack its switch: documents have
// these faults, and the erratum needs the line.
var (
	blockHere = regexp.MustCompile(`^[ \t]*(?:` +
		`(?:struct|enum|program)[ \t]+\*?[A-Za-z_]\w*[ \t]*\{` +
		`|union[ \t]+[A-Za-z_]\w*[ \t]+switch[ \t]*\(` +
		`|union[ \t]+[A-Za-z_]\w*[ \t]*\([ \t]*\w+[ \t]+\w+[ \t]*\)[ \t]*\{` +
		`|typedef[ \t]+[A-Za-z_][\w \t*<>\[\],]*;` +
		`|typedef[ \t]+(?:struct|enum|union)\b[\w \t]*(?:\{|switch[ \t]*\()` +
		`|const[ \t]+[A-Za-z_]\w*(?:[ \t]+\w+)?(?:[ \t]*=[ \t]*|[ \t]+)-?\w+[ \t]*;` +
		`|const[ \t]+[A-Za-z_]\w*[ \t]*=[ \t]*-?\w+$)`)
	blockBrace = regexp.MustCompile(`^[ \t]*(?:(?:struct|enum|program)[ \t]+[A-Za-z_]\w*$|typedef[ \t]+(?:struct|enum)(?:[ \t]+[A-Za-z_]\w*)?$)`)
	blockParen = regexp.MustCompile(`^[ \t]*union[ \t]+[A-Za-z_]\w*[ \t]+switch$`)
	blockUnion = regexp.MustCompile(`^[ \t]*union[ \t]+[A-Za-z_]\w*$`)
)

// Unclosed is a definition that begins at a line of the document and never closes.
type Unclosed struct {
	Num  int    // line of the document, from 1
	Text string // that line
}

// Note returns a description of the unclosed definition.
func (b Unclosed) Note() string {
	return fmt.Sprintf("line %d begins a definition that never closes, left out: %q", b.Num, b.Text)
}

// blockReader finds XDR definitions in the lines of a document.
type blockReader struct {
	lines []string
	cut   []bool // lines of page breaks, not part of any definition

	seen     map[string]int // definitions that were read, if repetitions are left out; else nil
	repeated int            // number of repetitions left out
}

// next returns the index of the first line from i on that is not part of a page break, or to.
func (r *blockReader) next(i, to int) int {
	for i < to && r.cut[i] {
		i++
	}
	return i
}

// begins reports whether a definition begins at line i.
func (r *blockReader) begins(i, to int) bool {
	s := r.lines[i]
	switch {
	case blockHere.MatchString(s):
		return true
	case blockBrace.MatchString(s), blockParen.MatchString(s), blockUnion.MatchString(s):
		want := "{"
		switch {
		case blockParen.MatchString(s):
			want = "("
		case blockUnion.MatchString(s):
			want = "switch"
		}
		n := r.next(i+1, to)
		return n < to && strings.HasPrefix(strings.TrimLeft(r.lines[n], " \t"), want)
	}
	return false
}

// read returns the definitions in a span, one after the other, with their common indentation
// removed, and those that begin and never close. It reads each line a bounded number of times.
func (r *blockReader) read(s span) (out []Line, bad []Unclosed) {
	for i := s.from; i < s.to; {
		start := r.next(i, s.to)
		if start == s.to {
			break
		}
		first := start
		if strings.HasPrefix(strings.TrimLeft(r.lines[start], " \t"), "/*") {
			first = r.afterComment(start, s.to)
		}
		if first >= s.to || !r.begins(first, s.to) {
			i = start + 1
			continue
		}
		end, ok := r.end(first, s.to)
		if !ok {
			bad = append(bad, Unclosed{first + 1, r.lines[first]})
			i = max(end, first+1)
			continue
		}
		taken := r.dedent(start, end)
		i = end
		if r.repeats(first, end) {
			continue
		}
		if len(out) > 0 && start > 0 && r.lines[start-1] == "" {
			out = append(out, Line{Num: start})
		}
		out = append(out, taken...)
	}
	return out, bad
}

// repeats reports whether the definition in lines first to end was read before, word for word.
func (r *blockReader) repeats(first, end int) bool {
	if r.seen == nil {
		return false
	}
	var words []string
	for i := first; i < end; i++ {
		if !r.cut[i] {
			words = append(words, strings.Fields(r.lines[i])...)
		}
	}
	key := strings.Join(words, " ")
	r.seen[key]++
	if r.seen[key] > 1 {
		r.repeated++
	}
	return r.seen[key] > 1
}

// headerComment limits the lines of a comment above a definition, so that a comment that never
// closes takes few lines with it.
const headerComment = 100

// afterComment returns the line that follows the comment lines beginning at i without an empty line
// in between, or i if they are not such a comment.
func (r *blockReader) afterComment(i, to int) int {
	var sc scanner
	start := i
	for ; i < to; i = r.next(i+1, to) {
		if i-start > headerComment {
			return start
		}
		if !sc.comment && !strings.HasPrefix(strings.TrimLeft(r.lines[i], " \t"), "/*") {
			return i
		}
		sc.line(r.lines[i])
		if sc.code {
			return start // a comment and code on one line: no header comment
		}
	}
	return start
}

// end returns the line after the definition that begins at line i. A definition whose last
// semicolon is missing ends with its brace: the line is taken, so that an erratum can correct it.
// If the definition does not close, ok is false, and end is the first line that cannot belong to
// it.
func (r *blockReader) end(i, to int) (end int, ok bool) {
	indent := width(r.lines[i])
	var sc scanner
	for j := i; j < to; j = r.next(j+1, to) {
		s := r.lines[j]
		if j > i && !sc.comment {
			in := width(s)
			switch {
			case s == "" && sc.depth == 0,
				s != "" && in < indent && s[len(indentation(s))] != '}',
				in <= indent && (sc.depth > 0 || sc.braced) && r.begins(j, to):
				return j, sc.braced
			}
		}
		sc.line(s)
		if sc.depth < 0 || sc.prose {
			return j + 1, false
		}
		if sc.depth == 0 && sc.closed && !sc.comment {
			return j + 1, true
		}
	}
	return to, sc.braced && !sc.comment
}

// dedent returns lines start to end without page breaks and without the indentation that all of
// them share. Where some begin with blanks and others with tabs, the remaining indentation is
// blanks.
func (r *blockReader) dedent(start, end int) []Line {
	var out []Line
	common, least := "", -1
	for i := start; i < end; i++ {
		if r.cut[i] {
			continue
		}
		s := r.lines[i]
		out = append(out, Line{Text: s, Num: i + 1})
		if s == "" {
			continue
		}
		if in := indentation(s); least < 0 {
			common, least = in, width(s)
		} else {
			common, least = commonPrefix(common, in), min(least, width(s))
		}
	}
	mixed := width(common) < least
	for i, l := range out {
		if mixed && l.Text != "" {
			out[i].Text = strings.Repeat(" ", width(l.Text)-least) + strings.TrimLeft(l.Text, " \t")
		} else {
			out[i].Text = strings.TrimPrefix(l.Text, common)
		}
	}
	return out
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// another matches what may follow a definition on its line.
var another = regexp.MustCompile(`^(?:(?:struct|union|enum|typedef|const|program|version)\b|[%#}])`)

// scanner follows comments and nesting through the lines of a definition.
type scanner struct {
	comment bool // inside /* */
	depth   int  // open braces and parentheses
	code    bool // something other than a comment was seen
	closed  bool // the last character of code was a semicolon at depth 0
	braced  bool // it was a brace that came back to depth 0
	prose   bool // after such a semicolon follows something that begins no definition
}

func (sc *scanner) line(s string) {
	for i := 0; i < len(s); i++ {
		if sc.comment {
			if strings.HasPrefix(s[i:], "*/") {
				sc.comment = false
				i++
			}
			continue
		}
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "/*"):
			sc.comment = true
			i++
		case strings.HasPrefix(s[i:], "//"):
			return
		case c == ' ', c == '\t':
		default:
			sc.prose = sc.prose || sc.closed && c != ';' && !another.MatchString(s[i:])
			sc.code = true
			sc.closed = c == ';' && sc.depth == 0
			if c == '{' || c == '(' {
				sc.depth++
			} else if c == '}' || c == ')' {
				sc.depth--
			}
			sc.braced = c == '}' && sc.depth == 0
		}
	}
}
