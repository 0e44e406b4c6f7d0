package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"

	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// depths are the numbers of calls in flight in the picture.
var depths = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// series are the lines of the picture. What waits in goroutines is dashed.
var series = []struct {
	name   string
	color  string
	dashed bool
}{
	{verbs.Framed, "#888888", true}, {verbs.FramedAsync, "#888888", false},
	{transport.TCPStubs, "#1b6ca8", true}, {transport.TCPStubsAsync, "#1b6ca8", false},
	{transport.RDMATCP, "#b3541e", true}, {transport.RDMATCPAsync, "#b3541e", false},
	{transport.GRPC, "#2e7d4f", true},
}

// drawn matches the rows of the picture.
func drawn() *regexp.Regexp {
	var names []string
	for _, s := range series {
		names = append(names, regexp.QuoteMeta(s.name))
	}
	return regexp.MustCompile("^(" + strings.Join(names, "|") + ") call ")
}

// The picture has two panels: the time of a call, and the processor time of both ends, over the
// calls in flight. All scales are logarithmic.
const (
	panelWidth, panelHeight = 480, 340
	marginLeft, marginTop   = 60, 40
	marginRight, marginLow  = 20, 45
	legendHeight            = 90
)

// writePicture draws results to a file.
func writePicture(name string, results []transport.Result) error {
	var b bytes.Buffer
	draw(&b, results)
	return os.WriteFile(name, b.Bytes(), 0o666)
}

// draw writes results as SVG.
func draw(out io.Writer, results []transport.Result) {
	const width, height = 2 * panelWidth, panelHeight + legendHeight
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for i, p := range []panel{
		{"time of a call, us", func(r *transport.Result) float64 { return r.NS / 1e3 }},
		{"processor time of a call, both ends, us", func(r *transport.Result) float64 { return r.CPU / 1e3 }},
	} {
		fmt.Fprintf(out, `<g transform="translate(%d 0)">`+"\n", i*panelWidth)
		p.draw(out, results)
		fmt.Fprintln(out, "</g>")
	}
	for i, s := range series {
		x, y := marginLeft+i/2*210, panelHeight+20+i%2*24
		fmt.Fprintf(out, `<path d="M%d %dh30" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n", x, y, s.color, dash(s.dashed), x+36, y+4, s.name)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d">dashed: a goroutine waits for each call; 128 bytes each way, one connection over loopback</text>`+"\n", marginLeft, panelHeight+72)
	fmt.Fprintln(out, "</svg>")
}

func dash(dashed bool) string {
	if dashed {
		return ` stroke-dasharray="5 3"`
	}
	return ""
}

// panel draws one figure of the results.
type panel struct {
	title string
	of    func(*transport.Result) float64
}

// x returns the place of a depth.
func (p *panel) x(depth int) float64 {
	all := math.Log2(float64(depths[len(depths)-1]))
	return marginLeft + math.Log2(float64(depth))/all*(panelWidth-marginLeft-marginRight)
}

func (p *panel) draw(out io.Writer, results []transport.Result) {
	low, high := math.Inf(1), 0.0
	for i := range results {
		if v := p.of(&results[i]); v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		return
	}
	low, high = math.Exp2(math.Floor(math.Log2(low))), math.Exp2(math.Floor(math.Log2(high))+1)
	y := func(v float64) float64 {
		return panelHeight - marginLow - math.Log2(v/low)/math.Log2(high/low)*(panelHeight-marginLow-marginTop)
	}
	fmt.Fprintf(out, `<text x="%d" y="24" font-weight="bold">%s</text>`+"\n", marginLeft, p.title)
	for v := low; v <= high; v *= 2 {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			marginLeft, y(v), panelWidth-marginRight, marginLeft-6, y(v)+4, v)
	}
	for _, depth := range depths {
		fmt.Fprintf(out, `<path d="M%.1f %dV%d" stroke="#eee"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n",
			p.x(depth), marginTop, panelHeight-marginLow, p.x(depth), panelHeight-marginLow+17, depth)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">calls in flight</text>`+"\n", panelWidth-marginRight, panelHeight-12)
	for _, s := range series {
		path := ""
		for _, depth := range depths {
			for i := range results {
				if r := &results[i]; r.Name == s.name && r.Shape.Depth == depth && p.of(r) > 0 {
					path += fmt.Sprintf(" %.1f %.1f", p.x(depth), y(p.of(r)))
					break // a load can have two rows
				}
			}
		}
		if path != "" {
			fmt.Fprintf(out, `<path d="M%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path, s.color, dash(s.dashed))
		}
	}
}
