package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]int{
		"obeys R3":                  {3},
		"R3, R5 and (R7)":           {3, 5, 7},
		"R8 to R10":                 {8, 9, 10},
		"R8-R9; R8–R9":              {8, 9, 8, 9},
		"R9 to R99":                 {9, 10},
		"CR1 R1x PR12 R0 R11 RFC 9": nil,
	} {
		if diff := cmp.Diff(want, numbers(text, 10)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

const list = `# Requirements
## A. One
| # | Lv | What |
|---|---|---|
| R1 | M | first |
| R2 | D | second |
## B. Two
| R3 | S | third |
`

// tree makes a module with the requirements above and some citations.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["docs/requirements.md"] = list
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func command(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	code = run(args, &b, &b)
	return code, b.String()
}

func TestTable(t *testing.T) {
	files := map[string]string{
		"a/a.go":          "package a\n\n// obeys R1 and R2\nvar x = 0\n",
		"a/a_test.go":     "package a\n\n// R3 between tests proves nothing\n\n// TestX is for R1.\nfunc TestX() {}\n",
		"a/testdata/x.go": "package a // R3\n",
		"a/a_xdr.go":      "package a // R3\n",
	}
	root := tree(t, files)
	if code, out := command(t, "-root", root); code != 0 || out != "docs/conformance.md\n" {
		t.Fatalf("exit %d: %s", code, out)
	}
	table, err := os.ReadFile(filepath.Join(root, "docs/conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| A. One | 2 | 1 | 1 |", "| B. Two | 1 | 0 | 0 |", "| all | 3 | 1 | 1 |",
		"| R1 | M | proved | a TestX |", "| R2 | D | obeyed | a/a.go |", "| R3 | S |  |  |",
	} {
		if !strings.Contains(string(table), row+"\n") {
			t.Errorf("no row %q in\n%s", row, table)
		}
	}
	if code, out := command(t, "-root", root, "-check"); code != 0 {
		t.Errorf("a current table: exit %d: %s", code, out)
	}
	// A proof that goes is a finding, and so is a table that is not current.
	if err := os.WriteFile(filepath.Join(root, "a/a_test.go"), []byte("package a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out := command(t, "-root", root, "-check"); code != 3 || !strings.Contains(out, "R1 was proved") {
		t.Errorf("a lost proof: exit %d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(root, "a/a_test.go"), []byte("package a\n\nfunc TestX() { _ = \"R1\" }\n\nfunc TestY() {} // no number\n\n// R3\nfunc FuzzZ() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out := command(t, "-root", root, "-check"); code != 3 || !strings.Contains(out, "not current") {
		t.Errorf("a stale table: exit %d: %s", code, out)
	}
}

func TestRefuses(t *testing.T) {
	if code, _ := command(t, "surplus"); code != 2 {
		t.Errorf("an argument: exit %d", code)
	}
	if code, out := command(t, "-root", t.TempDir()); code != 1 || !strings.Contains(out, "requirements.md") {
		t.Errorf("no requirements: exit %d: %s", code, out)
	}
	for _, bad := range []string{"## A\n| R1 | M | a |\n| R3 | M | b |\n", "| R1 | M | a |\n", "## A\n| Rx | M | a |\n", "nothing\n"} {
		if _, err := parseRequirements([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
