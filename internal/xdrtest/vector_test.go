package xdrtest

import (
	"strings"
	"testing"
)

const head = "title: T\ntype: Message\nfrom: nowhere §1\n\n"

func TestParse(t *testing.T) {
	v, err := parse(head + "# a remark\n00 00 00 07 # 0: a = 7: why\n68 69 # 4: b = \"hi\": because: of this\n00 00 # 6: padding = 0: RFC 4506 §3\n")
	if err != nil {
		t.Fatal(err)
	}
	if v.Title != "T" || v.Type != "Message" || v.From != "nowhere §1" || string(v.Bytes) != "\x00\x00\x00\x07hi\x00\x00" {
		t.Errorf("got %+v", v)
	}
}

// TestParseRefuses is the canary: bytes that do not agree with their reasoning are no vector.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"00 00 00 07 # 4: a = 7: why", "offset 4, but 0 bytes stand before it"},
		{"00 00 00 07 # 0: a = 8: why", "8 is 00 00 00 08 in 4 bytes, the line has 00 00 00 07"},
		{"00 00 00 07 # 0: a = 7:", `does not say "offset: field = value: why"`},
		{"00 00 00 07", `does not say`},
		{"00 00 00 07 # 0: a: why", `is no "field = value"`},
		{"07 # 0: a = 0x107: why", "value 0x107 does not fit 1 bytes"},
		{"0 # 0: a = 0: why", "odd length"},
		{`68 # 0: a = "i": why`, `"i" is 69 in 1 bytes`},
	} {
		_, err := parse(head + c.line)
		if err == nil || !strings.HasPrefix(err.Error(), "5: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
	if _, err := parse("title: T\ntype: U\n"); err == nil {
		t.Error("a vector that does not say where it is from was read")
	}
}
