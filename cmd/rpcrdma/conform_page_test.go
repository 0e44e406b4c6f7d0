package main

import (
	"context"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

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
	listening := make(chan int, 1)
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
			case words[2] == "-listen": // the page has the calls for the first case
				var out, errs buffer
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					listening <- run(ctx, append(words[1:len(words)-1], "localhost:0"), environment{stdout: &out, stderr: &errs})
				}()
				t.Cleanup(func() {
					cancel()
					if code := <-listening; code != exitFailed || !strings.Contains(out.String(), "ok   reply/good ") {
						t.Errorf("-listen: exit %d, %s%s", code, out.String(), errs.String())
					}
				})
				for addr = ""; addr == ""; time.Sleep(time.Millisecond) {
					_, rest, _ := strings.Cut(errs.String(), "ready ")
					addr, _, _ = strings.Cut(rest, "\n")
				}
			default:
				for i, w := range words {
					words[i] = strings.ReplaceAll(strings.ReplaceAll(w, "localhost:20050", addr), "conform.x", "internal/conform/program/conform.x")
				}
				code, out, errs := try(context.Background(), words[1:]...)
				if code != exitDone || out == "" && !strings.Contains(line, "CLIENT_REPORT") {
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
	names := []string{}
	for _, c := range conform.Cases() {
		names = append(names, c.Name)
	}
	for _, c := range conform.Replies() {
		names = append(names, c.Name)
	}
	for _, name := range names {
		if kind, _, _ := strings.Cut(name, "/"); !strings.Contains(page, "| `"+kind+"/` |") {
			t.Errorf("the table of the page lacks %s/", kind)
		}
	}
}
