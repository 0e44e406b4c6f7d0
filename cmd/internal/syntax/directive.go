package syntax

import (
	"errors"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// cond is the state of one #if.
type cond struct {
	at    source.Span
	word  string
	on    bool // the current branch is read
	done  bool // no further branch is read
	elsed bool // #else was read

	output  bool // the condition depends only on which output rpcgen writes
	every   bool // its first branch with XDR is read for all outputs
	ignored bool // a warning about ignored lines was reported
	read    bool // a warning about lines that are read was reported
}

// active reports whether the current line is read, and not excluded by an #if.
func (s *scanner) active() bool { return len(s.conds) == 0 || s.conds[len(s.conds)-1].on }

// skipLine skips one line of an excluded branch. A comment in it may extend over several lines.
func (s *scanner) skipLine() {
	line := s.pos
	for line < len(s.text) && (s.text[line] == ' ' || s.text[line] == '\t') {
		line++
	}
	if s.fresh && line < len(s.text) && s.text[line] == '#' {
		s.pos = line
		s.directive()
		return
	}
	percent := s.fresh && line < len(s.text) && s.text[line] == '%'
	end := endOfLine(s.text, s.pos)
	if percent {
		end = lineEnd(s.text, line)
		s.percentLine(line, end)
	}
	for i := s.pos; i+1 < end && !percent; i++ {
		if s.text[i] != '/' {
			continue
		}
		if s.text[i+1] == '/' {
			break
		}
		if s.text[i+1] == '*' {
			s.pos = i
			n := len(s.notes.all)
			s.blockComment()
			s.notes.all = s.notes.all[:n]
			s.fresh = false
			return
		}
	}
	s.warnIgnored(line, end)
	s.pos = min(end+1, len(s.text))
	s.fresh = true
}

// directive handles a line that begins with #.
func (s *scanner) directive() {
	start := s.pos
	end := lineEnd(s.text, start)
	text := string(s.text[start:end])
	for {
		i := strings.Index(text, "/*")
		if i < 0 {
			break
		}
		j := strings.Index(text[i+2:], "*/")
		if j < 0 { // the comment continues on the next line: leave it to the lexer
			text, end = text[:i], start+i
			break
		}
		text = text[:i] + strings.Repeat(" ", j+4) + text[i+j+4:]
	}
	s.pos = end
	s.fresh = false
	text = strings.TrimRight(strings.ReplaceAll(strings.ReplaceAll(text, "\\\n", "  "), "\\\r\n", "   "), " \t\r")
	at := s.span(start, start+len(text))
	word, rest := splitWord(strings.TrimSpace(text[1:]))
	switch word {
	case "if", "ifdef", "ifndef":
		s.open(word, rest, at)
	case "elif", "else", "endif":
		s.branch(word, rest, at)
	default:
		if s.active() {
			s.plain(word, rest, at)
		}
	}
}

// plain handles directives other than conditions.
func (s *scanner) plain(word, rest string, at source.Span) {
	switch word {
	case "define":
		s.define(rest, at)
	case "undef":
		delete(s.ctx.Macros, rest)
	case "include":
		s.include(rest, at)
	case "error":
		s.report(diag.New(diag.BadDirective, at, "#error %s", diag.Quote(rest)))
	case "": // null directive
	case "line", "ident", "sccs", "pragma":
		s.report(diag.New(diag.UnknownDirective, at, "#%s is ignored", word))
	default:
		d := diag.New(diag.UnknownDirective, at, "directive %s is ignored", diag.Quote("#"+word))
		if isDigit(word[0]) {
			d = diag.New(diag.UnknownDirective, at, "line marker of the preprocessor is ignored: positions refer to this file")
		}
		s.report(d)
	}
}

// include handles #include.
func (s *scanner) include(rest string, at source.Span) {
	name, ok := strings.CutPrefix(rest, `"`)
	name, closed := strings.CutSuffix(name, `"`)
	switch {
	case ok && closed && strings.HasSuffix(name, ".x"):
		s.readForAll(at.Start)
		s.ctx.Include(name, at)
	case ok && closed, strings.HasPrefix(rest, "<"):
		s.header(rest, at)
		s.report(diag.New(diag.UnknownDirective, at, "#include of %s is ignored: only .x files in quotes are read", rest))
	default:
		d := diag.New(diag.BadDirective, at, "found #include %s, expected a file name in quotes", diag.Quote(rest))
		if bare := strings.Trim(rest, "'`\"\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"); strings.HasSuffix(bare, ".x") {
			d = d.Helpf("write #include \"%s\"", bare)
		}
		s.report(d)
	}
}

// define handles #define NAME, which sets a flag, and #define NAME value, which also declares
// a constant.
func (s *scanner) define(rest string, at source.Span) {
	name, value := splitWord(rest)
	if name == "" {
		s.report(diag.New(diag.BadDirective, at, "#define has no name"))
		return
	}
	if strings.HasPrefix(value, "(") && strings.HasPrefix(rest, name+"(") {
		s.report(diag.New(diag.UnknownDirective, at, "#define %s is ignored: it has parameters", name))
		return
	}
	s.ctx.Macros[name] = value
	if value == "" {
		return
	}
	if d := s.macro(name, value, at); d != nil {
		s.defs = append(s.defs, d)
		return
	}
	s.report(diag.New(diag.UnknownDirective, at, "#define %s is ignored: its value %s is not an integer", name, diag.Quote(value)))
}

// macro returns the constant that #define NAME value declares, or nil if the value cannot be
// one.
func (s *scanner) macro(name, value string, at source.Span) *Def {
	valueAt := strings.LastIndex(at.Text(), value)
	v := Value{Span: s.span(at.Start+max(valueAt, 0), at.End), Text: value}
	neg, abs, err := Number(strings.TrimRight(value, "uUlL"))
	switch {
	case err == nil:
		v.Neg, v.Abs = neg, abs
	case isName(value):
		v.Name = true
	case isTypeWords(value):
		v.Name, v.Text = true, strings.Join(strings.Fields(value), " ")
	default:
		one := func(string) (int64, error) { return 1, nil }
		if _, err := Eval(value, one); err != nil && !errors.Is(err, errDivision) {
			return nil
		}
		v.Expr = true
	}
	nameAt := at.Start + max(strings.Index(at.Text(), name), 0)
	return &Def{
		Kind: Const, Span: at, Macro: true, Value: v,
		Name: Ident{name, s.span(nameAt, nameAt+len(name))},
	}
}

// isTypeWords reports whether a text is an integer type of C or XDR.
func isTypeWords(text string) bool {
	for _, w := range strings.Fields(text) {
		switch w {
		case "unsigned", "int", "char", "short", "long", "hyper":
		default:
			return false
		}
	}
	return true
}

// isName reports whether s is a name of XDR.
func isName(s string) bool {
	return s != "" && isLetter(s[0]) && !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) })
}

// percentLine records a line that begins with %, which rpcgen copies to its output in C. The
// file may use constants and headers that the line defines or includes.
func (s *scanner) percentLine(start, end int) {
	at := s.span(start, end)
	s.percent = append(s.percent, at)
	text, ok := strings.CutPrefix(strings.TrimLeft(at.Text()[1:], " \t"), "#")
	if !ok {
		return
	}
	text, _, _ = strings.Cut(text, "/*")
	text = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\\\r\n", " "), "\\\n", " "))
	word, rest := splitWord(text)
	switch word {
	case "define":
		name, value := splitWord(rest)
		if name == "" || value == "" || strings.HasPrefix(rest, name+"(") {
			return
		}
		if d := s.macro(name, value, at); d != nil {
			s.cdefs = append(s.cdefs, d)
		}
	case "include":
		s.header(rest, at)
	}
}

// header records the name of an included C header.
func (s *scanner) header(rest string, at source.Span) {
	if len(rest) > 2 && (rest[0] == '"' || rest[0] == '<') {
		if i := strings.IndexAny(rest[1:], "\">"); i > 0 {
			s.headers = append(s.headers, Header{Name: rest[1 : 1+i], Span: at})
		}
	}
}

// splitWord returns the first word of s and the rest.
func splitWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}
