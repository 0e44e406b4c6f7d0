package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/trial"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// extractor builds tools/extract and returns a function that runs it.
func extractor(t *testing.T) func(args ...string) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "extract")
	if out, err := exec.Command("go", "build", "-o", tool, "../../tools/extract").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("extract %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// corpusDocument returns the path of a document in the corpus.
func corpusDocument(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(corpus.Dir(t), "ietf", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("not in this corpus: %v", err)
	}
	return path
}

// TestDocumentsAsTheyStand extracts every document with marked lines, without errata, and checks
// the findings: none, or exactly the faults of the document.
func TestDocumentsAsTheyStand(t *testing.T) {
	extract := extractor(t)
	tests := []struct {
		doc, imports string // what its own #include lines name
		want         string // errors: line of the document and rule
	}{
		{"rfc5403.txt", "", ""},
		{"rfc5662.txt", "", ""},
		{"rfc5663.txt", "rfc5662.txt", ""},
		{"rfc7531.txt", "", ""},
		{"rfc7863.txt", "", ""},
		{"rfc8166.txt", "", ""},
		{"rfc8154.txt", "rfc5662.txt", "missing-comma"}, // rpcgen refuses it too
		{"rfc8276.txt", "rfc7863.txt", "amends-which amends-which amends-which"},
		{"rfc7532.txt", "", "syntax-error"}, // LDAP schema; rpcgen rejects it too
		{"draft-ietf-nfsv4-rpcrdma-version-two-07.txt", "", "reversed-typedef undefined-type duplicate-arm-name"},
	}
	for _, tt := range tests {
		t.Run(tt.doc, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"check", "-format", "json"}
			files := strings.Fields(extract("-doc", corpusDocument(t, tt.doc), "-o", dir))
			if tt.imports != "" {
				args = append(args, "-import", filepath.Base(strings.TrimSpace(extract("-doc", corpusDocument(t, tt.imports), "-o", dir))))
			}
			stdout, stderr, code := runCommand(t, append(args, files...)...)
			var got []string
			for _, f := range parseFindings(t, stdout) {
				if f.Severity == "error" {
					got = append(got, f.Rule)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" || (code == exitClean) != (tt.want == "") {
				t.Errorf("exit code %d\n%s\n%s%s", code, diff, stdout, stderr)
			}
		})
	}
}

// extracted returns a folder with the units of testdata/documents, extracted with their errata, and
// the names of the units. It skips the test if the corpus lacks a document.
func extracted(t *testing.T) (x string, units []string) {
	t.Helper()
	spec := t.TempDir()
	if err := os.CopyFS(spec, os.DirFS("testdata/documents")); err != nil {
		t.Fatal(err)
	}
	for _, d := range describedDocuments(t) {
		text, err := os.ReadFile(corpusDocument(t, d.name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(spec, d.name), text, 0o666); err != nil {
			t.Fatal(err)
		}
		units = append(units, d.units...)
	}
	extractor(t)("-spec", spec)
	return filepath.Join(spec, "x"), units
}

// TestEachDocumentCompiles checks the units of all documents, with no more errata and sidecar lines
// than docs/documents.md lists. The manifest has the digest of each.
func TestEachDocumentCompiles(t *testing.T) {
	x, units := extracted(t)
	for _, u := range units {
		if stdout, stderr, code := runCommand(t, "check", "-I", x, filepath.Join(x, u)); code != exitClean {
			t.Errorf("%s: exit code %d\n%s%s", u, code, stdout, stderr)
		}
	}
	if len(units) < 25 {
		t.Errorf("%d units", len(units))
	}
}

// TestDocumentPackagesRoundTrip generates code for the documents, and vets and round-trips it.
func TestDocumentPackagesRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("builds, vets and tests a package for each document")
	}
	x, units := extracted(t)
	root, err := trial.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := trial.NewModule(dir, root)
	if err != nil {
		t.Fatal(err)
	}
	large := []string{"nfs40", "nfs41", "nfs42"} // these and units based on them take minutes
	for _, u := range units {
		if os.Getenv(corpus.Env) == "" && slices.ContainsFunc(large, func(l string) bool { return strings.HasPrefix(u, l) }) {
			continue
		}
		args := []string{"gen", "-tests", "-o", filepath.Join(dir, u), "-package", u, "-I", x, "-import-root", trial.Path, filepath.Join(x, u)}
		if _, stderr, code := runCommand(t, args...); code != exitClean {
			t.Errorf("%s: exit code %d\n%s", u, code, stderr)
		}
	}
	for _, command := range [][]string{{"vet", "./..."}, {"test", "-vet=off", "./..."}} {
		out, err := mod.Go(context.Background(), command...)
		if err != nil {
			t.Fatal(err)
		}
		for pkg, fault := range trial.Faults(out) {
			t.Errorf("go %s: %s: %s", command[0], pkg, fault)
		}
	}
}
