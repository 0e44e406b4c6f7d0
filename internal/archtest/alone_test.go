package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestLaterDraftStaysApart proves R332: no package of rdmaio may import the codec of a later draft
// of version 2, in its files or its tests, and none does. As no package of the module may, none can
// link it through another one.
func TestLaterDraftStaysApart(t *testing.T) {
	const module, draft = "github.com/rpcrdma/rpcrdma", "gen/rpcrdma2draft07"
	root := filepath.Join("..", "..")
	c, err := newChecker(root, Table())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	err = filepath.WalkDir(filepath.Join(root, "rdmaio"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		seen[filepath.ToSlash(dir)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rdmaio", "rdmaio/internal/engine", "rdmaio/internal/peertest", "rdmaio/connconf"} {
		if !seen[want] {
			t.Errorf("package %s was not found", want)
		}
	}
	for pkg := range seen {
		row := find(c.table, pkg)
		if row == nil {
			continue // testdata; TestModuleFollowsTheTable reports packages without a row
		}
		for _, isTest := range []bool{false, true} {
			if rule, _ := c.importProblem(pkg, "a.go", module+"/"+draft, row, isTest); rule != "alone" {
				t.Errorf("%s may import %s (in a test: %t)", pkg, draft, isTest)
			}
		}
	}
	findings, err := Check(root, c.table)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if strings.Contains(f.Message, draft) {
			t.Error(f)
		}
	}
}
