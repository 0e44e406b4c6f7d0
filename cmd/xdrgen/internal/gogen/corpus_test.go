package gogen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// corpusFiles are the interface files of the corpus that compile by themselves.
func corpusFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(corpus.Dir(t), "x"), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".x") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// corpusPackage is the package name for a corpus file: its folder's and its own.
func corpusPackage(file string) string {
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower("x"+filepath.Base(filepath.Dir(file))+strings.TrimSuffix(filepath.Base(file), ".x")))
}

// TestCorpusPackagesPassTheirTests generates each interface file of the corpus with its tests,
// builds and runs all of it, and compares its JSON with the interpreter's, as TestJSONRandom
// does.
func TestCorpusPackagesPassTheirTests(t *testing.T) {
	longRun(t, "builds some 40 packages")
	mod := newModule(t)
	n := 0
	var texts jsonCompare
	for _, file := range corpusFiles(t) {
		r, err := sema.Compile(sema.Options{Files: []string{file}, Generate: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit == nil {
			continue // sema's corpus test says which, and why
		}
		pkg := corpusPackage(file)
		o := Options{Package: pkg, Tests: true, Views: true, With: ir.Methods{JSON: true, String: true}}
		out, diags, err := Generate(r.Unit, r.Bind, o)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, d := range diags {
			t.Errorf("%s: %s", file, d.Message)
		}
		if refused := Refused(r.Unit, r.Bind); len(refused) != len(diags) {
			t.Errorf("%s: check finds %d faults that Go has, gen %d", file, len(refused), len(diags))
		}
		mod.add(t, pkg, out)
		texts.add(t, mod, r.Unit, r.Bind, o)
		n++
	}
	t.Logf("%d files", n)
	if n < 25 {
		t.Errorf("only %d files compile", n)
	}
	texts.count(t)
	mod.run(t, unvetted)
}

// TestNFSv4DocumentsPassTheirTests builds and runs what it generates from the text of the
// NFSv4 documents, as printed: 4.0 (RFC 7531) and 4.2 (RFC 7863). The package of 4.1 (RFC 5662),
// whose types RFC 7863 repeats, is only type-checked.
func TestNFSv4DocumentsPassTheirTests(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "ietf")
	longRun(t, "builds two packages of 40,000 lines and more")
	mod := newModule(t)
	for _, doc := range []string{"rfc7531", "rfc5662", "rfc7863"} {
		x, err := exec.Command("go", "run", "../../../../tools/extract", "-doc", filepath.Join(dir, doc+".txt")).Output()
		if err != nil {
			t.Fatalf("extract %s: %v", doc, err)
		}
		file := filepath.Join(t.TempDir(), doc+".x")
		if err := os.WriteFile(file, x, 0o666); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r, err := sema.Compile(sema.Options{Files: []string{file}, Generate: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit == nil {
			for _, d := range r.Diags {
				t.Errorf("%s: %s", doc, d.Message)
			}
			continue
		}
		out, diags, err := Generate(r.Unit, r.Bind, Options{Package: doc, Tests: true, Views: true, With: ir.DefaultMethods()})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range diags {
			t.Errorf("%s: %s", doc, d.Message)
		}
		t.Logf("%s: %d declarations in %v", doc, len(r.Unit.Decls), time.Since(start).Round(time.Millisecond))
		if doc != "rfc5662" {
			mod.add(t, doc, out)
		} else if err := newChecker(t).check("example.org/"+doc, out); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	mod.run(t, unvetted)
}
