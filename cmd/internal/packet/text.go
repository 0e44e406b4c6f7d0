package packet

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Width of pictures in characters: two a bit, and the border.
const (
	textWidth  = 2*32 + 1
	textMargin = 4 // left of the border, for offsets below 1000
	maxOffset  = 999_999
)

// Text returns the picture for a document or a terminal. Lines have at most 69 columns, or 72 if an
// item has an offset of 1000 bytes or more. Offsets of a million bytes or more are not shown.
func (p *Picture) Text() string {
	t := textWriter{margin: textMargin}
	for _, i := range p.Items {
		if i.Kind == Box && i.Offset <= maxOffset {
			t.margin = max(t.margin, len(strconv.FormatInt(i.Offset, 10))+1)
		}
	}
	var tens, ones strings.Builder
	for bit := range 32 {
		ten := " "
		if bit%10 == 0 {
			ten = strconv.Itoa(bit / 10)
		}
		fmt.Fprintf(&tens, " %s", ten)
		fmt.Fprintf(&ones, " %d", bit%10)
	}
	t.line(-1, tens.String())
	t.line(-1, ones.String())
	if len(p.Items) == 0 {
		t.line(-1, border)
		t.line(-1, "|"+center("no bytes", textWidth-2)+"|")
		t.line(-1, border)
	}
	for n, i := range p.Items {
		if i.Kind != Box {
			t.head(i)
			continue
		}
		if n == 0 || p.Items[n-1].Kind == Box {
			t.line(-1, border)
		}
		t.box(i)
		if n == len(p.Items)-1 {
			t.line(-1, border)
		}
	}
	if n := len(p.Items); n > 0 && p.Items[n-1].Kind != Box {
		t.line(-1, border)
	}
	return t.out.String()
}

// border is the line between two rows.
var border = strings.Repeat("+-", 32) + "+"

type textWriter struct {
	out    strings.Builder
	margin int
}

// line writes a line, with the offset in the margin unless it is negative.
func (t *textWriter) line(offset int64, s string) {
	at := ""
	if offset >= 0 && offset <= maxOffset {
		at = strconv.FormatInt(offset, 10)
	}
	fmt.Fprintf(&t.out, "%*s ", t.margin-1, at)
	t.out.WriteString(strings.TrimRight(s, " "))
	t.out.WriteByte('\n')
}

// head writes the head of a lane in place of a border.
func (t *textWriter) head(i Item) {
	mark, text := "=", i.Name
	if i.Note != "" {
		text += ": " + i.Note
	}
	if i.Kind == After {
		mark = "-"
	}
	lead := "+" + strings.Repeat(mark, 2+2*i.Depth) + " "
	for n, part := range wrap(text, textWidth-len(lead)-3) {
		if n > 0 {
			lead = "|" + strings.Repeat(" ", len(lead)-1)
			t.line(-1, pad(lead+part, textWidth-1)+"|")
			continue
		}
		s := lead + part + " "
		t.line(-1, s+strings.Repeat(mark, max(0, textWidth-1-utf8.RuneCountInString(s)))+"+")
	}
}

// box writes the lines of a box, without the borders above and below.
func (t *textWriter) box(i Item) {
	const inner = textWidth - 2
	lines := make([]string, 2*i.Rows-1)
	first, second := i.words()
	whole := first
	if second != "" {
		whole += " (" + second + ")"
	}
	middle := len(lines) / 2
	padding := i.Pad
	if i.Pads {
		padding = 2
	}
	if padding > 0 {
		middle = max(0, middle-1)
	}
	room := inner - 2
	if i.Rows == 1 && padding > 0 {
		room = 16*(4-padding) - 3
	}
	switch {
	case utf8.RuneCountInString(whole) <= room:
		lines[middle] = center(whole, inner)
	case len(lines) > middle+1 && (padding == 0 || len(lines) > middle+3):
		lines[middle], lines[middle+1] = center(shorten(first, room), inner), center(shorten(second, room), inner)
	default:
		lines[middle] = center(shorten(first, room), inner)
	}
	if i.Rows == 1 && padding > 0 {
		lines[0] = center(strings.TrimSpace(lines[0]), 16*(4-padding)-1)
	}
	for n, s := range lines {
		edge := "|"
		switch {
		case i.Torn && (n%2 == 1 || i.Rows == tornRows && i.Pads && n == 0):
			edge = "/"
		case n%2 == 1:
			edge = "+"
		}
		at := int64(notFixed)
		if n == 0 {
			at = i.Offset
		}
		switch cut := 16 * (4 - padding); {
		case padding > 0 && n == len(lines)-1:
			t.line(at, edge+pad(s, cut-1)+"|"+hatch(i, inner-cut)+edge)
		case padding > 0 && n == len(lines)-2:
			t.line(at, edge+pad(s, cut-1)+border[cut:])
		default:
			t.line(at, edge+pad(s, inner)+edge)
		}
	}
}

// words returns the name of a box, and its type and note. It leaves out plain
// types, as documents do.
func (i *Item) words() (name, more string) {
	switch {
	case i.Type == "" || i.Plain:
		return i.Name, i.Note
	case i.Note == "":
		return i.Name, i.Type
	}
	return i.Name, i.Type + ", " + i.Note
}

// hatch returns the text of the padding in a box, in width characters.
func hatch(i Item, width int) string {
	text := " " + hatchText(&i) + " "
	left := (width-len(text))/2 | 1 // after a mark
	marks := strings.Repeat(`\ `, width)
	return marks[:left] + text + marks[left+len(text):width]
}

// center returns a text in the middle of width characters.
func center(s string, width int) string {
	return pad(strings.Repeat(" ", max(0, (width-utf8.RuneCountInString(s))/2))+s, width)
}

// pad adds blanks up to width characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// wrap breaks a text into lines of at most width characters.
func wrap(s string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(s) {
		w = shorten(w, width)
		if n := utf8.RuneCountInString(line); line != "" && n+1+utf8.RuneCountInString(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
