package golden

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffShowsChangedLines(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return b.String()
	}
	tests := []struct {
		name, want, got, diff string
	}{
		{"equal", "a\n", "a\n", ""},
		{"changed line", "a\nb\nc\n", "a\nx\nc\n", "@@ file line 1, output line 1 @@\n  a\n- b\n+ x\n  c\n"},
		{"from nothing", "", "a\n", "@@ file line 1, output line 1 @@\n+ a\n"},
		{"to nothing", "a\n", "", "@@ file line 1, output line 1 @@\n- a\n"},
		{"final newline", "a\n", "a", "@@ file line 1, output line 1 @@\n- a\n+ a (no newline at the end)\n"},
		{"blank at the end", "a\n", "a \n", "@@ file line 1, output line 1 @@\n- a\n+ \"a \"\n"},
		{"control byte", "a\n", "a\x00\n", "@@ file line 1, output line 1 @@\n- a\n+ \"a\\x00\"\n"},
		{
			"two places", numbered(20), strings.Replace(strings.Replace(numbered(20), "line 2\n", "", 1), "line 18\n", "line 18\nnew\n", 1),
			"@@ file line 1, output line 1 @@\n  line 1\n- line 2\n  line 3\n  line 4\n  line 5\n" +
				"@@ file line 16, output line 15 @@\n  line 16\n  line 17\n  line 18\n+ new\n  line 19\n  line 20\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.diff, Diff([]byte(tt.want), []byte(tt.got))); d != "" {
				t.Errorf("Diff (-want +got):\n%s", d)
			}
		})
	}
}

// A diff of large, wholly different files stays short and cheap.
func TestDiffLarge(t *testing.T) {
	a := bytes.Repeat([]byte("a\n"), 5000)
	b := bytes.Repeat([]byte("b\n"), 5000)
	d := Diff(a, b)
	if n := strings.Count(d, "\n"); n != maxShown+2 {
		t.Errorf("%d lines, want %d and a heading and a last line", n, maxShown)
	}
	if !strings.HasSuffix(d, "diff cut after 200 lines\n") {
		t.Errorf("the diff does not say that it was cut: %q", d[len(d)-40:])
	}
}

// Without the added lines and the signs, a diff is the file; without the removed lines, the output.
func TestScriptRebuilds(t *testing.T) {
	texts := []string{"", "a", "a b", "b a", "a b c d", "d c b a", "a x b y c", "x y", "a a a", "a a b a"}
	for _, from := range texts {
		for _, to := range texts {
			var a, b []string
			for _, o := range script(strings.Fields(from), strings.Fields(to)) {
				if o.kind != '+' {
					a = append(a, o.line)
				}
				if o.kind != '-' {
					b = append(b, o.line)
				}
			}
			if strings.Join(a, " ") != from || strings.Join(b, " ") != to {
				t.Errorf("script(%q, %q) rebuilds %q and %q", from, to, a, b)
			}
		}
	}
}
