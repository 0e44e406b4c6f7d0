package history

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// The picture has a panel for each measure, with the runs from left to right.
const (
	columns                   = 2
	panelWidth, panelHeight   = 460, 190
	left, right, top, bottom  = 50, 20, 34, 56
	legendHeight, maxLabelled = 40, 12
)

// style has the colours for light and dark backgrounds.
const style = `<style>
svg { --ink: #222; --soft: #ccc; --line: #1b6ca8; --goal: #b3541e; --paper: #fff }
@media (prefers-color-scheme: dark) { svg { --ink: #ddd; --soft: #555; --line: #6db3e8; --goal: #f0a066; --paper: #16191d } }
text { fill: var(--ink) } .axis { stroke: var(--soft); fill: none } .goal { stroke: var(--goal); stroke-dasharray: 6 3 }
.line { stroke: var(--line); stroke-width: 2; fill: none } .quiet { fill: var(--line) }
.noisy { fill: var(--paper); stroke: var(--line); stroke-width: 1.5 } .paper { fill: var(--paper) }
</style>`

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

// Draw writes a history as SVG.
func Draw(w io.Writer, lines []Line) error {
	titles, of := measures(lines)
	rows := (len(titles) + columns - 1) / columns
	width, height := columns*panelWidth, rows*panelHeight+legendHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n%s\n", width, height, style)
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n", width, height)
	for k, t := range titles {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", k%columns*panelWidth, k/columns*panelHeight)
		p := panel{lines: lines, points: of[t]}
		p.draw(&b, t)
		b.WriteString("</g>\n")
	}
	y := height - legendHeight/2
	fmt.Fprintf(&b, `<circle class="quiet" cx="%d" cy="%d" r="4"/><text x="%d" y="%d">quiet run</text>`+"\n", left, y, left+10, y+4)
	fmt.Fprintf(&b, `<circle class="noisy" cx="%d" cy="%d" r="4"/><text x="%d" y="%d">noisy run</text>`+"\n", left+90, y, left+100, y+4)
	fmt.Fprintf(&b, `<path class="goal" d="M%d %dh30"/><text x="%d" y="%d">target</text>`+"\n", left+180, y, left+216, y+4)
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
		p.most = max(p.most, q.f.Value*1.1, q.f.Most*1.1, q.f.Least*1.1)
	}
	// Targets change: the last run has the one to draw.
	last := p.points[len(p.points)-1].f
	goal, sign := last.Most, "at most"
	if last.Least > 0 {
		goal, sign = last.Least, "at least"
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(title))
	fmt.Fprintf(b, `<path class="axis" d="M%d %dV%dH%d"/>`+"\n", left, top, panelHeight-bottom, panelWidth-right)
	for _, v := range []float64{0, p.most / 2, p.most} {
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%.2f</text>`+"\n", left-6, p.y(v)+4, v)
	}
	fmt.Fprintf(b, `<path class="goal" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s %.4g</text>`+"\n",
		left, p.y(goal), panelWidth-right, panelWidth-right, p.y(goal)-4, sign, goal)
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
	step := (len(p.lines) + maxLabelled - 1) / maxLabelled
	for i := 0; i < len(p.lines); i += step {
		name := p.lines[i].Commit
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" font-size="9">%s</text>`+"\n",
			p.x(i), panelHeight-bottom+14, html.EscapeString(name[:min(len(name), 7)]))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">commit</text>`+"\n", panelWidth-right, panelHeight-bottom+30)
}
