package source

import (
	"strings"
	"testing"
)

func TestOffsetsHavePositions(t *testing.T) {
	f := NewFile("dir/t.x", []byte("ab\n\té§x\r\n\nlast"))
	for _, c := range []struct {
		offset, line, column int
	}{
		{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 2, 2}, {6, 2, 3}, {8, 2, 4}, {11, 3, 1}, {12, 4, 1}, {16, 4, 5}, {99, 4, 5}, {-1, 1, 1},
	} {
		if p := f.Position(c.offset); p.Line != c.line || p.Column != c.column {
			t.Errorf("offset %d: %+v, expected %d:%d", c.offset, p, c.line, c.column)
		}
	}
	for n, want := range map[int]string{0: "", 1: "ab", 2: "\té§x", 3: "", 4: "last", 5: ""} {
		if got := f.Line(n); got != want {
			t.Errorf("line %d: %q, expected %q", n, got, want)
		}
	}
	if f.Base() != "t.x" {
		t.Errorf("base %q", f.Base())
	}
	if e := NewFile("e", nil); e.Position(0) != (Position{1, 1}) || e.Line(1) != "" {
		t.Error("empty file")
	}
}

func TestSpansJoin(t *testing.T) {
	f := NewFile("t.x", []byte("one two three"))
	a, b := Span{f, 0, 3}, Span{f, 8, 13}
	if got := a.To(b).Text(); got != "one two three" {
		t.Errorf("To: %q", got)
	}
	if got := b.To(a).Text(); got != "three" {
		t.Errorf("To an earlier span: %q", got)
	}
	var none Span
	if none.Valid() || none.Text() != "" || none.Position() != (Position{}) || none.EndPosition() != (Position{}) || none.To(a) != a {
		t.Error("the zero span has a place or text, expected neither")
	}
	if (Span{f, 8, 99}).Text() != "three" || (Span{f, 50, 40}).Text() != "" {
		t.Error("a span outside its file")
	}
	if a.EndPosition() != (Position{1, 4}) {
		t.Errorf("end %+v", a.EndPosition())
	}
}

func TestLinesHaveOrigins(t *testing.T) {
	o, err := ParseOrigin([]byte("xdr-origin 1 d.txt\n1-3 d.txt 100\n4 errata d.txt P1-x 17\n5-6 d.txt 200\n"))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[int]string{1: "d.txt:100", 3: "d.txt:102", 4: "errata/d.txt:17 (P1-x)", 6: "d.txt:201"} {
		if p, ok := o.At(line); !ok || p.String() != want {
			t.Errorf("line %d: %v %v, expected %s", line, p, ok, want)
		}
	}
	for _, line := range []int{0, -1, 7} {
		if p, ok := o.At(line); ok {
			t.Errorf("line %d: %v", line, p)
		}
	}
}

func TestOriginBad(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "expected \"xdr-origin 1 DOCUMENT\"",
		"xdr-origin 2 d\n":                      "expected 1: extract",
		"xdr-origin 1 d\n1 d\n":                 "line 2: found 2 words",
		"xdr-origin 1 d\n1 d x\n":               "found \"x\", expected a line number",
		"xdr-origin 1 d\n0 d 1\n":               "found \"0\"",
		"xdr-origin 1 d\n1-x d 1\n":             "found \"x\"",
		"xdr-origin 1 d\n3-1 d 1\n":             "expected its last line not to be before its first",
		"xdr-origin 1 d\n1-2 d 1\n4 d 1\n":      "begins at line 4, expected 3",
		"xdr-origin 1 d\n1 errata d P 1 more\n": "found 6 words",
	} {
		if _, err := ParseOrigin([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add([]byte("xdr-origin 1 d.txt\n1-3 d.txt 100\n4 errata d.txt P1-x 17\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := ParseOrigin(text); err == nil {
			o.At(1)
			o.At(1 << 30)
		}
	})
}
