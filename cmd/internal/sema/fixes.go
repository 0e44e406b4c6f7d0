package sema

import (
	"path/filepath"
	"slices"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// maxTrials limits the number of compilations that try fixes of a unit. maxTried limits the bytes
// that they compile, except for the first compilation. A fix that was not tried is removed.
const (
	maxTrials = 64
	maxTried  = 4 << 20
)

// tryFixes removes the fixes that do not improve the unit: with a fix applied, its finding
// must be gone, and no new finding may appear.
func (r *Result) tryFixes(o Options) {
	size := 1
	for _, f := range r.Files {
		size += len(f.Text)
	}
	t := trial{o: o, before: r.Diags, left: min(maxTrials, max(maxTried/size, 1))}
	var apart, touching []int // findings with a fix; those whose edits touch an earlier one's
	end := map[*source.File]int{}
	order := make([]int, 0, len(r.Diags))
	for i, d := range r.Diags {
		if len(d.Fix) > 0 && !d.Fix[0].Span.File.Synthetic {
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
			touching = append(touching, i)
			continue
		}
		end[f] = fix[len(fix)-1].Span.End
		apart = append(apart, i)
	}
	good := map[int]bool{}
	for _, i := range t.choose(nil, apart) {
		good[i] = true
	}
	for _, i := range touching {
		if t.improves([]int{i}) {
			good[i] = true
		}
	}
	r.Diags = slices.Clone(r.Diags)
	for i := range r.Diags {
		if !good[i] {
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

// choose returns kept and those findings of set whose fixes can be applied together with the
// fixes of kept. Both lists are in the order of their places.
func (t *trial) choose(kept, set []int) []int {
	if t.left == 0 || len(set) == 0 {
		return kept
	}
	all := append(slices.Clone(kept), set...)
	switch {
	case t.improves(all):
		return all
	case len(set) == 1:
		return kept
	}
	half := len(set) / 2
	return t.choose(t.choose(kept, set[:half]), set[half:])
}

// improves reports whether the fixes of some findings remove these findings and cause no new
// ones. Two kinds of new warnings are allowed: a warning that is given once for each file or
// name, at its next place, and a warning with a fix that a syntax error had hidden.
func (t *trial) improves(set []int) bool {
	if t.left == 0 {
		return false
	}
	t.left--
	o := t.o
	o.Plain, o.Index = true, false
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
	corrected := make([]diag.Diagnostic, len(set))
	for k, i := range set {
		corrected[k] = t.before[i]
	}
	return gone(corrected, edits, r.Diags) && noneNew(t.before, corrected, r.Diags)
}

// ruleMessage is a finding without its place.
type ruleMessage struct {
	rule    diag.Rule
	message string
}

// noneNew reports whether no finding of after is new, but for the warnings that improves
// names. corrected are the findings of before whose fixes were applied.
func noneNew(before, corrected, after []diag.Diagnostic) bool {
	had := map[ruleMessage]int{}
	for _, d := range before {
		had[ruleMessage{d.Rule, d.Message}]++
	}
	fixed := map[ruleMessage]bool{}
	rules := map[diag.Rule]bool{}
	for _, d := range corrected {
		had[ruleMessage{d.Rule, d.Message}]--
		fixed[ruleMessage{d.Rule, d.Message}], rules[d.Rule] = true, true
	}
	for _, d := range after {
		k := ruleMessage{d.Rule, d.Message}
		if had[k]--; had[k] < 0 && !fixed[k] && !(d.Severity == diag.Warning && (rules[d.Rule] || len(d.Fix) > 0)) {
			return false
		}
	}
	return true
}

// gone reports whether none of the corrected findings is still at its place after the edits. The
// edits of a file must be in order and must not touch. after must be sorted by place.
func gone(corrected []diag.Diagnostic, edits map[*source.File][]diag.Edit, after []diag.Diagnostic) bool {
	type key struct {
		ruleMessage
		file string
	}
	starts := map[key][]int{}
	for _, d := range after {
		if d.Span.File != nil {
			k := key{ruleMessage{d.Rule, d.Message}, d.Span.File.Name}
			starts[k] = append(starts[k], d.Span.Start)
		}
	}
	moves := map[*source.File]moves{}
	for f, e := range edits {
		moves[f] = movesOf(e)
	}
	for _, d := range corrected {
		low, high := moves[d.Fix[0].Span.File].of(d.Span.Start)
		places := starts[key{ruleMessage{d.Rule, d.Message}, d.Span.File.Name}]
		if i := sort.SearchInts(places, low); i < len(places) && places[i] <= high {
			return false
		}
	}
	return true
}

// moves maps offsets before the edits of a file to offsets after them.
type moves struct {
	edits []diag.Edit
	by    []int // for each edit, by how many bytes the edits before it move text; last, all edits
}

func movesOf(edits []diag.Edit) moves {
	m := moves{edits, make([]int, len(edits)+1)}
	for i, e := range edits {
		m.by[i+1] = m.by[i] + len(e.Text) - (e.Span.End - e.Span.Start)
	}
	return m
}

// of returns the lowest and the highest offset that a given one can have after the edits.
func (m moves) of(offset int) (low, high int) {
	i := sort.Search(len(m.edits), func(i int) bool { return m.edits[i].Span.Start >= offset })
	low = offset + m.by[i]
	if i > 0 && m.edits[i-1].Span.End > offset { // the offset is inside that edit
		low = offset + m.by[i-1]
	}
	high = low
	for ; i < len(m.edits) && m.edits[i].Span.Start == offset; i++ {
		high += len(m.edits[i].Text)
	}
	return low, high
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
