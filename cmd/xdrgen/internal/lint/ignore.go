package lint

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// pragma marks a comment that suppresses findings.
const pragma = "xdrgen:ignore"

// ignore is a comment that suppresses findings.
type ignore struct {
	at     source.Span // of the pragma
	line   int         // on which it suppresses findings
	rules  []string    // names, as written
	reason string
	used   bool // it has suppressed a finding, or was reported itself
}

// names reports whether the comment suppresses findings of rule r.
func (i *ignore) names(r Rule) bool {
	return i.reason != "" && slices.Contains(i.rules, r.Info().Name)
}

// ignored reports whether a comment suppresses findings of rule r at a position.
func (l *linter) ignored(r Rule, at source.Span) bool {
	if !at.Valid() {
		return false
	}
	for _, i := range l.byLine[lineOf{at.File, at.Position().Line}] {
		if i.names(r) {
			i.used = true
			return true
		}
	}
	return false
}

// lineOf is a line of a file.
type lineOf struct {
	file *source.File
	line int
}

// findIgnores returns the pragmas of a file. A pragma with code before it on its line
// applies to that line; one without applies to the next line of code.
func findIgnores(f *source.File) []*ignore {
	text := f.Text
	if !bytes.Contains(text, []byte(pragma)) {
		return nil
	}
	var comments [][2]int
	for at := 0; ; {
		start, end := nextComment(text, at)
		if start < 0 {
			break
		}
		comments = append(comments, [2]int{start, end})
		at = end
	}
	var out []*ignore
	code := len(text) // offset of the first code after the comment
	for n := len(comments) - 1; n >= 0; n-- {
		start, end := comments[n][0], comments[n][1]
		until := len(text)
		if n+1 < len(comments) {
			until = comments[n+1][0]
		}
		if gap := text[end:until]; len(bytes.TrimSpace(gap)) > 0 {
			code = end + len(gap) - len(bytes.TrimLeft(gap, " \t\r\n\f\v"))
		}
		if i := parseIgnore(f, start, end); i != nil {
			i.line = f.Position(start).Line
			if before := text[bytes.LastIndexByte(text[:start], '\n')+1 : start]; len(bytes.TrimSpace(before)) == 0 {
				i.line = f.Position(code).Line
			}
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return out
}

// parseIgnore returns the pragma of a comment, or nil if it has none.
func parseIgnore(f *source.File, start, end int) *ignore {
	k := bytes.Index(f.Text[start:end], []byte(pragma))
	if k < 0 {
		return nil
	}
	words := strings.TrimSuffix(string(f.Text[start+k+len(pragma):end]), "*/")
	rule, reason, _ := strings.Cut(strings.TrimSpace(words), " ")
	return &ignore{
		at:    source.Span{File: f, Start: start + k, End: start + k + len(pragma)},
		rules: strings.Split(rule, ","), reason: strings.TrimSpace(strings.ReplaceAll(reason, "\n", " ")),
	}
}

// nextComment returns the start and end of the first comment at or after at, or -1 if there
// is none.
func nextComment(text []byte, at int) (start, end int) {
	for ; at+1 < len(text); at++ {
		if text[at] == '"' { // a file name or string constant, which ends on its line
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

// badIgnores reports pragmas without a known rule or without a reason.
func (l *linter) badIgnores() {
	for _, i := range l.ignores {
		for _, name := range i.rules {
			if _, ok := ruleNamed(name); ok {
				continue
			}
			i.used = true // so that it is not reported as stale too
			f := finding(BadIgnore, i.at, "there is no lint rule %q", name)
			if name == "" {
				f = finding(BadIgnore, i.at, "the comment names no rule")
			}
			if near, ok := nearest(name); ok {
				f = f.Helpf("did you mean %s?", near)
			}
			l.report(BadIgnore, nil, f)
		}
		if i.reason == "" && !i.used {
			i.used = true
			l.report(BadIgnore, nil, finding(BadIgnore, i.at, "the comment gives no reason"))
		}
	}
}

// staleIgnores reports pragmas that suppress nothing although one of their rules is on.
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
			l.report(StaleIgnore, nil, finding(StaleIgnore, i.at, "line %d has no finding of %s to ignore", i.line, strings.Join(i.rules, ", ")))
		}
	}
}
