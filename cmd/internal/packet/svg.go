package packet

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Sizes of an SVG picture in pixels. The boxes have 16 pixels for a bit.
const (
	Width    = boxLeft + boxWidth + 6 // of a picture
	boxLeft  = 72                     // before it are offsets, and bars of lanes
	boxWidth = 32 * bit
	bit      = 16
	rowTall  = 32
	headTall = 24 // of a lane's head with one line
	lineTall = 16
	rulerTop = 34 // lower end of the ruler
	laneStep = 6  // between bars of lanes
	letter   = 7.3
	small    = 6.7 // width of a letter in offsets and heads
)

// Style is the style of SVG pictures. A page has it once. Pictures are Width pixels wide with it,
// or less in a place that is not as wide.
const Style = `.packet{width:590px;max-width:100%}.packet text{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;text-anchor:middle;fill:#1c1f24}
.packet .soft{fill:#5a626d}.packet .at{font-size:11px;text-anchor:end;fill:#5a626d}.packet .head{font-size:11px;text-anchor:start;font-weight:600}
.packet path{fill:none;stroke:#3c434c}.packet .hatch{stroke:#a8b0ba}.packet .bits{stroke-width:5;stroke-dasharray:1 15}
.packet .paper{fill:#fff;stroke:none}.packet .lane{fill:#e3ecf8;stroke:#3c434c}.packet .after{fill:#eceef1;stroke:#3c434c}.packet .bar{stroke:#2f6db5;stroke-width:3}
.packet a text,.packet a{fill:#1f5fae;text-decoration:underline}
@media (prefers-color-scheme:dark){@media not print{.packet text{fill:#e6e8eb}.packet .soft,.packet .at{fill:#a0a8b3}.packet path{stroke:#a0a8b3}.packet .hatch{stroke:#5d6672}
.packet .paper{fill:#14171b}.packet .lane{fill:#1d3049;stroke:#a0a8b3}.packet .after{fill:#282d34;stroke:#a0a8b3}.packet .bar{stroke:#6aa6ec}.packet a text,.packet a{fill:#82b4f0}}}
`

// SVGOptions are the options of SVG.
type SVGOptions struct {
	// Link returns the address of a declaration's description, or "" for none. If nil, the picture
	// has no links.
	Link func(*ir.Decl) string
	// File says that the picture becomes a file: it has Style, a namespace and a background.
	File bool
	// Ruler is the id of a ruler that RulerSymbol has put into the page. If empty, the picture has
	// one.
	Ruler string
}

// SVG returns the picture as SVG, Width pixels wide. Text in it is escaped.
func (p *Picture) SVG(o SVGOptions) string {
	s := svg{o: o}
	y := rulerTop
	if len(p.Items) == 0 {
		s.frame(y, rowTall)
		s.text("soft", boxLeft+boxWidth/2, y+rowTall/2+4, "no bytes")
		y += rowTall
	}
	for n := range p.Items {
		y = s.item(p.Items, n, y)
	}
	for len(s.open) > 0 {
		s.close(y)
	}
	tall := y + 4
	var out strings.Builder
	space, size := "", ""
	if o.File {
		space, size = ` xmlns="http://www.w3.org/2000/svg"`, fmt.Sprintf(` width="%d" height="%d"`, Width, tall)
	}
	name := html.EscapeString(p.Name)
	fmt.Fprintf(&out, `<svg%s class="packet" viewBox="0 0 %d %d"%s role="group"><title>Packet picture of %s, %s</title>`, space, Width, tall, size, name, SizeText(p.Size))
	if o.File {
		fmt.Fprintf(&out, "\n<style>\n%s</style>\n", Style)
		fmt.Fprintf(&out, `<rect class="paper" width="%d" height="%d"/>`+"\n", Width, tall)
	}
	if o.Ruler == "" {
		out.WriteString(ruler())
	} else {
		fmt.Fprintf(&out, `<use href="#%s"/>`, html.EscapeString(o.Ruler))
	}
	out.WriteString(s.layers())
	out.WriteString("</svg>\n")
	return out.String()
}

// RulerSymbol returns the ruler of pictures with an id, for a page that shows many. It also has the
// padding of data whose length varies, with the id and "-pad".
func RulerSymbol(id string) string {
	var s svg
	s.padding(&Item{Rows: 1, Pads: true}, 0)
	id = html.EscapeString(id)
	return fmt.Sprintf(`<svg class="packet" width="0" height="0" aria-hidden="true"><defs><g class="packet" id="%s">%s</g><g class="packet" id="%s-pad">%s</g></defs></svg>`, id, ruler(), id, s.layers())
}

// layers returns the picture without its head.
func (s *svg) layers() string {
	var out strings.Builder
	out.WriteString(s.below.String())
	if s.hatch.Len() > 0 {
		fmt.Fprintf(&out, `<path class="hatch" d="%s"/>`, s.hatch.String())
	}
	if s.frames.Len() > 0 {
		fmt.Fprintf(&out, `<path d="%s"/>`, s.frames.String())
	}
	if s.bars.Len() > 0 {
		fmt.Fprintf(&out, `<path class="bar" d="%s"/>`, s.bars.String())
	}
	out.WriteString(s.above.String())
	return out.String()
}

// ruler returns the numbers of the bits.
func ruler() string {
	var tens, ones []string
	digits := ""
	for n := range 32 {
		x := strconv.Itoa(boxLeft + bit*n + bit/2)
		if n%10 == 0 {
			tens = append(tens, x)
		}
		ones = append(ones, x)
		digits += strconv.Itoa(n % 10)
	}
	return fmt.Sprintf(`<g aria-hidden="true"><text class="soft" x="%s" y="11">0123</text><text class="soft" x="%s" y="25">%s</text><path class="bits" d="M%.1f %dh%d"/></g>`,
		strings.Join(tens, " "), strings.Join(ones, " "), digits, boxLeft-.5, rulerTop-2, boxWidth+1)
}

// svg collects the layers of a picture.
type svg struct {
	o                   SVGOptions
	below, above        strings.Builder // heads of lanes; texts
	frames, hatch, bars strings.Builder // paths
	open                []int           // tops of the lanes that have not ended
}

// item draws an item at height y, and returns the height below it.
func (s *svg) item(items []Item, n, y int) int {
	i := &items[n]
	for len(s.open) > i.Depth {
		s.close(y)
	}
	if i.Kind != Box {
		return s.head(i, y)
	}
	tall := i.Rows * rowTall
	if i.Offset >= 0 && i.Offset <= maxOffset {
		s.text("at", boxLeft-8-laneStep*i.Depth, y+rowTall/2+4, strconv.FormatInt(i.Offset, 10))
	}
	if i.Torn {
		s.torn(y, tall, i.Pads)
	} else {
		s.frame(y, tall)
	}
	s.padding(i, y)
	s.label(i, y)
	return y + tall
}

// close draws the bar of the innermost lane.
func (s *svg) close(y int) {
	n := len(s.open) - 1
	fmt.Fprintf(&s.bars, "M%d %dV%d", boxLeft-9-laneStep*n, s.open[n]+1, y-1)
	s.open = s.open[:n]
}

// head draws the head of a lane.
func (s *svg) head(i *Item, y int) int {
	text, class := i.Name, "lane"
	if i.Note != "" {
		text += ": " + i.Note
	}
	if i.Kind == After {
		class = "after"
	}
	inset := 8 + 12*i.Depth
	lines := wrap(text, int(float64(boxWidth-inset-8)/small))
	tall := headTall + lineTall*(len(lines)-1)
	fmt.Fprintf(&s.below, `<path class="%s" d="M%d %dh%dv%dh-%dz"/>`, class, boxLeft, y, boxWidth, tall, boxWidth)
	for n, l := range lines {
		s.text("head", boxLeft+inset, y+16+lineTall*n, l)
	}
	if i.Kind == Lane {
		s.open = append(s.open, y)
	}
	return y + tall
}

// frame draws the border of a box, with marks between its rows.
func (s *svg) frame(y, tall int) {
	fmt.Fprintf(&s.frames, "M%d %dh%dv%dh-%dz", boxLeft, y, boxWidth, tall, boxWidth)
	for row := rowTall; row < tall; row += rowTall {
		fmt.Fprintf(&s.frames, "M%d %dh5m%d 0h5", boxLeft, y+row, boxWidth-10)
	}
}

// torn draws the border of a box whose sides are torn: above its last row, if that ends in padding.
func (s *svg) torn(y, tall int, above bool) {
	mid := tall / 2
	if above {
		mid = (tall - rowTall) / 2
	}
	side := fmt.Sprintf("v%dl-5 4 10 8-10 8 5 4V%d", mid-12, y+tall)
	fmt.Fprintf(&s.frames, "M%d %dh%d", boxLeft, y, boxWidth)
	fmt.Fprintf(&s.frames, "M%d %d%s", boxLeft, y, side)
	fmt.Fprintf(&s.frames, "M%d %d%sh-%d", boxLeft+boxWidth, y, side, boxWidth)
}

// padding draws the padding at the end of a box.
func (s *svg) padding(i *Item, y int) {
	zeros := i.Pad
	if i.Pads {
		zeros = 3
	}
	switch {
	case zeros == 0:
		return
	case i.Pads && s.o.Ruler != "":
		fmt.Fprintf(&s.above, `<use href="#%s-pad" y="%d"/>`, html.EscapeString(s.o.Ruler), y+(i.Rows-1)*rowTall)
		return
	}
	left, top, wide := boxLeft+boxWidth-8*bit*zeros, y+(i.Rows-1)*rowTall, 8*bit*zeros
	text := hatchText(i)
	room := int(float64(len(text))*letter) + 12
	fmt.Fprintf(&s.frames, "M%d %dV%dh%d", left, top+rowTall, top, wide)
	for x := 8 - rowTall; x < wide; x += 8 {
		s.stroke(left, top, wide, x, (wide-room)/2, (wide+room)/2)
	}
	s.text("soft", left+wide/2, top+rowTall/2+4, text)
}

// stroke draws a diagonal of the hatching that begins x pixels from the left end at the bottom. It
// leaves out the columns between from and to.
func (s *svg) stroke(left, top, wide, x, from, to int) {
	for _, part := range [][2]int{{max(x, 0), min(x+rowTall, from)}, {max(x, to), min(x+rowTall, wide)}} {
		if begin, end := part[0], part[1]; begin < end {
			fmt.Fprintf(&s.hatch, "M%d %dl%d-%d", left+begin, top+rowTall-(begin-x), end-begin, end-begin)
		}
	}
}

// label writes the name, the type and the note of a box.
func (s *svg) label(i *Item, y int) {
	wide, mid, tall := boxWidth, boxLeft+boxWidth/2, i.Rows*rowTall
	switch {
	case i.Pads || i.Pad > 0 && i.Rows > 1:
		tall -= rowTall
	case i.Pad > 0:
		wide -= 8 * bit * i.Pad
		mid = boxLeft + wide/2
	}
	room := int(float64(wide-24) / letter)
	name, types, note := shorten(i.Name, room), i.Type, shorten(i.Note, room)
	length := utf8.RuneCountInString
	one := length(name)
	for _, more := range []string{types, note} {
		if more != "" {
			one += 2 + length(more)
		}
	}
	y += tall/2 + 4
	switch {
	case one <= room:
		s.line(i, mid, y, name, types, note)
	case tall >= 2*rowTall:
		s.line(i, mid, y-9, name, "", "")
		if left := room - 2 - length(note); note != "" && left >= 8 {
			types = shorten(types, left)
		} else if note != "" {
			types = ""
		}
		s.line(i, mid, y+9, "", shorten(types, room), note)
	case types != "" && length(name)+2+length(types) <= room:
		s.line(i, mid, y, name, types, "")
	case note != "" && length(name)+2+length(note) <= room:
		s.line(i, mid, y, name, "", note)
	default:
		s.line(i, mid, y, name, "", "")
	}
}

// line writes a line of text, in which the type refers to its description.
func (s *svg) line(i *Item, x, y int, name, types, note string) {
	var parts []string
	if name != "" {
		parts = append(parts, html.EscapeString(name))
	}
	if types != "" {
		href := ""
		if s.o.Link != nil && i.Ref != nil {
			href = s.o.Link(i.Ref)
		}
		t := html.EscapeString(types)
		if href != "" {
			parts = append(parts, `<a href="`+html.EscapeString(href)+`">`+t+`</a>`)
		} else {
			parts = append(parts, `<tspan class="soft">`+t+`</tspan>`)
		}
	}
	if note != "" {
		parts = append(parts, `<tspan class="soft">`+html.EscapeString(note)+`</tspan>`)
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	fmt.Fprintf(&s.above, `<text x="%d" y="%d">%s</text>`, x, y, strings.Join(parts, "\u00a0 "))
}

// text writes a text of a class.
func (s *svg) text(class string, x, y int, text string) {
	fmt.Fprintf(&s.above, `<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, html.EscapeString(text))
}
