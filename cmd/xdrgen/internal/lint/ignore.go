package lint

import (
	"bytes"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// pragma is what a comment says that lets findings pass.
const pragma = "xdrgen:ignore"

// ignore is one such comment.
type ignore struct {
	at     source.Span
	line   int      // that it speaks of
	rules  []string // as written, by commas
	reason string
	used   bool
}

// covers reports whether the comment lets a finding of rule r at a place pass.
func (i *ignore) covers(r Rule, at source.Span) bool {
	if at.File != i.at.File || i.reason == "" || at.Position().Line != i.line {
		return false
	}
	for _, name := range i.rules {
		if name == r.Info().Name {
			return true
		}
	}
	return false
}

// findIgnores returns the pragmas of a file. One with code before it speaks of
// its own line, one that stands alone of the next line of code.
func findIgnores(f *source.File) []*ignore {
	var out []*ignore
	text := f.Text
	for at := 0; ; {
		start, end := nextComment(text, at)
		if start < 0 {
			return out
		}
		at = end
		k := bytes.Index(text[start:end], []byte(pragma))
		if k < 0 {
			continue
		}
		words := string(text[start+k+len(pragma) : end])
		words = strings.TrimSuffix(words, "*/")
		rule, reason, _ := strings.Cut(strings.TrimSpace(words), " ")
		i := &ignore{
			at:    source.Span{File: f, Start: start + k, End: start + k + len(pragma)},
			rules: strings.Split(rule, ","), reason: strings.TrimSpace(strings.ReplaceAll(reason, "\n", " ")),
		}
		i.line = f.Position(start).Line
		if before := text[bytes.LastIndexByte(text[:start], '\n')+1 : start]; len(bytes.TrimSpace(before)) == 0 {
			i.line = f.Position(nextCode(text, end)).Line
		}
		out = append(out, i)
	}
}

// nextComment returns the extent of the first comment from at on, -1 for none.
func nextComment(text []byte, at int) (start, end int) {
	for ; at+1 < len(text); at++ {
		if text[at] == '"' { // a file name or a string constant: on one line
			rest := text[at+1:]
			if k := bytes.IndexAny(rest, "\"\n"); k >= 0 && rest[k] == '"' {
				at += k + 1
			}
			continue
		}
		if text[at] != '/' {
			continue
		}
		mark, size := "", 0
		switch text[at+1] {
		case '*':
			mark, size = "*/", 2
		case '/':
			mark, size = "\n", 0
		default:
			continue
		}
		if k := bytes.Index(text[at+2:], []byte(mark)); k >= 0 {
			return at, at + 2 + k + size
		}
		return at, len(text)
	}
	return -1, -1
}

// nextCode returns the offset of what follows blanks and comments.
func nextCode(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n', '\f', '\v':
			at++
			continue
		}
		start, end := nextComment(text[at:min(len(text), at+2)], 0)
		if start != 0 {
			return at
		}
		_, end = nextComment(text, at)
		at = end
	}
	return at
}

// badIgnores reports pragmas that say no rule or no reason.
func (l *linter) badIgnores() {
	for _, i := range l.ignores {
		for _, name := range i.rules {
			if _, ok := ruleNamed(name); ok {
				continue
			}
			i.used = true // one finding is enough
			f := finding(BadIgnore, i.at, "no rule is called %q", name)
			if name == "" {
				f = finding(BadIgnore, i.at, "comment names no rule")
			}
			if near, ok := nearest(name); ok {
				f = f.Helpf("did you mean %s?", near)
			}
			l.report(BadIgnore, nil, f)
		}
		if i.reason == "" && !i.used {
			i.used = true
			l.report(BadIgnore, nil, finding(BadIgnore, i.at, "comment gives no reason"))
		}
	}
}

// staleIgnores reports pragmas that let nothing pass.
func (l *linter) staleIgnores() {
	for _, i := range l.ignores {
		if i.used {
			continue
		}
		on := false
		for _, name := range i.rules {
			r, _ := ruleNamed(name)
			on = on || l.on(r)
		}
		if on {
			l.report(StaleIgnore, nil, finding(StaleIgnore, i.at, "there is no finding %s on line %d", strings.Join(i.rules, ", "), i.line))
		}
	}
}
