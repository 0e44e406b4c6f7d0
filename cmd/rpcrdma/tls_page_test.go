package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Every command of docs/tls.md works, in the order of the page, and its excerpts in Go are parts of
// the examples that it names.
func TestTLSPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/tls.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := ""
	for _, name := range []string{"rdmaio/example_tls_test.go", "runtime/oncrpc/tcp/example_tls_test.go", "runtime/oncrpc/certs/example_test.go"} {
		example, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if examples += string(example); !strings.Contains(string(b), "../"+name) {
			t.Errorf("the page does not name %s", name)
		}
	}
	page := string(b)
	t.Chdir(t.TempDir())
	excerpts, ran := 0, map[string]int{}
	addr := ""
	for _, block := range regexp.MustCompile("(?s)```(sh|go)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if block[1] == "go" {
			if excerpts++; !strings.Contains(examples, block[2]) {
				t.Errorf("in neither example:\n%s", block[2])
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			words := strings.Fields(line)
			ran[words[0]]++
			switch {
			case words[0] == "openssl":
				opensslCommand(t, line)
			case strings.HasPrefix(line, "rpcrdma serve "):
				_, port, err := net.SplitHostPort(servingAt(t, "localhost:0", words[2:len(words)-1]...))
				if err != nil {
					t.Fatal(err)
				}
				addr = "localhost:" + port
			default:
				words[len(words)-1] = addr
				if code, out, errs := try(context.Background(), words[1:]...); code != exitDone || !strings.Contains(out, "TLS 1.3") {
					t.Errorf("%s: exit %d:\n%s%s", line, code, out, errs)
				}
			}
		}
	}
	if excerpts < 6 || ran["openssl"] != 3 || ran["rpcrdma"] < 5 {
		t.Errorf("%d excerpts, commands %v", excerpts, ran)
	}
	for _, name := range []string{"ca.pem", "server.pem", "client.pem"} {
		if _, err := os.Stat(filepath.Join(".", name)); err != nil {
			t.Error(err)
		}
	}
}

// opensslCommand runs a command line with quoted words.
func opensslCommand(t *testing.T, line string) {
	t.Helper()
	var args []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1)[1:] {
		args = append(args, m[1]+m[2])
	}
	if out, err := exec.Command(witness.Program(t, "openssl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}
