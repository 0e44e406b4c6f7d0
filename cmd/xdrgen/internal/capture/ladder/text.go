package ladder

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// head returns lines about the ladder: the clocks, and calls that it lacks.
func (l *Ladder) head() (lines []string) {
	if len(l.Rungs) > 0 {
		more := "more"
		if l.Clock.Ahead < 0 {
			more = "less"
		}
		lines = append(lines, fmt.Sprintf("the server's clock shows %s ms %s than the client's, with an error of at most %s ms",
			ms(max(l.Clock.Ahead, -l.Clock.Ahead)), more, ms(l.Clock.Error)))
		if l.Clock.Drift {
			lines = append(lines, "no difference of the clocks fits all calls: one of them is faster, or was set")
		}
	}
	lines = append(lines, fmt.Sprintf("calls in both captures: %d, only in the client's: %d, only in the server's: %d", len(l.Rungs), l.ClientOnly, l.ServerOnly))
	if l.LeftOut > 0 {
		lines = append(lines, fmt.Sprintf("more calls than %d: %d were left out", MaxCalls, l.LeftOut))
	}
	if l.Swapped() {
		lines = append(lines, "calls last longer at the server than at the client: is the client's capture the first one?")
	}
	return lines
}

// ms returns nanoseconds as milliseconds.
func ms(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }

// laneWidth is the number of characters between the two lanes.
const laneWidth = 44

// event is a line of the text.
type event struct {
	at   int64
	text string
}

// Text writes a line for each Call and for each reply, in order of time, and a summary.
func (l *Ladder) Text(w io.Writer) error {
	var b strings.Builder
	for _, line := range l.head() {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	if len(l.Rungs) == 0 {
		_, err := io.WriteString(w, b.String())
		return err
	}
	start := l.Rungs[0].First
	var events []event
	for i := range l.Rungs {
		r := &l.Rungs[i]
		xid := fmt.Sprintf("%#08x", r.Key.XID)
		events = append(events,
			event{r.First, fmt.Sprintf("|%s>|  waited %s, sent %s", fill(xid+" "+r.Name, '-'), ms(r.Waited()), ms(r.Sent()))},
			event{r.Last, fmt.Sprintf("|<%s|  served %s, received %s; took %s", fill(xid+" "+r.Outcome, '-'), ms(r.Served()), ms(r.Received()), ms(r.Took()))})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	fmt.Fprintf(&b, "# seconds %s milliseconds\n", "   client"+strings.Repeat(" ", laneWidth-9)+"server ")
	for _, e := range events {
		fmt.Fprintf(&b, "%12.6f  %s\n", float64(e.at-start)/1e9, e.text)
	}
	for _, line := range l.Summary() {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fill returns a label within a line of laneWidth characters.
func fill(label string, line byte) string {
	r := []rune(shown(label))
	if len(r) > laneWidth-6 {
		r = append(r[:laneWidth-9], []rune("...")...)
	}
	left := 2
	right := laneWidth - left - len(r) - 3
	return strings.Repeat(string(line), left) + " " + string(r) + " " + strings.Repeat(string(line), right)
}

// shown returns a text without characters that a terminal obeys.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, s)
}

// part is a section of a call's time: waited, sent, served or received.
type part struct {
	name string
	of   func(*Rung) int64
}

var parts = []part{{"waited", (*Rung).Waited}, {"sent", (*Rung).Sent}, {"served", (*Rung).Served}, {"received", (*Rung).Received}}

// Summary returns lines with the median and the largest of each of the four times.
func (l *Ladder) Summary() (lines []string) {
	if len(l.Rungs) == 0 {
		return nil
	}
	for _, p := range append(slices.Clone(parts), part{"took", (*Rung).Took}) {
		var all []int64
		largest := &l.Rungs[0]
		for i := range l.Rungs {
			r := &l.Rungs[i]
			if all = append(all, p.of(r)); p.of(r) > p.of(largest) {
				largest = r
			}
		}
		slices.Sort(all)
		lines = append(lines, fmt.Sprintf("%-8s median %s ms, largest %s ms: %#08x %s", p.name, ms(all[(len(all)-1)/2]), ms(p.of(largest)), largest.Key.XID, largest.Name))
	}
	return lines
}
