package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUseDirectivesNameTheModules(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a block", "go 1.26\n\nuse (\n\t.\n\t./nfs // a remark\n\t./test/linuxpeer/\n)\n\nreplace (\n\tm v0.0.0 => ./m\n)\n", ". nfs test/linuxpeer"},
		{"single lines", "use .\n// use ./old\nuse \"./nfs\"\n", ". nfs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.text)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("found %q, %v, expected %q", got, err, tt.want)
			}
		})
	}
	for text, want := range map[string]string{
		"use ./nfs\n":         "1: found the modules [\"nfs\"], expected the root module first: use .",
		"use (\n.\n../x\n)":   "3: use ../x: expected a folder below the one with go.work",
		"go 1.26\n\nuse /m\n": "3: use /m: expected a folder below the one with go.work",
		"":                    "0: found the modules [], expected the root module first: use .",
	} {
		if _, err := parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, expected %s", text, err, want)
		}
	}
}

// The modules of this repository, and a folder without a workspace.
func TestFoldersOfRepository(t *testing.T) {
	got, err := Folders("../..")
	if d := cmp.Diff([]string{".", "metrics/otel", "metrics/prometheus", "nfs", "test/linuxpeer"}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	dir := t.TempDir()
	if got, err := Folders(dir); err != nil || len(got) != 1 || got[0] != "." {
		t.Errorf("without go.work: %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.work"), []byte("use ./x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Folders(dir); err == nil || !strings.Contains(err.Error(), "go.work:1: found") {
		t.Errorf("a wrong go.work: %v", err)
	}
}

func TestPackageBelongsToNearestModule(t *testing.T) {
	folders := []string{".", "nfs", "test/linuxpeer"}
	for name, want := range map[string]string{
		".": ".", "rdmaio": ".", "nfs": "nfs", "nfs/nfsd": "nfs", "nfsx": ".", "test": ".", "test/linuxpeer/agent/main.go": "test/linuxpeer",
	} {
		if got := Of(folders, name); got != want {
			t.Errorf("%s: found %s, expected %s", name, got, want)
		}
	}
}
