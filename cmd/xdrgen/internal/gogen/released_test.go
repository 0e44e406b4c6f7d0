package gogen

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The packages that each release has generated build with the runtime of this tree, vet has nothing
// to say, and their tests pass: docs/versions.md promises it. Nothing in testdata/released changes
// after its release.
func TestPackagesOfReleasesWorkWithThisRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages of 10,000 lines")
	}
	releases, err := filepath.Glob("testdata/released/v*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("%d releases, %v", len(releases), err)
	}
	args := []string{"test", "-vet=all", "-short"}
	for _, dir := range releases {
		args = append(args, "./"+dir+"/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
