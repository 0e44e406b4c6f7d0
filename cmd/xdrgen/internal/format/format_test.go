package format

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

func format(t *testing.T, p *syntax.Parser, name string, text []byte) (string, []diag.Diagnostic) {
	t.Helper()
	out, diags, err := Source(p, source.NewFile(name, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), diags
}

// stable formats a text, and checks that formatting the result does not change it.
func stable(t *testing.T, p *syntax.Parser, name string, text []byte) string {
	t.Helper()
	once, diags := format(t, p, name, text)
	for _, d := range diags {
		t.Fatalf("%s:%d: %s", name, d.Span.Position().Line, d.Message)
	}
	twice, _ := format(t, p, name, []byte(once))
	if d := golden.Diff([]byte(once), []byte(twice)); d != "" {
		t.Errorf("%s: formatting the output changes it:\n%s", name, d)
	}
	return once
}

// TestFilesAreFormattedAsReviewed formats testdata/*.x into testdata/*.x.golden.
func TestFilesAreFormattedAsReviewed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.x")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	p := syntax.NewParser()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		golden.CheckString(t, file+".golden", stable(t, p, file, text))
	}
}

func TestOddTextsAreFormatted(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blanks", " \n\n\t\n", ""},
		{"only a comment", "\n\n  /* c */  ", "/* c */\n"},
		{"carriage returns", "const A=1;\r\n\r\n\r\n/* c\r\n * d */\r\nconst B=2;\r\n", "const A = 1;\r\n\r\n/* c\r\n * d */\r\nconst B = 2;\r\n"},
		{"byte order mark", "\ufeffconst A=1;", "\ufeffconst A = 1;\n"},
		{"DOS end-of-file mark", "const A=1;\r\n\x1a", "const A = 1;\r\n"},
		{"several DOS end-of-file marks", "const A=1;\n\x1a\x1a\n\x1a", "const A = 1;\n"},
		{"only a DOS end-of-file mark", "\x1a", ""},
		{"directive that ends with a carriage return", "#define A 1\r", "#define A 1\n"},
		{"% line that ends with a carriage return", "const A = 1;\r\n%int x;\r", "const A = 1;\r\n%int x;\r\n"},
		{"% line without a newline", "%int x;", "%int x;\n"},
		{"namespaces", "typedef ::a::b c<a :: N>;", "typedef ::a::b c<a::N>;\n"},
		{"line comment within a declaration", "const A // one\n= 1;", "const A // one\n    = 1;\n"},
		{"two-line comment within a declaration", "const A /* one\n  two */ = 1;", "const A /* one\n  two */ = 1;\n"},
		{"excluded lines at the end", "#if 0\nwhatever {\n  it is\n#endif", "#if 0\nwhatever {\n  it is\n#endif\n"},
		{"comment that begins on a directive", "#if 0 /* one\ntwo */ three\n#endif\nconst A=1;", "#if 0 /* one\ntwo */ three\n#endif\nconst A = 1;\n"},
	}
	p := syntax.NewParser()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, stable(t, p, "f.x", []byte(tt.in))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestFaultyTextsAreNotFormatted(t *testing.T) {
	tests := []struct{ text, want string }{
		{"struct s { int a int b; };", `expected ; after "a"`},
		{"const A = 1", `expected ; after "1"`},
		{"const A = 1; /* c", "comment is not terminated"},
		{"#if 1\nconst A = 1;", "#if without #endif"},
		{"a\x00b", "f.x is not a text file, or larger than 16777216 bytes"},
	}
	for _, tt := range tests {
		out, diags := format(t, syntax.NewParser(), "f.x", []byte(tt.text))
		if out != "" || len(diags) == 0 || diags[0].Message != tt.want {
			t.Errorf("%q: output %q, findings %v, expected %q", tt.text, out, diags, tt.want)
		}
	}
}

// TestFormattingTwiceChangesNothing formats every file of the corpus and of testdata/ok twice. The
// tests of the command check that the meaning stays the same.
func TestFormattingTwiceChangesNothing(t *testing.T) {
	files, err := filepath.Glob("../../testdata/ok/*.x")
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
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, diags := format(t, p, file, text); len(diags) == 0 {
			stable(t, p, file, text)
			n++
		}
	}
	if n < 60 {
		t.Errorf("only %d of %d files were formatted", n, len(files))
	}
}

func FuzzSource(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.x")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	for _, s := range []string{
		"#if 0\n x\n#else\nconst A=1;\n#endif", "struct s { int /* a */ b; // c\n\t/* d\n\te */ };",
		"enum e { A = 1 /* x */\n /* y */ };", "% a \\\nb\nconst A // c\n = 1;", "union u switch (int d) { case 1: /* c */ case 2: int *a; };",
	} {
		f.Add(s)
	}
	p := syntax.NewParser()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		once, diags := format(t, p, "f.x", []byte(text))
		if len(diags) > 0 {
			return
		}
		twice, diags := format(t, p, "f.x", []byte(once))
		if len(diags) > 0 || once != twice {
			t.Fatalf("input\n%q\nonce\n%q\ntwice\n%q", text, once, twice)
		}
	})
}
