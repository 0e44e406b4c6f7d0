package main

import (
	"os"
	"strings"
	"testing"
)

// The measurements of docs/why-slow.md work. Package examples/slow tests its other commands.
func TestWhySlowPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/why-slow.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(page)) {
		if words, ok := strings.CutPrefix(line, "$ rpcrdma "); ok {
			code, out, errs := try(t.Context(), strings.Fields(words)...)
			if code != exitDone || !strings.Contains(out, "calls/s") {
				t.Errorf("%s: exit %d: %s%s", line, code, out, errs)
			}
			ran++
		}
	}
	if ran != 2 {
		t.Errorf("%d commands", ran)
	}
}
