package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/trial"
)

// draft07 has tests, vectors and a package comment for the codec that the last draft of version 2
// yields.
const draft07 = "testdata/draft07"

// TestLastDraftOfVersion2 generates the codec of draft-ietf-nfsv4-rpcrdma-version-two-07, which no
// connection speaks, as a module in a temporary folder, and runs its tests there: vectors, refused
// input, another compiler's code, and the differences to the profile in use (R320, R332).
func TestLastDraftOfVersion2(t *testing.T) {
	if testing.Short() {
		t.Skip("generates, builds and tests a module")
	}
	const unit = "rpcrdma2draft07"
	root, err := trial.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	// The tests read a page and the interface files by their paths from gen/rpcrdma2draft07.
	dir := t.TempDir()
	pkg := filepath.Join(dir, "gen", unit)
	for _, c := range [][2]string{{"docs", filepath.Join(root, "docs")}, {"spec/x/" + unit, filepath.Join(root, "spec/x", unit)}, {"gen/" + unit, draft07}} {
		if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(c[0])), os.DirFS(c[1])); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := trial.NewModule(pkg, root)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(pkg, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// By this path the tests may import internal packages.
	path := "github.com/rpcrdma/rpcrdma/gen/" + unit
	if err := mod.Write("go.mod", []byte(strings.Replace(string(file), "module "+trial.Path+"\n", "module "+path+"\n", 1))); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"gen", "-tests", "-o", pkg, "-package", unit, "-I", "../../spec/x"}, unitOf(t, "../../spec/x/"+unit)...)
	if stdout, stderr, code := runWith(t, "", args...); code != exitClean {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if out, err := mod.Go(t.Context(), "vet", "."); err != nil || len(out) > 0 {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	out, err := mod.Go(t.Context(), "test", "-count", "1", "-v", ".")
	if err != nil || !strings.Contains(string(out), "\nok ") {
		t.Errorf("go test: %v\n%s", err, out)
	}
	for _, name := range []string{"TestSameBytesTwoMeanings", "TestNumbersOfBothDrafts", "TestWholeMessages", "TestRefused", "TestCalls", "FuzzHeaderPrefix"} {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass", name)
		}
	}
}
