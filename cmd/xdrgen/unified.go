package main

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

const (
	diffContext = 3   // equal lines around a change
	maxEdits    = 500 // limit of changed lines, above which the texts are split first
)

// unified returns the unified diff from text a to text b, or "" if they are equal.
func unified(nameA, nameB string, a, b []byte) string {
	if bytes.Equal(a, b) {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	edits := script(bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n")))
	for from := 0; from < len(edits); {
		if edits[from].op == ' ' {
			from++
			continue
		}
		to := from // last change of the hunk, which ends at a long enough run of equal lines
		for i := from; i < len(edits) && i <= to+2*diffContext+1; i++ {
			if edits[i].op != ' ' {
				to = i
			}
		}
		hunk(&out, edits, max(0, from-diffContext), min(len(edits), to+1+diffContext))
		from = to + 1
	}
	return out.String()
}

// edit is one line of an edit script.
type edit struct {
	op   byte // ' ' keeps the line, '-' removes it, '+' adds it
	line []byte
	a, b int // lines of each text before this one
}

func hunk(out *strings.Builder, edits []edit, from, to int) {
	na, nb := 0, 0
	for _, e := range edits[from:to] {
		if e.op != '+' {
			na++
		}
		if e.op != '-' {
			nb++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", extent(edits[from].a, na), extent(edits[from].b, nb))
	for _, e := range edits[from:to] {
		out.WriteByte(e.op)
		out.Write(e.line)
		if !bytes.HasSuffix(e.line, []byte("\n")) {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// extent returns the range of n lines that follow the first before lines, as a hunk header
// has it.
func extent(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// script returns the edits that turn a into b, all lines included.
func script(a, b [][]byte) []edit {
	a, b = dropEmpty(a), dropEmpty(b)
	head := 0
	for head < len(a) && head < len(b) && bytes.Equal(a[head], b[head]) {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	ops := bytes.Repeat([]byte{' '}, head)
	ops = append(ops, operations(a[head:len(a)-tail], b[head:len(b)-tail])...)
	ops = append(ops, bytes.Repeat([]byte{' '}, tail)...)
	out := make([]edit, 0, len(ops))
	i, j := 0, 0
	for _, op := range ops {
		e := edit{op: op, a: i, b: j}
		if op == '+' {
			e.line = b[j]
		} else {
			e.line = a[i]
			i++
		}
		if op != '-' {
			j++
		}
		out = append(out, e)
	}
	return out
}

// dropEmpty removes the empty last line that SplitAfter returns after a final newline.
func dropEmpty(lines [][]byte) [][]byte {
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		return lines[:n-1]
	}
	return lines
}

// operations returns a shortest list of operations. Texts that differ in too many lines are
// split at lines that both have, and a part without such lines is replaced as a whole.
func operations(a, b [][]byte) []byte {
	if ops, ok := shortest(a, b); ok {
		return ops
	}
	var ops []byte
	i, j := 0, 0
	for _, at := range append(anchors(a, b), [2]int{len(a), len(b)}) {
		part, ok := shortest(a[i:at[0]], b[j:at[1]])
		if !ok {
			part = append(bytes.Repeat([]byte{'-'}, at[0]-i), bytes.Repeat([]byte{'+'}, at[1]-j)...)
		}
		ops = append(ops, part...)
		i, j = at[0], at[1]
		if i < len(a) {
			ops, i, j = append(ops, ' '), i+1, j+1
		}
	}
	return ops
}

// anchors returns pairs of equal lines, by their indexes, that are in the same order in both
// texts. Only lines that each text has once are considered (the patience method).
func anchors(a, b [][]byte) [][2]int {
	once := func(lines [][]byte) map[string]int {
		at := map[string]int{}
		for i, l := range lines {
			if _, ok := at[string(l)]; ok {
				i = -1
			}
			at[string(l)] = i
		}
		return at
	}
	inA, inB := once(a), once(b)
	var pairs [][2]int // in the order of a
	var before []int   // for each pair, the one before it in the longest sequence that it ends
	var ends []int     // by a sequence's length less one: its last pair, earliest in b
	for i, l := range a {
		j, ok := inB[string(l)]
		if !ok || j < 0 || inA[string(l)] != i {
			continue
		}
		k := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]][1] > j })
		prev := -1
		if k > 0 {
			prev = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, 0)
		}
		ends[k] = len(pairs)
		pairs, before = append(pairs, [2]int{i, j}), append(before, prev)
	}
	out := make([][2]int, len(ends))
	for k := len(ends) - 1; k >= 0; k-- {
		out[k] = pairs[ends[k]]
		if k > 0 {
			ends[k-1] = before[ends[k]]
		}
	}
	return out
}

// shortest returns a shortest list of operations that turns a into b, by E. Myers' greedy
// algorithm. It reports false if more than maxEdits lines differ.
func shortest(a, b [][]byte) ([]byte, bool) {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	reach := make([]int, 2*limit+3) // the farthest x on diagonal k = x-y, at index limit+1+k
	var trail [][]int               // part of reach before round d, for diagonals -d-1 to d+1
	for d := 0; d <= limit; d++ {
		trail = append(trail, append([]int(nil), reach[limit-d:limit+d+3]...))
		for k := -d; k <= d; k += 2 {
			x := step(reach, limit+1, d, k)
			for x < n && x-k < m && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			reach[limit+1+k] = x
			if x >= n && x-k >= m {
				return walkBack(trail, n, m), true
			}
		}
	}
	return nil, false
}

// step returns the x at which diagonal k begins in round d. It comes from diagonal k+1 by
// adding a line of b, or from k-1 by removing a line of a. mid is the index of diagonal 0.
func step(reach []int, mid, d, k int) int {
	if down(reach, mid, d, k) {
		return reach[mid+k+1]
	}
	return reach[mid+k-1] + 1
}

// down reports whether step adds a line of b.
func down(reach []int, mid, d, k int) bool {
	return k == -d || k != d && reach[mid+k-1] < reach[mid+k+1]
}

// walkBack returns the operations, which it finds by following the trail from the end of
// both texts to their start.
func walkBack(trail [][]int, x, y int) []byte {
	var ops []byte
	for d := len(trail) - 1; d >= 0; d-- {
		k := x - y
		start := step(trail[d], d+1, d, k)
		if d == 0 {
			start = 0
		}
		for x > start {
			ops = append(ops, ' ')
			x, y = x-1, y-1
		}
		switch {
		case d == 0:
		case down(trail[d], d+1, d, k):
			ops = append(ops, '+')
			y--
		default:
			ops = append(ops, '-')
			x--
		}
	}
	for i, j := 0, len(ops)-1; i < j; i, j = i+1, j-1 {
		ops[i], ops[j] = ops[j], ops[i]
	}
	return ops
}
