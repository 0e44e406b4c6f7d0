package ladder

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxDrawn is the number of calls in a picture.
const MaxDrawn = 60

// Sizes of the picture in pixels.
const (
	clientX, serverX = 250, 650
	width            = 900
	slot             = 9      // between bars of calls at the same time
	slots            = 6      // bars side by side
	least, most      = 15, 60 // between two times
	top              = 30
)

// style has the colours for light paper, and again for a reader who prefers dark. They are not
// variables, which some programs that show SVG do not know.
const style = `<style>
svg{font:12px system-ui,sans-serif}
text{fill:#1c1f24}.soft{fill:#5a626d}.end{text-anchor:end}.middle{text-anchor:middle}.head{font-weight:600}.failed{fill:#b3261e}
.paper{fill:#ffffff}line{stroke-width:1.5}.lane{stroke:#b9c0c9}.gap{stroke:#5a626d;stroke-dasharray:2 3}
line.sent{stroke:#2f6db5}.sent{fill:#2f6db5}line.received{stroke:#7a4fb0}.received{fill:#7a4fb0}.waited{fill:#c77700}.served{fill:#2a8a57}
@media (prefers-color-scheme:dark){
text{fill:#e6e8eb}.soft{fill:#a0a8b3}.failed{fill:#f28b82}.paper{fill:#14171b}.lane{stroke:#4a525d}.gap{stroke:#a0a8b3}
line.sent{stroke:#6aa6ec}.sent{fill:#6aa6ec}line.received{stroke:#b08be0}.received{fill:#b08be0}.waited{fill:#e0a040}.served{fill:#58bd87}
}
</style>
`

// picture places times from top to bottom. The distance of two times grows with the time between
// them, from least to most; a longer time is drawn as a gap.
type picture struct {
	strings.Builder
	times []int64
	y     []int // of times
	scale float64
	busy  [slots]int64 // until when a bar is in a slot
}

// SVG writes a picture of the first MaxDrawn calls: time runs downwards, the client is on the left.
// Colours follow the reader's preference for light or dark.
func (l *Ladder) SVG(w io.Writer) error {
	rungs := l.Rungs[:min(len(l.Rungs), MaxDrawn)]
	var p picture
	head := l.head()
	if n := len(l.Rungs) - len(rungs); n > 0 {
		head = append(head, fmt.Sprintf("the first %d calls; %d more are not drawn", len(rungs), n))
	}
	begin := top + 18*len(head) + 40
	p.place(rungs, begin)
	end := begin
	if len(p.y) > 0 {
		end = p.y[len(p.y)-1]
	}
	summary := l.Summary()
	height := end + 50 + 18*len(summary)
	fmt.Fprintf(&p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="calls between client and server">`+"\n", width, height, width, height)
	p.WriteString(style)
	p.WriteString(`<rect class="paper" width="100%" height="100%"/>` + "\n")
	for i, line := range head {
		p.text(20, top+18*i, "soft", line)
	}
	p.legend(begin - 40)
	p.text(clientX, begin-14, "middle head", "client")
	p.text(serverX, begin-14, "middle head", "server")
	for _, x := range []int{clientX, serverX} {
		fmt.Fprintf(&p, `<line class="lane" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x, begin-6, x, end+10)
	}
	p.gaps()
	for i := range rungs {
		p.rung(&rungs[i], rungs[0].First)
	}
	for i, line := range summary {
		p.text(20, end+40+18*i, "soft", line)
	}
	p.WriteString("</svg>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// place gives each time of the calls its height.
func (p *picture) place(rungs []Rung, begin int) {
	var all int64
	for i := range rungs {
		r := &rungs[i]
		p.times = append(p.times, r.First, r.Whole, r.Arrived, r.Answered, r.Last)
		all += r.Took()
	}
	slices.Sort(p.times)
	p.times = slices.Compact(p.times)
	if all > 0 { // a call of mean length has about 100 pixels
		p.scale = 100 * float64(len(rungs)) / float64(all)
	}
	y := begin
	for i, t := range p.times {
		if i > 0 {
			y += min(max(int(float64(t-p.times[i-1])*p.scale), least), most)
		}
		p.y = append(p.y, y)
	}
}

// at returns the height of a time.
func (p *picture) at(t int64) int {
	i, _ := slices.BinarySearch(p.times, t)
	return p.y[min(i, len(p.y)-1)]
}

// gaps marks the places where the picture leaves out time.
func (p *picture) gaps() {
	for i := 1; i < len(p.times); i++ {
		if between := p.times[i] - p.times[i-1]; float64(between)*p.scale > 3*most {
			y := (p.y[i] + p.y[i-1]) / 2
			fmt.Fprintf(&p.Builder, `<line class="gap" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", clientX+20, y, serverX-20, y)
			p.text((clientX+serverX)/2, y-4, "middle soft", ms(between)+" ms")
		}
	}
}

// rung draws a call.
func (p *picture) rung(r *Rung, start int64) {
	column := 0
	for i, until := range p.busy {
		if until < r.First || until < p.busy[column] {
			if column = i; until < r.First {
				break
			}
		}
	}
	p.busy[column] = r.Last
	left, right := clientX-column*slot, serverX+column*slot
	fmt.Fprintf(p, "<g><title>%s</title>\n", clean(fmt.Sprintf("%#08x %s: %s; waited %s, sent %s, served %s, received %s, took %s ms",
		r.Key.XID, r.Name, r.Outcome, ms(r.Waited()), ms(r.Sent()), ms(r.Served()), ms(r.Received()), ms(r.Took()))))
	p.bar("waited", left-3, r.First, r.Whole)
	p.bar("served", right-3, r.Arrived, r.Answered)
	p.arrow("sent", left, r.Whole, right, r.Arrived)
	p.arrow("received", right, r.Answered, left, r.Last)
	class := "end"
	if r.Failed {
		class = "end failed"
	}
	x := clientX - slots*slot - 4
	p.text(x, p.at(r.First)+4, "end", cut(r.Name, 24))
	p.text(x, p.at(r.Last)+4, class, cut(r.Outcome, 24))
	p.text(serverX+slots*slot+4, p.at(r.Arrived)+4, "soft", fmt.Sprintf("called at %.6f s", float64(r.First-start)/1e9))
	p.text(serverX+slots*slot+4, p.at(r.Answered)+4, "", "served "+ms(r.Served())+" ms of "+ms(r.Took()))
	p.WriteString("</g>\n")
}

func (p *picture) bar(class string, x int, from, to int64) {
	if a, b := p.at(from), p.at(to); to > from {
		fmt.Fprintf(&p.Builder, `<rect class="%s" x="%d" y="%d" width="6" height="%d"/>`+"\n", class, x, a, b-a)
	}
}

// arrow draws a line with a head.
func (p *picture) arrow(class string, x int, from int64, to int, at int64) {
	y, end := p.at(from), p.at(at)
	back := 8
	if to < x {
		back = -8
	}
	slope := float64(end-y) / float64(to-x)
	base := float64(end) - slope*float64(back)
	fmt.Fprintf(&p.Builder, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%.1f"/><path class="%s" d="M%d %dL%d %.1fL%d %.1fz"/>`+"\n",
		class, x, y, to-back, base, class, to, end, to-back, base-3.5, to-back, base+3.5)
}

func (p *picture) legend(y int) {
	x := 20
	for _, e := range []struct{ class, text string }{{"waited", "waited"}, {"sent", "sent"}, {"served", "served"}, {"received", "received"}} {
		fmt.Fprintf(&p.Builder, `<rect class="%s" x="%d" y="%d" width="10" height="10"/>`+"\n", e.class, x, y-9)
		p.text(x+15, y, "soft", e.text)
		x += 90
	}
}

func (p *picture) text(x, y int, class, s string) {
	fmt.Fprintf(&p.Builder, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, clean(s))
}

// cut returns the beginning of a text.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// clean returns a text for XML.
func clean(s string) string {
	s = shown(s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
