package golden

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestQuotedReturnsParagraphsOfBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	for _, tt := range []struct {
		page string
		want []string
	}{
		{"```\na\n```\n", []string{"a"}},
		{"text\n\n```sh\na\nb\n\n  c\n```\n\nmore\n\n```\nd\n```\n", []string{"a\nb", "  c", "d"}},
	} {
		if err := os.WriteFile(path, []byte(tt.page), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := Quoted(t, path); !slices.Equal(got, tt.want) {
			t.Errorf("Quoted(%q) = %q, want %q", tt.page, got, tt.want)
		}
	}
	if err := os.WriteFile(path, []byte("no block\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{path, path + ".missing"} {
		r := &recorder{}
		if Quoted(r, bad); len(r.fatals) == 0 || !strings.Contains(r.fatals[0], "page.md") {
			t.Errorf("Quoted(%s): errors %q, want one with the path", bad, r.fatals)
		}
	}
}
