package spelling

import "sort"

// Nearest returns the candidate that is most similar to word. It differs by at most two letters
// that are inserted, removed, replaced or exchanged, and by fewer than half of its letters. If
// several are equally similar, Nearest returns the first in alphabetical order.
func Nearest(word string, candidates []string) (string, bool) {
	best, found := 3, ""
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	for _, c := range sorted {
		if c == word {
			continue
		}
		if d := distance(word, c, best-1); d < best && 2*d < max(len(word), len(c)) {
			best, found = d, c
		}
	}
	return found, found != ""
}

// distance returns the number of edits from a to b, or limit+1 if there are more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 256 {
		return limit + 1
	}
	before := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			next[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
