package sema

import (
	"path/filepath"
	"slices"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// maxTrials limits how often a unit is compiled to try fixes, and maxTried how
// many bytes that are in all, though a first trial always takes place. A fix
// that was not tried is not offered.
const (
	maxTrials = 64
	maxTried  = 4 << 20
)

// tryFixes removes the fixes that do not leave the unit better: with a fix
// applied, its finding must be gone, and no other may have come.
func (r *Result) tryFixes(o Options) {
	size := 1
	for _, f := range r.Files {
		size += len(f.Text)
	}
	t := trial{o: o, before: r.Diags, left: min(maxTrials, max(maxTried/size, 1))}
	var first, meeting []int // findings with a fix; those whose edits meet an earlier one's
	end := map[*source.File]int{}
	order := make([]int, 0, len(r.Diags))
	for i, d := range r.Diags {
		if len(d.Fix) > 0 && !d.Fix[0].Span.File.Made {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		return r.Diags[order[i]].Fix[0].Span.Start < r.Diags[order[j]].Fix[0].Span.Start
	})
	for _, i := range order {
		fix := r.Diags[i].Fix
		f := fix[0].Span.File
		if last, ok := end[f]; ok && fix[0].Span.Start <= last {
			meeting = append(meeting, i)
			continue
		}
		end[f] = fix[len(fix)-1].Span.End
		first = append(first, i)
	}
	good := t.choose(nil, first)
	for _, i := range meeting {
		if t.better([]int{i}) {
			good = append(good, i)
		}
	}
	r.Diags = slices.Clone(r.Diags)
	for i := range r.Diags {
		if len(r.Diags[i].Fix) > 0 && !slices.Contains(good, i) {
			r.Diags[i].Fix = nil
		}
	}
}

// trial compiles a unit with fixes applied.
type trial struct {
	o      Options
	before []diag.Diagnostic
	left   int // compilations
}

// choose returns the findings of kept and of set whose fixes can be applied
// together. Both are in order of place.
func (t *trial) choose(kept, set []int) []int {
	all := append(slices.Clone(kept), set...)
	switch {
	case len(set) == 0 || t.better(all):
		return all
	case len(set) == 1:
		return kept
	}
	half := len(set) / 2
	return t.choose(t.choose(kept, set[:half]), set[half:])
}

// better reports whether the unit with the fixes of some findings lacks those
// findings and has no further ones. Two kinds of warning may come up: one that
// is given once for each file or name, at its next place, and one behind a
// fault of grammar that has a fix as well.
func (t *trial) better(set []int) bool {
	if t.left == 0 {
		return false
	}
	t.left--
	o := t.o
	o.untried = true
	edits := map[*source.File][]diag.Edit{}
	for _, i := range set {
		f := t.before[i].Fix[0].Span.File
		edits[f] = append(edits[f], t.before[i].Fix...)
	}
	changed := changedFS{t.o.FS, map[string][]byte{}}
	for f, e := range edits {
		changed.files[f.Name] = diag.Apply(f, e)
	}
	o.FS = changed
	r, err := Compile(o)
	if err != nil {
		return false
	}
	type said struct {
		rule    diag.Rule
		message string
	}
	had := map[said]int{}
	for _, d := range t.before {
		had[said{d.Rule, d.Message}]++
	}
	mended := map[said]bool{}
	rules := map[diag.Rule]bool{}
	for _, i := range set {
		d := t.before[i]
		had[said{d.Rule, d.Message}]--
		mended[said{d.Rule, d.Message}], rules[d.Rule] = true, true
		if remains(d, edits[d.Fix[0].Span.File], r.Diags) {
			return false
		}
	}
	for _, d := range r.Diags {
		k := said{d.Rule, d.Message}
		if had[k]--; had[k] < 0 && !mended[k] && !(d.Severity == diag.Warning && (rules[d.Rule] || len(d.Fix) > 0)) {
			return false
		}
	}
	return true
}

// remains reports whether a finding is still there, at its place, after edits
// of its file.
func remains(d diag.Diagnostic, edits []diag.Edit, after []diag.Diagnostic) bool {
	low, high := d.Span.Start, d.Span.Start
	for _, e := range edits {
		switch moved := len(e.Text) - (e.Span.End - e.Span.Start); {
		case e.Span.End <= d.Span.Start && e.Span.Start < d.Span.Start:
			low, high = low+moved, high+moved
		case e.Span.Start == d.Span.Start:
			high += len(e.Text)
		}
	}
	for _, a := range after {
		if a.Rule == d.Rule && a.Message == d.Message && a.Span.File != nil && a.Span.File.Name == d.Span.File.Name &&
			a.Span.Start >= low && a.Span.Start <= high {
			return true
		}
	}
	return false
}

// changedFS is a file system with some files replaced, by their names with
// slashes.
type changedFS struct {
	FileSystem
	files map[string][]byte
}

func (c changedFS) ReadFile(name string) ([]byte, error) {
	if text, ok := c.files[filepath.ToSlash(name)]; ok {
		return text, nil
	}
	return c.FileSystem.ReadFile(name)
}
