package stranger

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// No file of the provider imports the stranger, except for tests.
func TestProviderDoesNotImportTheStranger(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen++
		for _, spec := range f.Imports {
			if strings.HasSuffix(spec.Path.Value, `/stranger"`) {
				t.Errorf("%s imports the stranger, which is for tests", path)
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}
