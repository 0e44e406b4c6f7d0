package history

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// The picture has a panel for each measure, with the runs from left to right. The labels of target
// and floor are at the right of the panel, where there are no points.
const (
	columns                  = 2
	panelWidth, panelHeight  = 480, 168
	left, right, top, bottom = 48, 84, 34, 26
	legendHeight             = 44
	maxLabelled              = 6  // commits
	lineHeight               = 13 // of a label
)

// style has the colours for light and dark backgrounds. It has no variables: some viewers draw them
// in black.
const style = `<style>
text { fill: #222 } .paper { fill: #fff } .axis { stroke: #ddd; fill: none } .line { stroke: #1b6ca8; stroke-width: 2; fill: none }
.quiet { fill: #1b6ca8 } .noisy { fill: #fff; stroke: #1b6ca8; stroke-width: 1.5 }
.goal { stroke: #b3541e; stroke-dasharray: 6 3; fill: none } .goaltext { fill: #b3541e }
.floor { stroke: #2e7d4f; stroke-width: 1.5; stroke-dasharray: 1.5 3; fill: none } .mark { fill: #2e7d4f; stroke: #fff } .floortext { fill: #2e7d4f }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .paper { fill: #16191d } .axis { stroke: #3a3f45 } .line { stroke: #6db3e8 }
.quiet { fill: #6db3e8 } .noisy { fill: #16191d; stroke: #6db3e8 }
.goal { stroke: #f0a066 } .goaltext { fill: #f0a066 } .floor { stroke: #7fcf9f } .mark { fill: #7fcf9f; stroke: #16191d } .floortext { fill: #7fcf9f }
}
</style>`

// legend explains the marks, at the top of the picture.
const legend = `<g transform="translate(48 22)">
<circle class="quiet" r="4"/><text x="10" y="4">quiet run</text>
<circle class="noisy" cx="90" r="4"/><text x="100" y="4">noisy run</text>
<path class="goal" d="M180 0h30"/><text x="216" y="4">target</text>
<path class="floor" d="M276 0h30"/><path class="mark" d="M291 -4l4 4 -4 4 -4 -4z"/><text x="312" y="4">floor: the messages of the wire protocol alone</text>
<text x="600" y="4">runs from left to right, by commit</text>
</g>
`

// point is a figure of run i.
type point struct {
	i int
	f Figure
}

// measures returns the figures by measure, in the order of their first occurrence.
func measures(lines []Line) (titles []string, of map[string][]point) {
	of = map[string][]point{}
	for i, l := range lines {
		for _, f := range l.Rows {
			t := f.Title()
			if of[t] == nil {
				titles = append(titles, t)
			}
			of[t] = append(of[t], point{i, f})
		}
	}
	return titles, of
}

// Draw writes the chosen measures of a history as SVG, without those that no run has. If chosen is
// nil, it writes all.
func Draw(w io.Writer, lines []Line, chosen []Choice) error {
	_, of := measures(lines)
	if chosen == nil {
		chosen = all(lines)
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(c Choice) bool { return of[c.Measure] == nil })
	rows := (len(chosen) + columns - 1) / columns
	width, height := columns*panelWidth, rows*panelHeight+legendHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n%s\n", width, height, style)
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n%s", width, height, legend)
	for k, c := range chosen {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", k%columns*panelWidth, k/columns*panelHeight+legendHeight)
		p := panel{lines: lines, points: of[c.Measure]}
		p.draw(&b, c.Title)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// panel is the part of the picture for a measure.
type panel struct {
	lines  []Line
	points []point
	most   float64 // the value at the top; the bottom is 0
}

func (p *panel) x(i int) float64 {
	return left + (float64(i)+0.5)/float64(len(p.lines))*(panelWidth-left-right)
}

func (p *panel) y(v float64) float64 {
	return panelHeight - bottom - v/p.most*(panelHeight-top-bottom)
}

func (p *panel) draw(b *strings.Builder, title string) {
	for _, q := range p.points {
		p.most = max(p.most, q.f.Value, q.f.Most, q.f.Least, q.f.Floor)
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(title))
	p.axes(b)
	goal := p.goal(b)
	path := ""
	for _, q := range p.points {
		path += fmt.Sprintf(" %.1f %.1f", p.x(q.i), p.y(q.f.Value))
	}
	fmt.Fprintf(b, `<path class="line" d="M%s"/>`+"\n", path)
	for _, q := range p.points {
		l := &p.lines[q.i]
		class := "noisy"
		if l.Noise.Quiet() {
			class = "quiet"
		}
		fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="4"><title>%s, %s, load %s: %.2f</title></circle>`+"\n",
			class, p.x(q.i), p.y(q.f.Value), html.EscapeString(l.Commit), html.EscapeString(l.Date), html.EscapeString(l.Load), q.f.Value)
	}
	p.floor(b, goal)
}

// axes draws a line at each round value, and the commits. It sets the value at the top.
func (p *panel) axes(b *strings.Builder) {
	step := roundStep(p.most / 3)
	p.most = step * math.Ceil(p.most*1.02/step)
	for i := 0; float64(i)*step <= p.most*1.01; i++ {
		v := float64(i) * step
		fmt.Fprintf(b, `<path class="axis" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%.4g</text>`+"\n",
			left, p.y(v), panelWidth-right, left-6, p.y(v)+4, v)
	}
	every := (len(p.lines) + maxLabelled - 1) / maxLabelled
	for i := 0; i < len(p.lines); i += every {
		name := p.lines[i].Commit
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			p.x(i), panelHeight-bottom+15, html.EscapeString(name[:min(len(name), 7)]))
	}
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is at least v.
func roundStep(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if n*unit >= v {
			return n * unit
		}
	}
	return 10 * unit
}

// goal draws the target of the last run, because targets change. It returns the y of its label.
func (p *panel) goal(b *strings.Builder) float64 {
	last := p.points[len(p.points)-1].f
	goal, sign := last.Most, "at most"
	if last.Least > 0 {
		goal, sign = last.Least, "at least"
	}
	at := p.y(goal)
	fmt.Fprintf(b, `<path class="goal" d="M%d %.1fH%d"/><text class="goaltext" x="%d" y="%.1f">%s %.4g</text>`+"\n",
		left, at, panelWidth-right, panelWidth-right+6, at+4, sign, goal)
	return at
}

// floor draws the floor of each run that has one, over the figures, and a label beside that of the
// target.
func (p *panel) floor(b *strings.Builder, goal float64) {
	var path, marks string
	floor := 0.0
	for _, q := range p.points {
		if q.f.Floor > 0 {
			floor = q.f.Floor
			path += fmt.Sprintf(" %.1f %.1f", p.x(q.i), p.y(floor))
			marks += fmt.Sprintf("M%.1f %.1fl4 4 -4 4 -4 -4z", p.x(q.i), p.y(floor)-4)
		}
	}
	if floor == 0 {
		return
	}
	label := p.y(floor)
	if d := label - goal; math.Abs(d) < lineHeight {
		label = goal + math.Copysign(lineHeight, d)
	}
	fmt.Fprintf(b, `<path class="floor" d="M%s"/><path class="mark" d="%s"/><text class="floortext" x="%d" y="%.1f">floor %.2f</text>`+"\n",
		path, marks, panelWidth-right+6, label+4, floor)
}
