package sema

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// elsewhere has declarations that files of the corpus expect from C headers without including
// them.
type elsewhere struct{ text string }

func fromHeaders() map[string]elsewhere {
	return map[string]elsewhere{
		"x/glusterfs/mount3udp.x": {
			text: "enum mountstat3 { MNT3_OK = 0 };\nunion mountres3 switch (mountstat3 s) { default: void; };\n",
		},
		"x/nfs-ganesha/mount.x": {text: "struct fhstatus2 { int x; };\n"},
	}
}

// faulty lists the files that are wrong in any dialect. In each, two arms of a union have the
// same name.
func faulty(file string) bool { return file == "x/ocamlnet/rfc3530.x" }

// TestCorpusCompiles compiles every interface file of the corpus. It ignores warnings.
func TestCorpusCompiles(t *testing.T) {
	dir := corpus.Dir(t)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	headers := fromHeaders()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		file, _, _ := strings.Cut(s.Text(), "\t")
		if !strings.HasPrefix(file, "x/") {
			continue
		}
		n++
		r := compileCorpus(t, filepath.Join(dir, filepath.FromSlash(file)), headers[file])
		refuse := strings.Contains(file, "/bad-") || faulty(file)
		if (r.Unit == nil) != refuse {
			t.Errorf("%s: refused %v, expected %v", file, r.Unit == nil, refuse)
			for _, d := range r.Diags {
				if d.Severity == diag.Error {
					t.Logf("%d: %s", d.Span.Position().Line, d.Message)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d files", n)
	}
}

func compileCorpus(t *testing.T, file string, e elsewhere) *Result {
	t.Helper()
	o := Options{Files: []string{file}}
	if e.text != "" {
		headers := filepath.Join(t.TempDir(), "headers.x")
		if err := os.WriteFile(headers, []byte(e.text), 0o666); err != nil {
			t.Fatal(err)
		}
		o.Files = append(o.Files, headers)
	}
	r, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkNFS3 measures the front end with a file as large as the XDR of RFC 1813.
func BenchmarkNFS3(b *testing.B) {
	file := filepath.Join(corpus.Dir(b), "x", "nfs-ganesha", "nfs23.x")
	for b.Loop() {
		if r, err := Compile(Options{Files: []string{file}}); err != nil || r.Unit == nil {
			b.Fatal(err)
		}
	}
}
