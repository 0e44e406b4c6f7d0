package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

const faulty = `// First.
const uint32 A 1;
typedef name4 opaque<8>;
enum e { B = 1 C = 2, }
struct s {
    unsigned a; // of s
    u_int b; u_int c
    string d;
    enum s2 x;
};
struct s2
    int y;
};;
program P { version V { int Q() = 1; } = 1; } = 1;
`

const mended = `/* First. */
const A = 1;
typedef opaque name4<8>;
enum e { B = 1, C = 2 };
struct s {
    unsigned int a; /* of s */
    unsigned int b; unsigned int c;
    string d<>;
    s2 x;
};
struct s2 {
    int y;
};
program P { version V { int Q(void) = 1; } = 1; } = 1;
`

// TestFixAppliesTheOnlyFix checks that check -fix applies the fixes of findings that have exactly
// one, and changes nothing else.
func TestFixAppliesTheOnlyFix(t *testing.T) {
	file := filepath.Join(writeFiles(t, map[string]string{"u.x": faulty}), "u.x")
	stdout, stderr, code := runCommand(t, "check", "-fix", "-strict", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mended, string(text)); diff != "" || code != exitClean {
		t.Errorf("exit code %d\n%s\n%s%s", code, diff, stdout, stderr)
	}
	if !strings.Contains(stdout, "u.x:2:7: fixed: XDR0703 typed-const: ") || strings.Count(stdout, "fixed:") < 14 {
		t.Errorf("stdout: %s", stdout)
	}
	if stdout, _, _ := runCommand(t, "check", "-fix", file); stdout != "" {
		t.Errorf("a second run: %s", stdout)
	}
}

// TestFixBad checks that -fix repairs the bad files whose rule has exactly one fix, and does not
// change the others.
func TestFixBad(t *testing.T) {
	mends := map[string]bool{}
	for _, file := range badFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		copied := filepath.Join(writeFiles(t, map[string]string{base: string(text)}), base)
		stdout, _, code := runCommand(t, "check", "-fix", "-strict", copied)
		after, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		changed := string(after) != string(text)
		if changed != strings.Contains(stdout, "fixed:") {
			t.Errorf("%s: changed %v, output %q", base, changed, stdout)
		}
		if changed && code == exitClean {
			mends[ruleOf(strings.TrimSuffix(base, ".x"))] = true
		}
	}
	for _, rule := range strings.Fields("missing-semicolon missing-brace missing-equals missing-comma reversed-typedef wrong-tag " +
		"c-type-name bare-unsigned typed-const trailing-comma line-comment bare-string empty-arguments extra-semicolon") {
		if !mends[rule] {
			t.Errorf("-fix repairs no file of rule %s", rule)
		}
	}
}

// TestFixDocument checks that a file extracted from a document does not change, and that
// tools/extract can apply the proposed errata.
func TestFixDocument(t *testing.T) {
	doc := "1.  One\n\n   struct a {\n      unsigned x;\n   };\n\n   struct b {\n      unsigned x;\n      int y\n   };\n"
	dir := writeFiles(t, map[string]string{"doc.txt": doc})
	extract := extractor(t)
	extract("-doc", filepath.Join(dir, "doc.txt"), "-mode", "sections", "-o", dir)
	file := filepath.Join(dir, "doc.x")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stdout, _, code := runCommand(t, "check", "-fix", "-format", "text", file)
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) || code != exitFindings {
		t.Errorf("exit code %d, %v: the extract changed:\n%s", code, err, after)
	}
	want := "# Errata for doc.x, which was extracted from doc.txt."
	i := strings.Index(stdout, want)
	if i < 0 {
		t.Fatalf("no errata: %s", stdout)
	}
	errata, _, _ := strings.Cut(stdout[i:], "\n"+file)
	errata = strings.ReplaceAll(strings.ReplaceAll(errata, "section ?", "section 1"), filepath.ToSlash(file), "")
	spec := t.TempDir()
	sum := sha256Hex(doc)
	for name, text := range map[string]string{
		"doc.txt": doc, "errata/doc.txt": errata,
		"MANIFEST": "document doc.txt\nversion 1\nsha256 " + sum + "\nmode sections\nunit doc\nfile doc.x 1\n",
	} {
		path := filepath.Join(spec, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	extract("-spec", spec)
	if stdout, _, code := runCommand(t, "check", "-strict", filepath.Join(spec, "x/doc/doc.x")); code != exitClean {
		t.Errorf("with the errata: exit code %d\n%s\n%s", code, stdout, errata)
	}
}

// TestUnitsComeFromStandardInput reads a unit from standard input.
func TestUnitsComeFromStandardInput(t *testing.T) {
	var out, errs strings.Builder
	env := environment{
		stdin: strings.NewReader("struct a { nothing x; };\n"), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, terminal: cli.IsTerminal,
	}
	if code := run([]string{"check", "-"}, env); code != exitFindings || !strings.HasPrefix(out.String(), "<stdin>:1:12: error: XDR0101") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
	if _, stderr, code := runCommand(t, "check", "-fix", "-"); code != exitUsage || !strings.Contains(stderr, "standard input") {
		t.Errorf("-fix: exit code %d, %s", code, stderr)
	}
}
