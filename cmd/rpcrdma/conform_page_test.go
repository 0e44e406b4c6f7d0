package main

import (
	"context"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
)

// Every command of docs/conform.md works, in the order of the page, the lines of output on it are
// printed, and its table has each kind of case.
func TestConformPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/conform.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	addr, ran, printed := "", 0, ""
	for _, block := range regexp.MustCompile("(?s)```(sh)?\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[2]) {
			words := shellWords(strings.TrimSpace(line))
			switch {
			case block[1] != "sh":
				if !strings.Contains(printed, line) {
					t.Errorf("no command before prints %s", line)
				}
				continue
			case words[1] == "serve":
				_, port, err := net.SplitHostPort(servingAt(t, "localhost:0", words[2:len(words)-1]...))
				if err != nil {
					t.Fatal(err)
				}
				addr = "localhost:" + port
			default:
				if words[len(words)-1] == "localhost:20050" {
					words[len(words)-1] = addr
				}
				code, out, errs := try(context.Background(), words[1:]...)
				if code != exitDone || out == "" {
					t.Errorf("%s: exit %d:\n%s%s", line, code, out, errs)
				}
				printed += out
			}
			ran++
		}
	}
	if ran < 8 {
		t.Errorf("%d commands", ran)
	}
	for _, c := range conform.Cases() {
		if kind, _, _ := strings.Cut(c.Name, "/"); !strings.Contains(page, "| `"+kind+"/` |") {
			t.Errorf("the table of the page lacks %s/", kind)
		}
	}
}
