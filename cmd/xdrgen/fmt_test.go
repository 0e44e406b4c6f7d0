package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/format"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

const (
	ugly   = "struct s{int a;\n\n\nhyper bc ;};\n"
	pretty = "struct s {\n    int a;\n\n    hyper bc;\n};\n"
)

func TestFmtRewritesFiles(t *testing.T) {
	files := map[string]string{
		"a/ugly.x": ugly, "a/pretty.x": strings.ReplaceAll(pretty, "struct s", "struct t"), "a/b/ugly2.x": "const A=1;", "a/notes.txt": "x",
		"bad/bad.x": "struct s { int a int b; };\n", "bad/ugly.x": ugly,
		"from/doc.x": ugly, "from/doc.x.origin": "xdr-origin 1 doc\n1-4 doc 1\n",
		"needs/needs.x": "struct   s { not_here a; };\n",
	}
	tests := []struct {
		name, args, stdin string
		stdout, stderr    string // stderr is a part of the output
		code              int
		changed           string // file that fmt rewrites
	}{
		{"print", "fmt a/ugly.x", "", pretty, "", exitClean, ""},
		{"standard input", "fmt -", ugly, pretty, "", exitClean, ""},
		{"list", "fmt -l a", "", "a/b/ugly2.x\na/ugly.x\n", "", exitFindings, ""},
		{"list nothing", "fmt -l a/pretty.x", "", "", "", exitClean, ""},
		{"diff", "fmt -d a/b/ugly2.x", "", "--- a/b/ugly2.x\n+++ a/b/ugly2.x\n@@ -1,1 +1,1 @@\n-const A=1;\n\\ No newline at end of file\n+const A = 1;\n", "", exitFindings, ""},
		{"write", "fmt -w a/ugly.x a/pretty.x", "", "", "", exitClean, "a/ugly.x"},
		{"write and list", "fmt -w -l a/ugly.x", "", "a/ugly.x\n", "", exitFindings, "a/ugly.x"},
		{"write standard input", "fmt -w -", ugly, "", "-w cannot write to standard input", exitFailed, ""},
		{"one file with errors, one without", "fmt -w bad", "", "", `bad/bad.x:1:17: error: XDR0005 missing-semicolon: expected ; after "a"`, exitFindings, "bad/ugly.x"},
		{"from a document", "fmt -w from/doc.x", "", "", "from/doc.x is not formatted: it was extracted from a document", exitClean, ""},
		{"undeclared type", "fmt needs/needs.x", "", "struct s {\n    not_here a;\n};\n", "", exitClean, ""},
		{"no such file", "fmt none.x", "", "", "none.x: no such file", exitFailed, ""},
		{"no file", "fmt", "", "", "FILE is missing", exitUsage, ""},
		{"bad name of -D", "fmt -D 4 a/ugly.x", "", "", "expected name or name=value", exitUsage, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeFiles(t, files)
			t.Chdir(dir)
			stdout, stderr, code := runWith(t, tt.stdin, strings.Fields(tt.args)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, expected %d\nstdout %q\nexpected %q\nstderr %s", code, tt.code, stdout, tt.stdout, stderr)
			}
			for name, text := range files {
				got, err := os.ReadFile(filepath.FromSlash(name))
				if err != nil {
					t.Fatal(err)
				}
				if (string(got) != text) != (name == tt.changed) {
					t.Errorf("%s is now %q", name, got)
				}
			}
		})
	}
}

// TestFmtLink checks that a symbolic link to a file stays a link.
func TestFmtLink(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"real/a.x": ugly}))
	if err := os.Symlink("real/a.x", "link.x"); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	if _, stderr, code := runWith(t, "", "fmt", "-w", "link.x"); code != exitClean {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	info, err := os.Lstat("link.x")
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("link.x is no longer a symbolic link: %v %v", info, err)
	}
	if text, _ := os.ReadFile("real/a.x"); string(text) != pretty {
		t.Errorf("real/a.x is %q", text)
	}
}

// TestFormattingKeepsTheMeaning formats every file in the corpus and in testdata/ok, and compares
// the meaning before and after, with the words of comments.
func TestFormattingKeepsTheMeaning(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.x")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	dir := corpus.Dir(t)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if file, _, _ := strings.Cut(s.Text(), "\t"); strings.HasPrefix(file, "x/") {
			files = append(files, filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	p := syntax.NewParser()
	formatted, compiled := 0, 0
	for _, file := range files {
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, diags, err := format.Source(p, source.NewFile(file, old), nil)
		if err != nil {
			t.Error(err)
		}
		if err != nil || len(diags) > 0 {
			continue
		}
		formatted++
		var results [2]*sema.Result
		for i, s := range [][]byte{old, text} {
			results[i], err = sema.Compile(sema.Options{Files: []string{file}, Include: []string{"testdata/ok/units"}, FS: overlay{FileSystem: sema.Disk{}, name: file, text: s}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if results[0].Unit != nil {
			compiled++
		}
		if what := meaningDiffers(results[0], results[1], true); what != "" {
			t.Errorf("%s: formatting changes %s", file, what)
		}
	}
	if formatted < 60 || compiled < 50 {
		t.Errorf("%d files, of which only %d were formatted and %d compiled", len(files), formatted, compiled)
	}
}

// TestMeaningDiffers checks that meaningDiffers detects every kind of change.
func TestMeaningDiffers(t *testing.T) {
	const text = "/* About s. */\nstruct s { int a; unsigned int b<3>; };\nenum e { A = 1 };\n"
	for _, tt := range []struct{ from, to, want string }{
		{"int a", "hyper a", "the meaning of s"},
		{"<3>", "<4>", "the meaning of s"},
		{"About s", "About t", "the meaning of s"},
		{"A = 1", "A = 2", "the meaning of e"},
		{"struct s", "struct t", "the meaning of s"},
		{"unsigned int b", "u_int b", "the findings of check"},
		{"enum e", "enum x { B = 2 };\nenum e", "the meaning of the file"},
		{"\nstruct", "\n\n  struct", "the meaning of s"}, // the comment no longer belongs to s
		{"{ int a; ", "{\n  int   a;\n", ""},
	} {
		var results [2]*sema.Result
		for i, s := range []string{text, strings.Replace(text, tt.from, tt.to, 1)} {
			r, err := sema.Compile(sema.Options{Files: []string{"p.x"}, FS: overlay{FileSystem: sema.Disk{}, name: "p.x", text: []byte(s)}})
			if err != nil {
				t.Fatal(err)
			}
			results[i] = r
		}
		if got := meaningDiffers(results[0], results[1], true); got != tt.want {
			t.Errorf("%q for %q: found %q, expected %q", tt.to, tt.from, got, tt.want)
		}
	}
}

// TestFmtLayouts changes the layout of the files in testdata/ok at random, inserts comments
// anywhere, and formats the result. The meaning must stay the same.
func TestFmtLayouts(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.x")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	p := syntax.NewParser()
	for round := range 10 {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = shuffled(random, text)
			out, diags, err := format.Source(p, source.NewFile(file, text), nil)
			if err != nil || len(diags) > 0 {
				t.Fatalf("%s: %v %v", file, err, diags)
			}
			again, _, err := format.Source(p, source.NewFile(file, out), nil)
			if err != nil || string(again) != string(out) {
				t.Errorf("%s: %v, formatted again:\n%s\nof\n%s", file, err, unified("once", "twice", out, again), text)
			}
			var results [2]*sema.Result
			for i, s := range [][]byte{text, out} {
				results[i], err = sema.Compile(sema.Options{Files: []string{file}, Include: []string{"testdata/ok/units"}, FS: overlay{FileSystem: sema.Disk{}, name: file, text: s}})
				if err != nil {
					t.Fatal(err)
				}
			}
			if what := meaningDiffers(results[0], results[1], false); what != "" {
				t.Errorf("round %d: formatting changes %s:\n%s\nbecomes\n%s", round, what, text, out)
			}
		}
	}
}

// shuffled returns the pieces of a text with other blanks and more comments.
func shuffled(random *rand.Rand, text []byte) []byte {
	var b bytes.Buffer
	gaps := []string{" ", " ", " ", " ", "\n", "\n", "\n\n", "\n\n\n", "\t", "  \n   ", "\n\t", "\n      ", " /* c%d */ ", " /* c%d\n * d */ ", " // c%d\n", "\n  /* c%d */\n", "\n\t\t/* c%d */\n\n"}
	pieces := syntax.Pieces(source.NewFile("p.x", text), nil)
	for i, p := range pieces {
		switch p.Kind {
		case syntax.CLine, syntax.Directive:
			if n := b.Len(); n > 0 && b.Bytes()[n-1] != '\n' {
				b.WriteByte('\n')
			}
		}
		b.Write(text[p.Start:p.End])
		switch {
		case p.Kind == syntax.Inactive:
		case p.Kind == syntax.Directive && i+1 < len(pieces) && pieces[i+1].Kind == syntax.Inactive:
			// The excluded lines begin with the newline.
		case p.Kind == syntax.CLine, p.Kind == syntax.Directive, bytes.HasPrefix(text[p.Start:], []byte("//")):
			b.WriteByte('\n')
		default:
			gap := gaps[random.IntN(len(gaps))]
			if strings.Contains(gap, "%") {
				gap = fmt.Sprintf(gap, i)
			}
			b.WriteString(gap)
		}
	}
	return b.Bytes()
}
