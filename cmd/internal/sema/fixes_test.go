package sema

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// TestMovedFindingsAreFound finds a finding where edits have moved it, and nowhere else.
func TestMovedFindingsAreFound(t *testing.T) {
	f := source.NewFile("u.x", make([]byte, 100))
	finding := func(start int) diag.Diagnostic {
		return diag.New(diag.BareUnsigned, source.Span{File: f, Start: start, End: start + 3}, "unsigned without int")
	}
	edit := func(start, end int, text string) diag.Edit {
		return diag.Edit{Span: source.Span{File: f, Start: start, End: end}, Text: text}
	}
	for _, c := range []struct {
		name  string
		edits []diag.Edit
		at    []int // places after the edits at which the finding at 20 is still there
		not   []int
	}{
		{"longer before it", []diag.Edit{edit(3, 4, "abcd"), edit(10, 10, "xy")}, []int{25}, []int{20, 24, 26}},
		{"shorter before it", []diag.Edit{edit(3, 8, ""), edit(19, 20, "")}, []int{14}, []int{13, 15, 20}},
		{"at it", []diag.Edit{edit(3, 3, "x"), edit(20, 23, "four")}, []int{21, 25}, []int{20, 26}},
		{"around it", []diag.Edit{edit(3, 3, "x"), edit(18, 22, "")}, []int{21}, []int{20, 22}},
		{"behind it", []diag.Edit{edit(21, 22, "abc")}, []int{20}, []int{19, 21}},
	} {
		fixed := finding(20)
		fixed.Fix = c.edits
		edits := map[*source.File][]diag.Edit{f: c.edits}
		for _, start := range c.at {
			if gone([]diag.Diagnostic{fixed}, edits, []diag.Diagnostic{finding(start)}) {
				t.Errorf("%s: the finding at %d is gone, expected it to be still there", c.name, start)
			}
		}
		for _, start := range c.not {
			if !gone([]diag.Diagnostic{fixed}, edits, []diag.Diagnostic{finding(start)}) {
				t.Errorf("%s: the finding at %d is still there, expected it to be gone", c.name, start)
			}
		}
	}
}

// TestGoneGrowth looks for n findings that are gone among n others.
func TestGoneGrowth(t *testing.T) {
	costs, err := growth.Linear(4000, func(n int) func() int {
		f := source.NewFile("u.x", make([]byte, 8*n))
		var corrected, after []diag.Diagnostic
		edits := map[*source.File][]diag.Edit{}
		for i := range n {
			at := source.Span{File: f, Start: 8 * i, End: 8*i + 3}
			d := diag.New(diag.BareUnsigned, at, "unsigned without int").Replace(at, "x")
			corrected = append(corrected, d)
			edits[f] = append(edits[f], d.Fix...)
			d.Span.Start = 6*i + 2
			after = append(after, d)
		}
		return func() int {
			if !gone(corrected, edits, after) {
				t.Error("a finding is still there, expected all to be gone")
			}
			return 0
		}
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%v", costs)
}
