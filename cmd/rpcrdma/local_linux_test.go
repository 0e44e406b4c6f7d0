package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve and call meet at a local socket. A flag that is not possible there is an error of
// usage, and without a server call says what to do.
func TestServeAndCallAtSocket(t *testing.T) {
	at := "unix:" + filepath.Join(t.TempDir(), "s")
	if addr := servingAt(t, at, "-carrier", "tcp"); addr != at {
		t.Errorf("ready at %s", addr)
	}
	const echo, interfaceFile = "CONFORM_PROGRAM.CONFORM_V1.CONFORM_NULL", "internal/conform/program/conform.x"
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"call " + interfaceFile + " " + at + " " + echo, exitDone, "{}"},
		{"call -carrier rdma " + interfaceFile + " " + at + " " + echo, exitUsage, "found the socket " + at},
		{"call -tls -insecure " + interfaceFile + " " + at + " " + echo, exitPeer, "the server offers no TLS"},
		{"call -tls " + interfaceFile + " " + at + " " + echo, exitUsage, "needs -tls-name"},
		{"call -pcap x.pcap " + interfaceFile + " " + at + " " + echo, exitUsage, "-pcap writes packets of TCP"},
		{"call " + at + " " + interfaceFile + " " + echo, exitUsage, "expected the interface file first"},
		{"call " + interfaceFile + " unix:/no/such/socket " + echo, exitFailed, "start the server, or check the path of its socket"},
		{"serve " + at, exitUsage, "only -carrier tcp has local sockets"},
		{"serve -carrier tcp " + at, exitFailed, "another path, or stop the server that listens there"},
		{"serve -carrier tcp unix:/no/such/socket", exitFailed, "no such file"},
	} {
		code, out, errs := try(context.Background(), strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.want, out, errs)
		}
	}
}

// The commands of docs/oncrpc.md about sockets print what it says.
func TestSocketCommandsOfPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/oncrpc.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## 9. Serve this machine alone\n")
	_, block, _ := strings.Cut(section, "```console\n$ ")
	block, _, _ = strings.Cut(block, "```")
	const at = "unix:/tmp/conform.sock"
	own := "unix:" + filepath.Join(t.TempDir(), "s")
	t.Chdir("../..")
	ran := 0
	for _, part := range strings.Split(strings.ReplaceAll(block, "'", ""), "\n$ ") {
		line, want, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n")
		words := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "go run ./cmd/rpcrdma "), at, own))
		switch words[0] {
		case "serve":
			if got := "ready " + servingAt(t, words[len(words)-2], words[1:len(words)-2]...); got != strings.ReplaceAll(want, at, own) {
				t.Errorf("%s printed %q, the page says %q", line, got, want)
			}
		case "call":
			if code, out, errs := try(context.Background(), words...); code != exitDone || strings.TrimSpace(out) != want {
				t.Errorf("%s: exit %d, %s%s, the page says %q", line, code, out, errs, want)
			}
		}
		ran++
	}
	if ran != 3 {
		t.Errorf("%d commands", ran)
	}
}
