package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// cond is one level of #if.
type cond struct {
	at    source.Span
	word  string
	on    bool // lines are taken now
	done  bool // a branch was taken, or the whole is skipped
	elsed bool // #else was seen
}

func (s *scanner) active() bool { return len(s.conds) == 0 || s.conds[len(s.conds)-1].on }

// skipLine passes one line of a branch that is not taken, minding comments.
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
	end := s.endOfLine(s.pos)
	for i := s.pos; i+1 < end && !percent; i++ {
		if s.text[i] != '/' {
			continue
		}
		if s.text[i+1] == '/' {
			break
		}
		if s.text[i+1] == '*' {
			s.pos = i
			n := len(s.notes)
			s.blockComment()
			s.notes = s.notes[:n]
			s.fresh = false
			return
		}
	}
	s.pos = min(end+1, len(s.text))
	s.fresh = true
}

// directive handles one line that begins with #.
func (s *scanner) directive() {
	start := s.pos
	end := s.lineEnd(start)
	text := string(s.text[start:end])
	for {
		i := strings.Index(text, "/*")
		if i < 0 {
			break
		}
		j := strings.Index(text[i+2:], "*/")
		if j < 0 { // the comment goes on below: leave it to the lexer
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
		s.turn(word, rest, at)
	default:
		if s.active() {
			s.plain(word, rest, at)
		}
	}
}

// plain handles the directives that are no conditions.
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
	default:
		s.report(diag.New(diag.UnknownDirective, at, "line %s is left out", diag.Quote("#"+word)))
	}
}

func (s *scanner) include(rest string, at source.Span) {
	name, ok := strings.CutPrefix(rest, `"`)
	name, closed := strings.CutSuffix(name, `"`)
	switch {
	case ok && closed && strings.HasSuffix(name, ".x"):
		s.ctx.Include(name, at)
	case ok && closed, strings.HasPrefix(rest, "<"):
		s.report(diag.New(diag.UnknownDirective, at, "#include of %s is left out: only .x files in quotes are read", rest))
	default:
		s.report(diag.New(diag.BadDirective, at, "found #include %s, expected a file name in quotes", diag.Quote(rest)))
	}
}

// define takes #define NAME, which sets a flag, and #define NAME value, which
// declares a constant as well.
func (s *scanner) define(rest string, at source.Span) {
	name, value := splitWord(rest)
	if name == "" {
		s.report(diag.New(diag.BadDirective, at, "#define without a name"))
		return
	}
	if strings.HasPrefix(value, "(") && strings.HasPrefix(rest, name+"(") {
		s.report(diag.New(diag.UnknownDirective, at, "#define %s with parameters is left out", name))
		return
	}
	s.ctx.Macros[name] = value
	if value == "" {
		return
	}
	valueAt := strings.LastIndex(at.Text(), value)
	v := Value{Span: s.span(at.Start+max(valueAt, 0), at.End), Text: value}
	switch {
	case isLetter(value[0]) && !strings.ContainsFunc(value, func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) }):
		v.Name = true
	default:
		neg, abs, err := Number(value)
		if err != nil {
			s.report(diag.New(diag.UnknownDirective, at, "value %s of #define %s is no integer: left out", diag.Quote(value), name))
			return
		}
		v.Neg, v.Abs = neg, abs
	}
	nameAt := at.Start + max(strings.Index(at.Text(), name), 0)
	s.defs = append(s.defs, &Def{
		Kind: Const, Span: at, Macro: true, Value: v,
		Name: Ident{name, s.span(nameAt, nameAt+len(name))},
	})
}

// splitWord cuts the first word off.
func splitWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}
