package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/trial"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// tryCorpus runs the corpus command on a folder.
func tryCorpus(t *testing.T, c corpusCmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	c.Root, c.Timeout = ".", 10*time.Minute
	code = c.run(environment{stdout: &out, stderr: &errs})
	return out.String(), errs.String(), code
}

// TestCorpusTable checks the output of the command for files of each kind.
func TestCorpusTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds, vets and tests packages three times")
	}
	files := map[string]string{
		"MANIFEST.tsv":    "file\tsource\trpcgen\nx/a.x\t-\trpcgen -h\nx/c.x\t-\trpcgen -h\nx/d.x\t-\tno\nx/bad-e.x\t-\trpcgen -h\n",
		"x/a.x":           "struct a { int x; string y<>; };\nprogram P { version V { a GET(int) = 1; } = 1; } = 0x20000000;\n",
		"x/b.x":           "struct b { unsigned x; };\n",
		"x/d.x":           "struct d { nothing x; };\n",
		"x/bad-e.x":       "program P { version V { void A(void) = 1; } = -1; } = 1;\n",
		"x/deeper/f.x":    "#include \"g.x\"\nstruct f { g x; };\n",
		"x/deeper/g.x":    "struct g { hyper x; };\n",
		"x/unrelated.txt": "no XDR\n",
	}
	dir := writeFiles(t, files)
	stdout, stderr, code := tryCorpus(t, corpusCmd{Dir: dir})
	if code != exitClean || strings.Count(stdout, "\n") != 7 || !strings.Contains(stderr, "6 files: 4 accepted, 4 pass go vet, 4 round-trip") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for file, want := range map[string]string{"x/a.x": "yes", "x/b.x": "bare-unsigned", "x/d.x": "undefined-type", "x/bad-e.x": "program-range", "x/deeper/f.x": "yes"} {
		if !strings.Contains(line(stdout, file), want) {
			t.Errorf("%s: %q, expected %s", file, line(stdout, file), want)
		}
	}

	// A file that rpcgen accepts and xdrgen rejects.
	if err := os.WriteFile(filepath.Join(dir, "x/c.x"), []byte("struct c { nothing x; };\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, _, code = tryCorpus(t, corpusCmd{Dir: dir, JSON: true})
	if code != exitFindings || !strings.Contains(line(stdout, `"x/c.x"`), `"want":"accepted","ok":false`) || !strings.Contains(stdout, `"type":"summary"`) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	readSchema(t, "../../docs/schema/corpus.json").checkLines(t, "corpus", stdout)
	// It passes with a sidecar.
	binds := writeFiles(t, map[string]string{"x/c.bind": "type nothing opaque<8>\n"})
	if stdout, _, code = tryCorpus(t, corpusCmd{Dir: dir, Bind: binds}); code != exitClean {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if _, stderr, code = tryCorpus(t, corpusCmd{Dir: binds}); code != exitFailed || !strings.Contains(stderr, "no .x files") {
		t.Errorf("empty folder: exit code %d, %s", code, stderr)
	}
}

// TestCorpusMeasure checks the sums and times, and that a second run builds again.
func TestCorpusMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages four times")
	}
	dir := writeFiles(t, map[string]string{
		"a.x": "struct a { int x; string y<>; };\n",
		"b.x": "struct b { unsigned int x; };\n",
		"c.x": "struct c { nothing x; };\n",
	})
	for range 2 {
		stdout, _, code := tryCorpus(t, corpusCmd{Dir: dir, Measure: true, JSON: true})
		readSchema(t, "../../docs/schema/corpus.json").checkLines(t, "corpus", stdout)
		var sum corpusSummary
		if err := json.Unmarshal([]byte(line(stdout, `"summary"`)), &sum); err != nil {
			t.Fatal(err)
		}
		if code != exitClean || sum.Files != 3 || sum.Accepted != 2 || sum.Vetted != 2 || sum.RoundTrips != 0 {
			t.Errorf("exit code %d\n%s", code, stdout)
		}
		if sum.Lines == 0 || sum.Bytes < 10*sum.Lines || sum.Build <= 0 || sum.Vet <= 0 {
			t.Errorf("%+v", sum)
		}
	}
	if _, stderr, code := tryCorpus(t, corpusCmd{Dir: dir, With: []string{"nope"}}); code != exitUsage || !strings.Contains(stderr, "nope") {
		t.Errorf("-with nope: exit code %d, %s", code, stderr)
	}
	none := writeFiles(t, map[string]string{"c.x": "struct c { nothing x; };\n"})
	if stdout, stderr, code := tryCorpus(t, corpusCmd{Dir: none, Measure: true}); code != exitClean {
		t.Errorf("no package: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code := tryCorpus(t, corpusCmd{Dir: dir, Measure: true})
	if code != exitClean || !strings.Contains(stderr, "processor time: build ") || !strings.Contains(line(stdout, "a.x"), " yes   - ") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// A package that does not build is a finding of its row.
func TestMeasureFaults(t *testing.T) {
	root, err := trial.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := trial.NewModule(t.TempDir(), root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"p0/a.go": "package p0\n", "p1/a.go": "package p1\n\nvar x missing\n"} {
		if err := mod.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	rows := []corpusRow{{Accepted: true, dir: "p0"}, {Accepted: true, dir: "p1"}}
	if _, err := measure(t.Context(), mod, rows); err != nil {
		t.Fatal(err)
	}
	if !rows[0].Vet || rows[1].Vet || !strings.Contains(rows[1].Finding, "undefined: missing") {
		t.Errorf("%+v", rows)
	}
}

// line returns the line of a text that contains word.
func line(text, word string) string {
	for _, l := range strings.Split(text, "\n") {
		if strings.Contains(l, word) {
			return l
		}
	}
	return ""
}

// TestCorpusRun compiles, builds and runs every interface file of the corpus.
func TestCorpusRun(t *testing.T) {
	if os.Getenv(corpus.Env) == "" {
		t.Skipf("builds a package for each file, which takes minutes: set %s=DIR, or run make corpus", corpus.Env)
	}
	dir := corpus.Dir(t)
	stdout, stderr, code := tryCorpus(t, corpusCmd{Dir: dir, Bind: "testdata/corpus"})
	if code != exitClean {
		t.Errorf("exit code %d", code)
	}
	t.Logf("%s%s", stdout, stderr)
}
