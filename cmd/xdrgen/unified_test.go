package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestUnifiedDiffHasContext(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		{"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		{"a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n", "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n"},
		{"x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n", "@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n"},
		{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n", "@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- a\n+++ b\n" + want
		}
		if got := unified("a", "b", []byte(c.a), []byte(c.b)); got != want {
			t.Errorf("%q to %q:\n%s\nexpected:\n%s", c.a, c.b, got, want)
		}
	}
}

// TestEditScriptsAreShortest checks that an edit script yields both texts, and that it is as short
// as the quadratic algorithm's.
func TestEditScriptsAreShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() [][]byte {
		var out [][]byte
		for range r.IntN(20) {
			out = append(out, []byte{"abc"[r.IntN(3)], '\n'})
		}
		return out
	}
	long := func() [][]byte { // too many changes for a shortest script
		var out [][]byte
		for i := range 1500 {
			if r.IntN(2) > 0 {
				out = append(out, fmt.Appendf(nil, "%d\n", i/(1+r.IntN(2))))
			}
		}
		return out
	}
	for i := range 3000 {
		a, b := text(), text()
		if i < 20 {
			a, b = long(), long()
		}
		var gotA, gotB []byte
		changes := 0
		for _, e := range script(a, b) {
			if e.op != '+' {
				gotA = append(gotA, e.line...)
			}
			if e.op != '-' {
				gotB = append(gotB, e.line...)
			}
			if e.op != ' ' {
				changes++
			}
		}
		if !bytes.Equal(gotA, bytes.Join(a, nil)) || !bytes.Equal(gotB, bytes.Join(b, nil)) {
			t.Fatalf("%q to %q: got %q and %q", a, b, gotA, gotB)
		}
		want := len(a) + len(b) - 2*common(a, b)
		if i < 20 && changes > want*5/4 || i >= 20 && changes != want {
			t.Fatalf("%q to %q: %d changes, expected %d", a, b, changes, want)
		}
	}
	a, b := strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000)
	if d := unified("a", "b", []byte(a), []byte(b)); strings.Count(d, "\n-") != 3000 {
		t.Error("texts without a common line")
	}
}

// common returns the length of the longest common subsequence.
func common(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if bytes.Equal(a[i], b[j]) {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
