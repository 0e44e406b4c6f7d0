package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersOfCitations(t *testing.T) {
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
| # | Lv | What | RFC 8166 | Linux |
|---|---|---|---|---|
| R1 | M | first | 3.4.6, 4.5 | yes |
| R2 | D | second | - | yes |
## B. Two
| # | Lv | What | V1 | RFC 8166 | BIDIR | XCHAR | V2 |
|---|---|---|---|---|---|---|---|
| R3 | S | third | | - | | | |
| R4 | M | fourth | 3.3 | 4.5, RFC 5666 3.8 | | | 6.4.3, C.3 |
| R5 | M | fifth | | - | | | |
| R6 | M | sixth | | RFC 8797 4.2 | 5.3 | 2.1 | |
## C. Three
| # | Lv | What | RDMATCP | Linux |
|---|---|---|---|---|
| R7 | M | seventh | 3.4 | - |
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

func TestPagesFollowCitations(t *testing.T) {
	files := map[string]string{
		"a/a.go":                  "// Package a obeys R3.\npackage a\n\n// obeys R1 and R2 (RFC 8166 §4.5)\nvar x = 0\n",
		"a/b.go":                  "package a\n\ntype T[X any] struct {\n\ty int // R4\n}\n\nfunc (t *T[X]) put() {\n\tif t == nil { // RFC 8166 §3.4.6; R1\n\t}\n} // R6\n",
		"a/c.bind":                "prefix a\n# not yet (R2; RFC 8797 §4.2)\n\nrename b C\n",
		"internal/a.go":           "package a\n\n// R3 of a helper is obeyed by nothing\nvar x = 0\n",
		"a/a_test.go":             "package a\n\n// R3 between tests proves nothing\n\n// TestX is for R1 and R5.\nfunc TestX() {}\n",
		"a/testdata/x.go":         "package a // R3\n",
		"a/a_xdr.go":              "package a // R3\n",
		"a/v2.go":                 "package a\n\n// y obeys draft-ietf-nfsv4-rpcrdma-version-two-00\n// §4.2 and §C.3, and RFC 5044 §4.\nvar y = 0\n",
		"rdmaio/a_test.go":        "package a\n\nfunc TestEnd() {} // R2\n\n// R4, R6; draft-ietf-nfsv4-rpcrdma-version-two-00 §C.3\nfunc TestPeer() {}\n",
		"rdmaio/header/a_test.go": "package a\n\n// R6\nfunc TestHeader() {}\n",
	}
	root := tree(t, files)
	if code, out := command(t, "-root", root); code != 0 || out != "docs/conformance.md\ndocs/rfc8166.md\ndocs/version2.md\ndocs/drafts.md\n" {
		t.Fatalf("exit %d: %s", code, out)
	}
	read := func(name string) string {
		t.Helper()
		table, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(table)
	}
	const page = "docs/conformance.md"
	table := read(page)
	for _, row := range []string{
		"| A. One | 2 | 1 | 0 | 1 |", "| B. Two | 4 | 2 | 1 | 0 |", "| C. Three | 1 | 0 | 0 | 0 |", "| all | 7 | 3 | 1 | 1 |",
		"| R1 | M | encoding | proved | [§3.4.6](rfc8166.md#346-write-chunks), [§4.5](rfc8166.md#45-error-handling) | [a/a.go x](../a/a.go); [a/b.go T.put](../a/b.go) | [a TestX](../a/a_test.go) |",
		"| R2 | D | behaviour | obeyed |  | [a/a.go x](../a/a.go); [a/c.bind rename b C](../a/c.bind) |  |",
		"| R3 | S | behaviour |  |  |  |  |",
		"| R4 | M | encoding | proved | [§4.5](rfc8166.md#45-error-handling), [RFC 5666 §3.8](rfc8166.md#rfc-5666-38-rpc-call-and-reply), [V2 §6.4.3](version2.md#643-rdma2_error-report-transport-error), [V2 §C.3](version2.md#c3-credit-management-changes), [V1 §3.3](drafts.md#draft-ietf-nfsv4-rpcrdma-08-33-flow-control) | [a/b.go T.y](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |",
		"| R5 | M | behaviour | encoded |  |  | [a TestX](../a/a_test.go) |",
		"| R6 | M | behaviour | proved | [RFC 8797 §4.2](rfc8166.md#rfc-8797-42-send-and-receive-size-values), [RFC 8167 §5.3](rfc8166.md#rfc-8167-53-using-chunks-in-reverse-direction-operations), [XCHAR §2.1](drafts.md#draft-dnoveck-nfsv4-rpcrdma-xcharext-01-21-characteristics-model) | [a/b.go T.put](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |",
	} {
		if !strings.Contains(table, row+"\n") {
			t.Errorf("found\n%s\nexpected a row %q", table, row)
		}
	}
	if got, want := read("docs/rfc8166.md"), `
## §3.4.6 Write Chunks

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R1 | M | first | [a/a.go x](../a/a.go); [a/b.go T.put](../a/b.go) | [a TestX](../a/a_test.go) |
| | | *cites the section* | [a/b.go T.put](../a/b.go) |  |

## §4.5 Error Handling

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R1 | M | first | [a/a.go x](../a/a.go); [a/b.go T.put](../a/b.go) | [a TestX](../a/a_test.go) |
| R4 | M | fourth | [a/b.go T.y](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |
| | | *cites the section* | [a/a.go x](../a/a.go) |  |

## RFC 8167 §5.3 Using Chunks in Reverse-Direction Operations

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R6 | M | sixth | [a/b.go T.put](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |

## RFC 8797 §4.2 Send and Receive Size Values

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R6 | M | sixth | [a/b.go T.put](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |
| | | *cites the section* | [a/c.bind rename b C](../a/c.bind) |  |

## RFC 5666 §3.8 RPC Call and Reply

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R4 | M | fourth | [a/b.go T.y](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |
`; !strings.HasSuffix(got, want) {
		t.Errorf("by section: found\n%s\nexpected at its end\n%s", got, want)
	}
	if got, want := read("docs/version2.md"), `
## §4.2 Message Framing

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| | | *cites the section* | [a/v2.go y](../a/v2.go) |  |

## §6.4.3 RDMA2_ERROR: Report Transport Error

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R4 | M | fourth | [a/b.go T.y](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |

## §C.3 Credit Management Changes

| # | Lv | duty | code | tests |
|---|---|---|---|---|
| R4 | M | fourth | [a/b.go T.y](../a/b.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |
| | | *cites the section* | [a/v2.go y](../a/v2.go) | [rdmaio TestPeer](../rdmaio/a_test.go) |
`; !strings.HasSuffix(got, want) {
		t.Errorf("version 2: found\n%s\nexpected at its end\n%s", got, want)
	}
	for _, heading := range []string{"draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §2.1 ", "draft-williams-rdmatcp-00 §3.4 ", "draft-ietf-nfsv4-rpcrdma-08 §3.3 "} {
		if got := read("docs/drafts.md"); !strings.Contains(got, "\n## "+heading) {
			t.Errorf("the drafts: found\n%s\nexpected a heading %q", got, heading)
		}
	}
	if code, out := command(t, "-root", root, "-check"); code != 0 {
		t.Errorf("a current table: exit %d: %s", code, out)
	}
	for _, bad := range []string{"R8", "six"} {
		if code, out := command(t, "-root", root, "-lose", bad); code != 2 || !strings.Contains(out, "expected duties of docs/requirements.md, R1 to R7") {
			t.Errorf("-lose %s of 7: exit %d: %s", bad, code, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// A proof that goes is a finding, one of an endpoint where a codec's stays too, and nothing is
	// written over it.
	write("a/a_test.go", "package a\n")
	write("rdmaio/a_test.go", "package a\n\n// R4\nfunc TestPeer() {}\n")
	for _, args := range [][]string{{"-check"}, nil, {"-lose", "R1, R5"}} {
		code, out := command(t, append([]string{"-root", root}, args...)...)
		if code != 3 || !strings.Contains(out, "R6 was proved") || strings.Contains(out, "R1 was proved") == (len(args) == 2) ||
			strings.Contains(out, "R5 was encoded") == (len(args) == 2) || strings.Contains(out, "R4") {
			t.Errorf("%v: lost proofs: exit %d: %s", args, code, out)
		}
	}
	if read(page) != table {
		t.Error("a table without the proofs was written")
	}
	// Those that were none may be given up by name, once.
	if code, out := command(t, "-root", root, "-lose", "R1,R5,R6"); code != 0 || !strings.Contains(read(page), "| R6 | M | behaviour | encoded |") {
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

// Tables stay current when lines move within a file.
func TestLinesMayMove(t *testing.T) {
	root := tree(t, map[string]string{"a/a.go": "package a\n\nvar x = 0 // R1\n"})
	if code, out := command(t, "-root", root); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(root, "a/a.go"), []byte("package a\n\nvar y = 0\n\n// x obeys R1.\nvar x = 0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out := command(t, "-root", root, "-check"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A proved duty needs a citation in product code, and a section that is cited has to exist.
func TestMistakenCitationsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "R4 is proved by a test, and no product code cites it: write // RFC 8166 §4.5; R4 at",
		"\nvar x = \"RFC 8166 §3.9\" // R4":  "a/a.go:3: found RFC 8166 §3.9, which is not a section of that document; it has 3, 3.1, 3.2, ",
		"\nvar x = 0 // RFC 8166 §3.4.7; R4": "a/a.go:3: found RFC 8166 §3.4.7, which is not a section of that document; it has 3.4, 3.4.1, ",
		"\n// R4; draft-ietf-nfsv4-rpcrdma-version-two-00\n// §4.2, §4.6\nvar x = 0": "a/a.go:3: found draft-ietf-nfsv4-rpcrdma-version-two-00 §4.6, which is not a section",
		"\nvar x = 0 // R4; draft-williams-rdmatcp-00 §3.5":                          "a/a.go:3: found draft-williams-rdmatcp-00 §3.5, which is not a section",
		"\nvar x = 0 // R4; RFC 8166 §3.4; §3.9":                                     "a/a.go:3: found RFC 8166 §3.9, which is not a section",
		"\nvar x = 0 // R4; RFC 8166 §3.4 to §3.8":                                   "a/a.go:3: found RFC 8166 §3.8, which is not a section",
		"\nvar x = 0 // R4, R8":                                                      "a/a.go:3: found R8, and docs/requirements.md has R1 to R7",
		"\nvar x = 0 // R4 to R9":                                                    "a/a.go:3: found R9, and docs/requirements.md has R1 to R7",
	} {
		root := tree(t, map[string]string{"a/a.go": "package a\n" + text, "rdmaio/a_test.go": "package a\n\n// R4\nfunc TestPeer() {}\n"})
		code, out := command(t, "-root", root)
		if _, err := os.Stat(filepath.Join(root, "docs/conformance.md")); code != 3 || !strings.Contains(out, want) || err == nil {
			t.Errorf("exit %d: found %q, expected %q and no tables", code, out, want)
		}
	}
	for _, wrong := range []string{"RFC 8166 §3.9", "R99"} { // in a test
		root := tree(t, map[string]string{"rdmaio/a_test.go": "package a\n\n// " + wrong + "\nfunc TestPeer() {}\n"})
		if code, out := command(t, "-root", root, "-check"); code != 3 || !strings.Contains(out, "rdmaio/a_test.go:3: found "+wrong) {
			t.Errorf("a test that cites %s: exit %d: %s", wrong, code, out)
		}
	}
}

// A name that ends in a slash includes the folders below it; any other name is one folder.
func TestFoldersOfEndpoints(t *testing.T) {
	for dir, want := range map[string]bool{
		"rdmaio": true, "runtime/oncrpc/rpc": true, "rdmaio/providers/mem": true, "rdmaio/verbs": true, "rdmaio/verbs/verbstest": true,
		"rdmaio/internal/header": false, "rdmaio/internal/credit": false, "gen/rpcrdma2": false, "rdmaiox": false, "runtime/oncrpc": false,
	} {
		if got := under(endpoints, dir); got != want {
			t.Errorf("under(endpoints, %q): found %v, expected %v", dir, got, want)
		}
	}
	for _, e := range slices.Concat(endpoints, harness, shared) {
		if fi, err := os.Stat(filepath.Join("../..", e)); err != nil || !fi.IsDir() {
			t.Errorf("%s is not a folder of the module", e)
		}
	}
}

func TestMalformedListIsRefused(t *testing.T) {
	if code, _ := command(t, "surplus"); code != 2 {
		t.Errorf("an argument: exit %d", code)
	}
	if code, out := command(t, "-root", t.TempDir()); code != 1 || !strings.Contains(out, "requirements.md") {
		t.Errorf("no requirements: exit %d: %s", code, out)
	}
	const head = "## A\n| # | Lv | What | RFC 8166 |\n"
	if _, err := parseRequirements([]byte(head + "| R1 | M | a | RFC 5666 3.8, 3.9 |\n")); err == nil || !strings.Contains(err.Error(), `found "3.9"`) {
		t.Errorf("3.9 is a section of RFC 5666 only: %v", err)
	}
	for _, bad := range []string{
		head + "| R1 | M | a | - |\n| R3 | M | b | - |\n", head[5:] + "| R1 | M | a | - |\n", head + "| Rx | M | a | - |\n", "nothing\n",
		"## A\n| R1 | M | a | - |\n", "## A\n| # | Lv | What |\n| R1 | M | a | - |\n",
		head + "| R1 | M | a |  |\n", head + "| R1 | M | a | 3.10 |\n", head + "| R1 | M | a | RFC 5666 4.6.1 |\n",
	} {
		if _, err := parseRequirements([]byte(bad)); err == nil {
			t.Errorf("%q is accepted, expected an error", bad)
		}
	}
}
