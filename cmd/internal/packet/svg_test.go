package packet_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
)

// rect is the place of a text in a picture.
type rect struct {
	left, top, right, bottom float64
	text                     string
}

// texts parses a picture, and returns the places of its texts and its height.
func texts(t *testing.T, picture string) (out []rect, tall float64) {
	t.Helper()
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	d := xml.NewDecoder(strings.NewReader(picture))
	var class, x, y, text string
	for depth := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, tall
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; e.Name.Local != "text" && e.Name.Local != "svg" {
				continue
			}
			class, text = "", ""
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "class":
					class = a.Value
				case "x":
					x = a.Value
				case "y":
					y = a.Value
				case "viewBox":
					tall = number(strings.Fields(a.Value)[3])
				}
			}
		case xml.CharData:
			text += string(e)
		case xml.EndElement:
			depth--
			if e.Name.Local != "text" {
				continue
			}
			wide, mid := 7.3*float64(utf8.RuneCountInString(text)), number(strings.Fields(x)[0])
			r := rect{mid - wide/2, number(y) - 10, mid + wide/2, number(y) + 3, text}
			switch class {
			case "at":
				wide *= 6.7 / 7.3
				r.left, r.right = mid-wide, mid
			case "head":
				wide *= 6.7 / 7.3
				r.left, r.right = mid, mid+wide
			}
			out = append(out, r)
		}
	}
}

// TestTextsDoNotOverlap checks that pictures are XML in which no text leaves its picture or is over
// another one.
func TestTextsDoNotOverlap(t *testing.T) {
	seen := 0
	for _, file := range []string{"testdata/shapes.x", "../../../spec/x/nfs42/nfs42.x", "../../../spec/x/oncrpc/oncrpc.x", "../../../spec/x/rpcrdma1/rpcrdma1.x"} {
		for _, d := range compile(t, file).Decls {
			p := packet.Of(d)
			if p == nil {
				continue
			}
			all, tall := texts(t, p.SVG(packet.SVGOptions{Ruler: "r", Link: func(d *ir.Decl) string { return "#" + d.Name }}))
			for n, r := range all {
				seen++
				if r.left < 0 || r.right > packet.Width || r.top < 0 || r.bottom > tall {
					t.Errorf("%s: %q is at %v of %v", d.Name, r.text, r, tall)
				}
				for _, o := range all[max(0, n-4):n] {
					if o.left < r.right && r.left < o.right && o.top < r.bottom && r.top < o.bottom {
						t.Errorf("%s: %q is over %q", d.Name, r.text, o.text)
					}
				}
			}
		}
	}
	if seen < 2000 {
		t.Errorf("only %d texts", seen)
	}
}

// TestNamesAreText draws a picture whose names are markup. No name becomes an element.
func TestNamesAreText(t *testing.T) {
	const bad = `</text><script>alert("1")</script>'&`
	p := &packet.Picture{Name: bad, Items: []packet.Item{
		{Kind: packet.Lane, Name: bad, Note: bad, Offset: -1},
		{Kind: packet.Box, Depth: 1, Name: bad, Type: bad, Note: bad, Ref: &ir.Decl{Name: bad}, Rows: 4},
		{Kind: packet.After, Name: bad, Offset: -1},
	}}
	out := p.SVG(packet.SVGOptions{File: true, Ruler: bad, Link: func(*ir.Decl) string { return bad }}) + packet.RulerSymbol(bad)
	if strings.Contains(out, "<script") || strings.Contains(out, `"1"`) {
		t.Error(out)
	}
	texts(t, "<div>"+out+"</div>")
}

// TestLinksOfPictures checks that a type refers to its description, if there is one.
func TestLinksOfPictures(t *testing.T) {
	p := picture(t, compile(t, "testdata/shapes.x"), "kinds")
	out := p.SVG(packet.SVGOptions{Link: func(d *ir.Decl) string {
		if d.Name == "color" {
			return "#t-color"
		}
		return ""
	}})
	if strings.Count(out, "<a ") != 1 || !strings.Contains(out, `<a href="#t-color">color</a>`) || !strings.Contains(out, `<tspan class="soft">verifier</tspan>`) {
		t.Error(out)
	}
}
