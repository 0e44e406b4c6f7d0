package golden

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

const (
	context  = 3       // equal lines shown around a difference
	maxShown = 200     // lines of a diff before it is cut
	maxCells = 1 << 22 // size of the table; larger middles are shown as replaced
)

// Diff returns the lines in which want and got differ, with three equal lines
// around each place, "-" before lines of want and "+" before lines of got. It
// returns "" for equal input. Blanks at the end of a line, and bytes that are
// not printable, are shown quoted; a missing final newline is described in words.
func Diff(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	ops := script(splitLines(want), splitLines(got))
	var b strings.Builder
	shown, skipping := 0, false
	aLine, bLine := 1, 1
	for i, o := range ops {
		if near(ops, i) {
			if shown == maxShown {
				fmt.Fprintf(&b, "... diff cut after %d lines\n", maxShown)
				break
			}
			if skipping || shown == 0 {
				fmt.Fprintf(&b, "@@ file line %d, output line %d @@\n", aLine, bLine)
			}
			fmt.Fprintf(&b, "%c %s\n", o.kind, visible(o.line))
			shown, skipping = shown+1, false
		} else {
			skipping = true
		}
		if o.kind != '+' {
			aLine++
		}
		if o.kind != '-' {
			bLine++
		}
	}
	return b.String()
}

// op is one line of an edit script: kept ' ', removed '-' or added '+'.
type op struct {
	kind byte
	line string
}

// near reports whether line i changes or is within the context of a line that does.
func near(ops []op, i int) bool {
	for j := max(0, i-context); j <= min(len(ops)-1, i+context); j++ {
		if ops[j].kind != ' ' {
			return true
		}
	}
	return false
}

// script returns the edits that turn a into b: common head and tail first, the
// middle by longest common subsequence unless it is too large for that.
func script(a, b []string) []op {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	ops := appendOps(nil, ' ', a[:head])
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if (len(midA)+1)*(len(midB)+1) > maxCells {
		ops = appendOps(appendOps(ops, '-', midA), '+', midB)
	} else {
		ops = append(ops, middle(midA, midB)...)
	}
	return appendOps(ops, ' ', a[len(a)-tail:])
}

func appendOps(ops []op, kind byte, lines []string) []op {
	for _, l := range lines {
		ops = append(ops, op{kind, l})
	}
	return ops
}

// middle returns the edits by the textbook longest common subsequence. lcs[i][j] is its length for
// a[i:] and b[j:].
func middle(a, b []string) []op {
	width := len(b) + 1
	lcs := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				lcs[i*width+j] = lcs[(i+1)*width+j+1] + 1
			} else {
				lcs[i*width+j] = max(lcs[(i+1)*width+j], lcs[i*width+j+1])
			}
		}
	}
	var ops []op
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			ops = append(ops, op{' ', a[i]})
			i, j = i+1, j+1
		case lcs[(i+1)*width+j] >= lcs[i*width+j+1]:
			ops = append(ops, op{'-', a[i]})
			i++
		default:
			ops = append(ops, op{'+', b[j]})
			j++
		}
	}
	return appendOps(appendOps(ops, '-', a[i:]), '+', b[j:])
}

// noNewline stands in a diff for the final newline that a text lacks.
const noNewline = " (no newline at the end)"

func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	s := string(text)
	if !strings.HasSuffix(s, "\n") {
		return strings.Split(s+noNewline, "\n")
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// visible returns the line, quoted if it has characters that a reader would not see.
func visible(line string) string {
	hidden := line != strings.TrimRight(line, " \t\r")
	for _, r := range line {
		if r != '\t' && !strconv.IsPrint(r) {
			hidden = true
		}
	}
	if hidden {
		return strconv.Quote(line)
	}
	return line
}
