package main

import (
	"fmt"
	"io"
	"math"

	"github.com/rpcrdma/rpcrdma/bench/continued"
)

// The picture has a panel for each provider and direction: the time of an RPC over the length of
// its data, both logarithmic.
const (
	panelWidth, panelHeight = 400, 300
	marginLeft, marginTop   = 60, 40
	legendHeight            = 60
)

// line is a line in each panel: a way, at one inline size.
type line struct {
	way    func(direction string) string
	inline int
	name   string
	color  string
	dashed bool
}

// lines returns the lines. The time of a chunk depends little on the inline size.
func lines() []line {
	at := func(i int) func(string) string {
		return func(direction string) string { return continued.Ways(direction)[i] }
	}
	small := continued.Inlines[0]
	list := []line{
		{at(1), small, "data by chunk", "#d95f02", true},
		{at(2), small, "whole message by chunk", "#7570b3", true},
	}
	for i, inline := range continued.Inlines {
		color := []string{"#66c2a4", "#2ca25f", "#006d2c"}[i]
		list = append(list, line{at(0), inline, fmt.Sprintf("continued, inline %d KiB", inline>>10), color, false})
	}
	return list
}

// draw writes the results as SVG. A way that was not measured has no line.
func draw(out io.Writer, results []continued.Result) {
	const width, height = 2 * panelWidth, 2*panelHeight + legendHeight
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for i, provider := range []string{continued.Mem, continued.RDMATCP} {
		for j, direction := range []string{continued.Call, continued.Reply} {
			p := panel{results: results, provider: provider, direction: direction}
			fmt.Fprintf(out, `<g transform="translate(%d %d)">`+"\n", j*panelWidth, i*panelHeight)
			p.draw(out)
			fmt.Fprintln(out, "</g>")
		}
	}
	for i, l := range lines() {
		x, y := marginLeft+i%3*240, 2*panelHeight+20+i/3*20
		fmt.Fprintf(out, `<path d="M%d %dh30" stroke="%s" stroke-width="2"%s/>`+"\n", x, y, l.color, l.dash())
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", x+36, y+4, l.name)
	}
	fmt.Fprintln(out, "</svg>")
}

func (l *line) dash() string {
	if l.dashed {
		return ` stroke-dasharray="5 3"`
	}
	return ""
}

// panel is the part of the picture for a provider and a direction.
type panel struct {
	results             []continued.Result
	provider, direction string
	low, high           float64 // powers of two, in us
}

// x and y return the place of a length in bytes, and of a time in us.
func (p *panel) x(size int) float64 {
	first, last := continued.Sizes[0], continued.Sizes[len(continued.Sizes)-1]
	return marginLeft + math.Log2(float64(size)/float64(first))/math.Log2(float64(last)/float64(first))*(panelWidth-marginLeft-20)
}

func (p *panel) y(us float64) float64 {
	return panelHeight - 45 - math.Log2(us/p.low)/math.Log2(p.high/p.low)*(panelHeight-45-marginTop)
}

func (p *panel) draw(out io.Writer) {
	p.low, p.high = math.Inf(1), 0
	for i := range p.results {
		if r := &p.results[i]; r.Provider == p.provider && r.Direction == p.direction {
			p.low, p.high = min(p.low, r.NS/1e3), max(p.high, r.NS/1e3)
		}
	}
	if p.high == 0 {
		return
	}
	p.low, p.high = math.Exp2(math.Floor(math.Log2(p.low))), math.Exp2(math.Floor(math.Log2(p.high))+1)
	fmt.Fprintf(out, `<text x="%d" y="24" font-weight="bold">%s: %s, us</text>`+"\n", marginLeft, p.provider, p.direction)
	for us := p.low; us <= p.high; us *= 2 {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			marginLeft, p.y(us), panelWidth-20, marginLeft-6, p.y(us)+4, us)
	}
	for _, size := range continued.Sizes {
		fmt.Fprintf(out, `<path d="M%.1f %dV%d" stroke="#eee"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n",
			p.x(size), marginTop, panelHeight-45, p.x(size), panelHeight-28, size>>10)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">KiB of data</text>`+"\n", panelWidth-20, panelHeight-12)
	for _, l := range lines() {
		path := ""
		for _, size := range continued.Sizes {
			if r := find(p.results, p.provider, p.direction, l.way(p.direction), l.inline, size); r != nil {
				path += fmt.Sprintf(" %.1f %.1f", p.x(size), p.y(r.NS/1e3))
			}
		}
		if path != "" {
			fmt.Fprintf(out, `<path d="M%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path, l.color, l.dash())
		}
	}
}
