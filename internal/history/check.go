package history

import (
	"fmt"
	"slices"
	"strings"
)

// Promise says what a Log must keep besides what always holds.
type Promise struct {
	// Once: no Call is executed twice. Without it a Call may be executed as often as it was sent.
	Once bool

	// Delivered: every message of a stream arrives, because no connection was lost.
	Delivered bool
}

// Fault is a broken rule, with the history in which it was broken.
type Fault struct {
	Rule  string
	lines []line
}

// mostLines is the largest number of lines that are printed: the first and the last ones.
const mostLines = 24

// String returns the rule and the history, a line for each entry.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Rule)
	for i, l := range f.lines {
		switch cut := len(f.lines) - mostLines; {
		case cut <= 0, i < mostLines/2, i >= mostLines/2+cut:
			fmt.Fprintf(&b, "\n\t\t%12v  %s", l.at, l.text)
		case i == mostLines/2:
			fmt.Fprintf(&b, "\n\t\t%12s  %d lines are left out", "", cut)
		}
	}
	return b.String()
}

// fault records a broken rule of a Call. l.mu must be held.
func (l *Log) fault(id uint64, c *call, format string, args ...any) {
	l.found = append(l.found, Fault{fmt.Sprintf("Call %d ", id) + fmt.Sprintf(format, args...), slices.Clone(c.lines)})
}

// Check returns the broken rules, when nothing can happen any more.
func (l *Log) Check(p Promise) []Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		l.checkCall(id, l.calls[id], p)
	}
	for name, s := range l.streams {
		if p.Delivered && len(s.got) < len(s.sent) {
			l.found = append(l.found, Fault{
				Rule: fmt.Sprintf("%s: %d messages were sent, %d have arrived", name, len(s.sent), len(s.got)), lines: s.lines,
			})
		}
	}
	found := l.found
	l.found = nil
	return found
}

// checkCall checks the history of one Call.
func (l *Log) checkCall(id uint64, c *call, p Promise) {
	switch n := len(c.runs); {
	case !c.made:
		l.fault(id, c, "was executed %d times and never made", n)
		return
	case c.outcome == InProgress:
		l.fault(id, c, "does not return")
	case c.outcome == NotSent && n > 0:
		l.fault(id, c, "was executed, its error says that it was not")
	case c.outcome == Answered && n == 0:
		l.fault(id, c, "has a result and was not executed")
	}
	if n := len(c.runs); p.Once && n > 1 {
		l.fault(id, c, "was executed %d times, want once at most", n)
	}
	if c.outcome != Answered {
		return
	}
	own := false
	for _, r := range c.runs {
		own = own || r.result == c.result && r.at <= c.returned
	}
	if len(c.runs) > 0 && !own {
		l.fault(id, c, "has result %d, which no execution before its return gave", c.result)
	}
}
