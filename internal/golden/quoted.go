package golden

import (
	"os"
	"strings"
)

// Quoted returns the paragraphs in the fenced blocks of a Markdown page, without the last newline
// of each. It fails the test if there are none.
func Quoted(t TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v", err)
		return nil
	}
	var out []string
	for i, block := range strings.Split("\n"+string(text), "\n```") {
		if i%2 == 0 {
			continue
		}
		_, block, _ = strings.Cut(block, "\n") // the language of the block
		for paragraph := range strings.SplitSeq(block, "\n\n") {
			if paragraph = strings.Trim(paragraph, "\n"); paragraph != "" {
				out = append(out, paragraph)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("golden: %s: no text in fenced blocks", path)
	}
	return out
}
