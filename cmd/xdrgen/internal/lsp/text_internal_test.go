package lsp

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rpcrdma/rpcrdma/internal/growth"
)

func TestColumnsCountUTF16Units(t *testing.T) {
	x := newText([]byte("aé\U0001F600z\r\n\xffb\rc\n"))
	for _, c := range []struct {
		offset int
		at16   position
		at8    position
	}{
		{0, position{0, 0}, position{0, 0}},
		{1, position{0, 1}, position{0, 1}},
		{3, position{0, 2}, position{0, 3}},
		{7, position{0, 4}, position{0, 7}},
		{8, position{0, 5}, position{0, 8}},
		{10, position{1, 0}, position{1, 0}},
		{11, position{1, 1}, position{1, 1}},
		{12, position{1, 2}, position{1, 2}},
		{13, position{2, 0}, position{2, 0}},
		{15, position{3, 0}, position{3, 0}},
	} {
		if p := x.position(c.offset, utf16Units); p != c.at16 {
			t.Errorf("offset %d is at %v, want %v", c.offset, p, c.at16)
		}
		if p := x.position(c.offset, utf8Bytes); p != c.at8 {
			t.Errorf("offset %d is at %v in bytes, want %v", c.offset, p, c.at8)
		}
		if n := x.offset(c.at16, utf16Units); n != c.offset {
			t.Errorf("%v is offset %d, want %d", c.at16, n, c.offset)
		}
		if n := x.offset(c.at8, utf8Bytes); n != c.offset {
			t.Errorf("%v is offset %d in bytes, want %d", c.at8, n, c.offset)
		}
	}
	for p, want := range map[position]int{
		{0, 3}:                   3, // inside the pair
		{0, 99}:                  8, // before the end of the line
		{1, 4294967295}:          12,
		{4, 0}:                   15,
		{4294967295, 4294967295}: 15,
	} {
		if n := x.offset(p, utf16Units); n != want {
			t.Errorf("%v is offset %d, want %d", p, n, want)
		}
	}
	if p := x.position(2, utf16Units); p != (position{0, 1}) {
		t.Errorf("an offset inside é is at %v", p)
	}
	if p := x.position(9, utf16Units); p != (position{0, 5}) {
		t.Errorf("an offset between the bytes of a line end is at %v", p)
	}
}

// A client keeps lines of UTF-16. The same edits of both give the same text.
func TestEditsAgreeWithAClient(t *testing.T) {
	const letters = "ab\n\r\u00e9\u4e16\U0001F600 "
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		out := make([]rune, r.IntN(6))
		for i := range out {
			out[i] = []rune(letters)[r.IntN(len([]rune(letters)))]
		}
		return string(out)
	}
	server, client := newText(nil), ""
	for range 5000 {
		// The client chooses two of its characters, and finds their lines and columns itself.
		runes := []rune(client)
		from := r.IntN(len(runes) + 1)
		to := min(len(runes), from+r.IntN(5))
		if inEnd(runes, from) || inEnd(runes, to) {
			continue
		}
		with := word()
		c := change{Range: &span{clientPosition(runes[:from]), clientPosition(runes[:to])}, Text: with}
		client = string(runes[:from]) + with + string(runes[to:])
		if len(client) > 400 {
			c, client = change{Text: with}, with
		}
		server = server.apply(c, utf16Units)
		if string(server.bytes) != client {
			t.Fatalf("the server has %q, the client %q", server.bytes, client)
		}
	}
}

// inEnd reports whether a place is between the two characters of a line end.
func inEnd(r []rune, at int) bool { return at > 0 && at < len(r) && r[at-1] == '\r' && r[at] == '\n' }

// clientPosition returns the position after a text.
func clientPosition(before []rune) position {
	var p position
	for i, r := range before {
		switch {
		case r == '\n', r == '\r' && (i+1 == len(before) || before[i+1] != '\n'):
			p = position{Line: p.Line + 1}
		default:
			p.Character += uint32(utf16.RuneLen(r))
		}
	}
	return p
}

// A whole file can be one line.
func TestPlacesInLongLinesTakeLinearTime(t *testing.T) {
	_, err := growth.Linear(40_000, func(n int) func() int {
		x := newText([]byte(strings.Repeat("a\u00e9\U0001F600", n/7)))
		return func() int {
			for _, e := range []encoding{utf16Units, utf8Bytes} {
				for i := 0; i < len(x.bytes); i += 7 {
					if p := x.position(i, e); x.offset(p, e) != i {
						t.Fatalf("offset %d is at %v, which is offset %d", i, p, x.offset(p, e))
					}
				}
			}
			return 0
		}
	})
	if err != nil {
		t.Error(err)
	}
	x := newText([]byte(strings.Repeat("\u00e9\U0001F600", 1000)))
	if p := x.position(6*999+2, utf16Units); p != (position{0, 3*999 + 1}) {
		t.Errorf("the last character is at %v", p)
	}
	if p := x.position(6*999+2, utf8Bytes); p != (position{0, 6*999 + 2}) {
		t.Errorf("the last character is at %v in bytes", p)
	}
	if n := x.offset(position{0, 3*999 + 2}, utf16Units); n != 6*999+2 {
		t.Errorf("the last pair is at offset %d", n)
	}
}

func TestReplacementsGiveTheOtherText(t *testing.T) {
	texts := []string{"", "a\n", "a\nb\nc\n", "a\nx\nc\n", "a\nb\nc", "b\n", "a\r\nb\r\n", "a\r\nc\r\n", "a\na\na\n", "a\na\n", "\u00e9\U0001F600\n", "\u00e9\n"}
	for _, a := range texts {
		for _, b := range texts {
			edits := newText([]byte(a)).replacement([]byte(b), utf16Units)
			out := newText([]byte(a))
			for _, e := range edits {
				out = out.apply(change{Range: &e.Range, Text: e.NewText}, utf16Units)
			}
			if string(out.bytes) != b || a == b && len(edits) != 0 || len(edits) > 1 {
				t.Errorf("%d edits of %q give %q, want %q", len(edits), a, out.bytes, b)
			}
		}
	}
	edits := newText([]byte("a\nb\nc\nd\n")).replacement([]byte("a\nB\nc\nd\n"), utf16Units)
	if want := (span{position{1, 0}, position{2, 0}}); edits[0].Range != want || edits[0].NewText != "B\n" {
		t.Errorf("the edit of one line is %+v", edits[0])
	}
}
