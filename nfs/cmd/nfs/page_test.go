package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// docs/nfs.md has the example of package client. -update writes it there.
func TestPage(t *testing.T) {
	const page, begin, end = "../../../docs/nfs.md", "```go\n", "```\n"
	program, err := os.ReadFile("../../client/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no block of Go", page)
	}
	golden.CheckString(t, page, before+begin+string(program)+end+after)
}
