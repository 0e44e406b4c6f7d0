package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

// rpcgen runs once for each of its outputs and defines one of these names as it
// does. Here the unit is what all outputs together declare: the first branch
// of such an #if that holds XDR is taken, and further ones are not. Where a -D
// gives one of the names, they are names like others.
var outputs = []string{"RPC_HDR", "RPC_XDR", "RPC_SVC", "RPC_CLNT", "RPC_TBL", "RPC_INTR"}

// forOutput reports whether a condition does nothing but tell outputs apart.
func (s *scanner) forOutput(condition string) bool {
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

// outputGiven reports whether the name of an output is defined.
func (s *scanner) outputGiven() bool {
	for _, o := range outputs {
		if _, ok := s.ctx.Macros[o]; ok {
			return true
		}
	}
	return false
}

// holdsXDR reports whether the branch that the directive at an offset begins
// holds more than comments, directives and lines for C.
func (s *scanner) holdsXDR(directive int) bool {
	if s.branches == nil {
		s.branches = s.findBranches()
	}
	return s.branches[directive]
}

// findBranches returns the offsets of the directives whose branches hold XDR,
// in one pass over the file.
func (s *scanner) findBranches() map[int]bool {
	holds := map[int]bool{}
	var open []int // directives that begin the branches that are open
	comment := false
	for pos := 0; pos < len(s.text); {
		end := s.lineEnd(pos)
		text := string(s.text[pos:end])
		start := pos + len(text) - len(strings.TrimLeft(text, " \t"))
		line := strings.TrimSpace(text)
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

// leftOut warns of a line that an #if for one of rpcgen's outputs leaves out,
// unless it holds nothing of XDR.
func (s *scanner) leftOut(start, end int) {
	c := &s.conds[len(s.conds)-1]
	text := strings.TrimSpace(string(s.text[start:end]))
	if !c.output || c.told || text == "" || text[0] == '%' || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "//") {
		return
	}
	c.told = true
	at := s.span(start, start+len(text))
	s.report(diag.New(diag.OutputOnly, at, "lines for one of rpcgen's outputs are left out").With(c.at, "by this line"))
}

// readForAll warns, at the first text of XDR in it, that what is for one of
// rpcgen's outputs is read as if it were for all.
func (s *scanner) readForAll(start int) {
	if !s.unread {
		return
	}
	s.unread = false
	for i := range s.conds {
		c := &s.conds[i]
		if c.every && c.on && !c.read {
			c.read = true
			end := start + len(strings.TrimSpace(string(s.text[start:s.endOfLine(start)])))
			s.report(diag.New(diag.OutputOnly, s.span(start, end), "lines for one of rpcgen's outputs are read as for all of them").With(c.at, "by this line"))
		}
	}
}
