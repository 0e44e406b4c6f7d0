package page

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The guest's start script has each command of the page for the server, so that they are tried
// whenever a guest starts. A guest loads siw by its path.
func TestServerCommands(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "test/linuxpeer/internal/image/start.sh"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Lines(root, File, "")
	if err != nil || len(lines) < 5 {
		t.Fatalf("found %d commands for the server, %v", len(lines), err)
	}
	for _, l := range lines {
		if l != "modprobe siw" && !strings.Contains(string(script), l) {
			t.Errorf("the guest does not run %q", l)
		}
	}
}

// Commands of another form are refused: they would not reach the server of the test.
func TestRunRefuses(t *testing.T) {
	for _, command := range []string{"rm -r /", "go run ./nfs/cmd/nfs ls localhost:/", ""} {
		if _, err := Run(context.Background(), ".", t.TempDir(), command, Server{}); err == nil || !strings.Contains(err.Error(), "expected go run") {
			t.Errorf("%q: %v", command, err)
		}
	}
}
