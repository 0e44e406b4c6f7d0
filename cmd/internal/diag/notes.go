package diag

import (
	"slices"
	"strings"
)

// NotedOnce returns the findings without repeated notes: a note is kept for the first
// finding of its rule only. Notes that differ only in the word at fault are the same.
func NotedOnce(ds []Diagnostic) []Diagnostic {
	out := slices.Clone(ds)
	seen := map[string]bool{}
	for i, d := range ds {
		var notes []string
		for _, n := range d.Notes {
			key := n
			if word := d.Span.Text(); word != "" {
				key = strings.ReplaceAll(n, word, "\x00")
			}
			if key = d.Info().Code + key; !seen[key] {
				seen[key] = true
				notes = append(notes, n)
			}
		}
		out[i].Notes = notes
	}
	return out
}
