package codec

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The excerpts in docs/codec.md are parts of the file that a link names most recently before
// them. A line "..." stands for any lines.
func TestPageExcerpts(t *testing.T) {
	const docs = "../../../docs"
	page, err := os.ReadFile(filepath.Join(docs, "codec.md"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\((\.\./[^)]*_xdr\.go)\)`)
	var name, source string
	excerpts := 0
	for i, part := range strings.Split(string(page), "```") {
		if i%2 == 0 {
			for _, m := range link.FindAllStringSubmatch(part, -1) {
				name = m[1]
				text, err := os.ReadFile(filepath.Join(docs, name))
				if err != nil {
					t.Fatal(err)
				}
				source = string(text)
			}
			continue
		}
		excerpts++
		rest := source
		for _, piece := range regexp.MustCompile(`(?m)^\s*\.\.\.\n`).Split(strings.TrimPrefix(part, "go\n"), -1) {
			_, after, found := strings.Cut(rest, piece)
			if !found {
				t.Errorf("docs/codec.md: not in %s, or not in this order:\n%s", name, piece)
				break
			}
			rest = after
		}
	}
	if excerpts < 10 {
		t.Errorf("docs/codec.md: %d excerpts, expected at least 10", excerpts)
	}
}
