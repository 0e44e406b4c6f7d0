package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// rpcrdma builds the command rpcrdma and returns its path.
func rpcrdma(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a command")
	}
	program := filepath.Join(t.TempDir(), "rpcrdma")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/rpcrdma").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// The commands of the page's section 7 print what it says. The test gives them ports of its own.
func TestShellCommands(t *testing.T) {
	bash := witness.Program(t, "bash")
	program := rpcrdma(t)
	ctx, cancel := context.WithCancel(context.Background())
	ready, served := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, "127.0.0.1:0", "127.0.0.1:0", false, served) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	line := make([]byte, 128)
	n, err := ready.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	tcpAddr, rdmaAddr := addresses(t, string(line[:n]))
	list := commands(t, "7. Call it from a shell")
	if len(list) != 6 {
		t.Errorf("%d commands", len(list))
	}
	for _, c := range list {
		line := strings.NewReplacer("go run ./cmd/rpcrdma ", program+" ", "localhost:20200", tcpAddr, "localhost:20201", rdmaAddr).Replace(c[0])
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		got := string(out)
		if err != nil {
			got += err.Error() + "\n" // go run prints it
		}
		if got != c[1] {
			t.Errorf("%s printed %q, the page says %q", c[0], got, c[1])
		}
	}
}

// refusals declares procedures that the server in C refuses, each in its own way: testdata/tirpc.
const refusals = `
program NOTES {
	version NOTES_V1 {
		void NOTES_GET(unsigned int) = 2;
		void UNKNOWN(void) = 99;
		void SYSTEM(void) = 100;
		void BADCRED(void) = 101;
		void TOOWEAK(void) = 105;
	} = 1;
	version NOTES_V9 { void NOTES_NULL(void) = 0; } = 9;
} = 0x20000200;
program OTHER { version OTHER_V1 { void OTHER_NULL(void) = 0; } = 1; } = 0x20000201;
`

// rpcrdma call speaks to a server of rpcgen and libtirpc, whose replies come in fragments, and has
// the status of each refusal (RFC 5531 §9).
func TestShellServerInC(t *testing.T) {
	program := rpcrdma(t)
	addr := "127.0.0.1:" + serverInC(t)
	other := filepath.Join(t.TempDir(), "refusals.x")
	if err := os.WriteFile(other, []byte(refusals), 0o666); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("61", 70_001)
	for _, tt := range []struct {
		file, proc, data string
		code             int
		want             string
	}{
		{"notes.x", "NOTES.NOTES_V1.NOTES_PUT", `{"name":"long","text":"` + text + `"}`, 0, "{}"},
		{"notes.x", "NOTES.NOTES_V1.NOTES_GET", `"long"`, 0, text},
		{"notes.x", "NOTES.NOTES_V1.NOTES_LIST", `{}`, 0, `"long"`},
		{other, "NOTES.1.NOTES_GET", `1000`, 4, `"accept_stat":"GARBAGE_ARGS"`},
		{other, "NOTES.1.UNKNOWN", `{}`, 4, `"accept_stat":"PROC_UNAVAIL"`},
		{other, "NOTES.1.SYSTEM", `{}`, 4, `"accept_stat":"SYSTEM_ERR"`},
		{other, "NOTES.1.BADCRED", `{}`, 4, `"auth_stat":"AUTH_BADCRED"`},
		{other, "NOTES.1.TOOWEAK", `{}`, 4, `"auth_stat":"AUTH_TOOWEAK"`},
		{other, "NOTES.9.NOTES_NULL", `{}`, 4, `"accept_stat":"PROG_MISMATCH"`},
		{other, "OTHER.1.0", `{}`, 4, `"accept_stat":"PROG_UNAVAIL"`},
	} {
		cmd := exec.Command(program, "call", "-d", "-", tt.file, addr, tt.proc)
		cmd.Stdin = strings.NewReader(tt.data)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: exit %d, %v, %.300s", tt.proc, code, err, out)
		}
	}
}
