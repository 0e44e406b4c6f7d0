package sema

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIncludeTried checks that a finding names each folder that was searched for an included file
// once.
func TestIncludeTried(t *testing.T) {
	files := map[string]string{"u/u.x": "#include \"none.x\"\n"}
	found := compileFiles(t, Options{Include: []string{"inc", "inc", "inc/../inc"}}, files, "u/u.x").Diags
	if len(found) != 1 || len(found[0].Notes) != 1 {
		t.Fatalf("findings: %+v", found)
	}
	if note := filepath.ToSlash(found[0].Notes[0]); strings.Count(note, "inc/none.x") != 1 || !strings.Contains(note, "u/none.x") {
		t.Errorf("note: %s", note)
	}
}
