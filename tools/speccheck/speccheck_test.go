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
Duties of encoding: R1, R4.
## A. One
| # | Lv | What |
|---|---|---|
| R1 | M | first |
| R2 | D | second |
## B. Two
| R3 | S | third |
| R4 | M | fourth |
| R5 | M | fifth |
| R6 | M | sixth |
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
		"a/a.go":                  "package a\n\n// obeys R1 and R2\nvar x = 0\n",
		"a/a_test.go":             "package a\n\n// R3 between tests proves nothing\n\n// TestX is for R1 and R5.\nfunc TestX() {}\n",
		"a/testdata/x.go":         "package a // R3\n",
		"a/a_xdr.go":              "package a // R3\n",
		"rdmaio/a_test.go":        "package a\n\nfunc TestEnd() {} // R2\n\n// R4, R6\nfunc TestPeer() {}\n",
		"rdmaio/header/a_test.go": "package a\n\n// R6\nfunc TestHeader() {}\n",
	}
	root := tree(t, files)
	if code, out := command(t, "-root", root); code != 0 || out != "docs/conformance.md\n" {
		t.Fatalf("exit %d: %s", code, out)
	}
	read := func() string {
		t.Helper()
		table, err := os.ReadFile(filepath.Join(root, "docs/conformance.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(table)
	}
	table := read()
	for _, row := range []string{
		"| A. One | 2 | 1 | 0 | 1 |", "| B. Two | 4 | 2 | 1 | 0 |", "| all | 6 | 3 | 1 | 1 |",
		"| R1 | M | encoding | proved | a TestX |", "| R2 | D | behaviour | obeyed | a/a.go |", "| R3 | S | behaviour |  |  |",
		"| R4 | M | encoding | proved | rdmaio TestPeer |", "| R5 | M | behaviour | encoded | a TestX |", "| R6 | M | behaviour | proved | rdmaio TestPeer |",
	} {
		if !strings.Contains(table, row+"\n") {
			t.Errorf("no row %q in\n%s", row, table)
		}
	}
	if code, out := command(t, "-root", root, "-check"); code != 0 {
		t.Errorf("a current table: exit %d: %s", code, out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// A proof that goes is a finding, one of an endpoint where a codec's stays too, and nothing is written over it.
	write("a/a_test.go", "package a\n")
	write("rdmaio/a_test.go", "package a\n\n// R4\nfunc TestPeer() {}\n")
	for _, args := range [][]string{{"-check"}, nil, {"-lose", "R1, R5"}} {
		code, out := command(t, append([]string{"-root", root}, args...)...)
		if code != 3 || !strings.Contains(out, "R6 was proved") || strings.Contains(out, "R1 was proved") == (len(args) == 2) ||
			strings.Contains(out, "R5 was encoded") == (len(args) == 2) || strings.Contains(out, "R4") {
			t.Errorf("%v: lost proofs: exit %d: %s", args, code, out)
		}
	}
	if read() != table {
		t.Error("a table without the proofs was written")
	}
	// Those that were none may be given up by name, once.
	if code, out := command(t, "-root", root, "-lose", "R1,R5,R6"); code != 0 || !strings.Contains(read(), "| R6 | M | behaviour | encoded |") {
		t.Errorf("given up: exit %d: %s", code, out)
	}
	write("rdmaio/header/a_test.go", "package a\n")
	if code, out := command(t, "-root", root); code != 3 || !strings.Contains(out, "R6 was encoded") {
		t.Errorf("lost after that: exit %d: %s", code, out)
	}
	// And so is a table that is not current.
	write("rdmaio/header/a_test.go", "package a\n\nfunc TestX() { _ = \"R6\" }\n\nfunc TestY() {} // no number\n\n// R3\nfunc FuzzZ() {}\n")
	if code, out := command(t, "-root", root, "-check"); code != 3 || !strings.Contains(out, "not current") {
		t.Errorf("a stale table: exit %d: %s", code, out)
	}
}

// Folders below a name that ends in a slash have endpoints, others only by their whole name.
func TestEndpoints(t *testing.T) {
	for dir, want := range map[string]bool{
		"rdmaio": true, "rdmaio/rpc": true, "rdmaio/providers/mem": true, "rdmaio/verbs": true, "rdmaio/verbs/verbstest": true,
		"rdmaio/internal/header": false, "rdmaio/internal/credit": false, "gen/rpcrdma2": false, "rdmaiox": false, "runtime/oncrpc": false,
	} {
		if got := atEndpoint(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
	for _, e := range endpoints {
		if fi, err := os.Stat(filepath.Join("../..", e)); err != nil || !fi.IsDir() {
			t.Errorf("%s is no folder of the tree", e)
		}
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
