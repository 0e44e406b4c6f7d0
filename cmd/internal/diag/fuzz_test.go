package diag

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// FuzzText writes findings at any places of any text, in every form. No writer must panic. The
// text form must mark the place, limit its lines and have no control characters.
func FuzzText(f *testing.F) {
	f.Add([]byte("struct a { int b; };\n\tint 漢e\u0301 c;\r\nd"), 3, 9, 20, 40, ";\n")
	f.Add([]byte(strings.Repeat("\tx漢", 200)+"\n\n\x1b[31m\xff\xfe"), 500, 520, 0, 3, "")
	f.Fuzz(func(t *testing.T, text []byte, a, b, c, d int, fix string) {
		if len(text) > 1<<12 || len(fix) > 100 {
			return
		}
		at := func(x, y int) source.Span {
			x, y = inside(x, len(text)), inside(y, len(text))
			return source.Span{File: fileOf(text), Start: min(x, y), End: max(x, y)}
		}
		first := at(a, b)
		second := at(c, d)
		second.File = first.File
		x := New(DuplicateName, first, "m").With(second, "label "+fix).Replace(second, fix)
		var out strings.Builder
		if err := WriteText(&out, x, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{WriteJSON(io.Discard, x), WriteGitHub(io.Discard, x), WriteSARIF(io.Discard, []Diagnostic{x})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(out.String(), "^") {
			t.Errorf("found no mark:\n%s", out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(line); n > 3*maxColumns+len(fix) {
				t.Errorf("line of %d characters: %s", n, line)
			}
			if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\t\r\x1b\x00") {
				t.Errorf("found a control character in line %q", line)
			}
		}
	})
}

// inside returns a number from 0 to n.
func inside(x, n int) int { return int(uint(x) % uint(n+1)) }

func fileOf(text []byte) *source.File { return source.NewFile("f.x", text) }
