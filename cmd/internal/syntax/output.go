package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// outputs has the macros of rpcgen, which runs once for each of its outputs and defines one of
// them each time. Here a unit has the declarations of all outputs together: of an #if that
// tests only these macros, the first branch with XDR is read and the others are ignored. If
// -D defines one of the macros, they are treated like any other.
var outputs = []string{"RPC_HDR", "RPC_XDR", "RPC_SVC", "RPC_CLNT", "RPC_TBL", "RPC_INTR"}

// forOutput reports whether a condition depends only on which output rpcgen writes.
func forOutput(condition string) bool {
	found := false
	for _, name := range ExprNames(condition) {
		if name == "defined" {
			continue
		}
		found = false
		for _, o := range outputs {
			found = found || name == o
		}
		if !found {
			return false
		}
	}
	return found
}

// outputGiven reports whether the macro of an output is defined.
func (s *scanner) outputGiven() bool {
	for _, o := range outputs {
		if _, ok := s.ctx.Macros[o]; ok {
			return true
		}
	}
	return false
}

// holdsXDR reports whether a branch contains more than comments, directives and lines for C.
// The branch begins with the directive at the given offset.
func (s *scanner) holdsXDR(directive int) bool {
	if s.branches == nil {
		s.branches = findBranches(s.text)
	}
	return s.branches[directive]
}

// findBranches returns the offsets of all directives whose branches contain XDR. It reads the
// file once.
func findBranches(text []byte) map[int]bool {
	holds := map[int]bool{}
	var open []int // directives that begin the current branches, outermost first
	comment := false
	for pos := 0; pos < len(text); {
		end := lineEnd(text, pos)
		line := strings.TrimLeft(string(text[pos:end]), " \t")
		start := end - len(line)
		line = strings.TrimSpace(line)
		pos = end + 1
		if comment {
			_, rest, closed := strings.Cut(line, "*/")
			line, comment = strings.TrimSpace(rest), !closed
		}
		for strings.HasPrefix(line, "/*") {
			_, rest, closed := strings.Cut(line[2:], "*/")
			line, comment = strings.TrimSpace(rest), !closed
		}
		word, rest := "", ""
		if strings.HasPrefix(line, "#") {
			word, rest = splitWord(strings.TrimSpace(line[1:]))
		}
		last := len(open) - 1
		switch {
		case strings.HasPrefix(word, "if"):
			open = append(open, start)
		case last < 0:
		case word == "endif", strings.HasPrefix(word, "el"):
			if last > 0 && holds[open[last]] {
				holds[open[last-1]] = true
			}
			if open = open[:last]; word != "endif" {
				open = append(open, start)
			}
		case word == "include" && strings.HasSuffix(rest, `.x"`),
			line != "" && line[0] != '%' && line[0] != '#' && !strings.HasPrefix(line, "//"):
			holds[open[last]] = true
		}
	}
	return holds
}

// warnIgnored warns about a line with XDR that is ignored because of an #if for one output of
// rpcgen.
func (s *scanner) warnIgnored(start, end int) {
	c := &s.conds[len(s.conds)-1]
	text := strings.TrimSpace(string(s.text[start:end]))
	if !c.output || c.ignored || text == "" || text[0] == '%' || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "//") {
		return
	}
	c.ignored = true
	at := s.span(start, start+len(text))
	s.report(diag.New(diag.OutputOnly, at, "lines for one output of rpcgen are ignored").With(c.at, "because of this line"))
}

// readForAll warns, at the first XDR in a branch for one output of rpcgen, that the branch is
// read for all outputs.
func (s *scanner) readForAll(start int) {
	if !s.unread {
		return
	}
	s.unread = false
	for i := range s.conds {
		c := &s.conds[i]
		if c.every && c.on && !c.read {
			c.read = true
			end := start + len(strings.TrimSpace(string(s.text[start:endOfLine(s.text, start)])))
			s.report(diag.New(diag.OutputOnly, s.span(start, end), "lines for one output of rpcgen are read for all of them").With(c.at, "because of this line"))
		}
	}
}
