package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// lines is a writer that sends each text that it gets.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// TestNamedPipeIsAnnouncedAndRead checks a pipe whose writer comes after the notice.
func TestNamedPipeIsAnnouncedAndRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("p.x", 0o600); err != nil {
		t.Skip(err)
	}
	stderr, ended := make(lines, 10), make(chan int)
	go func() {
		ended <- run([]string{"check", "p.x"}, environment{
			stdout: stderr, stderr: stderr, getenv: func(string) string { return "" }, terminal: cli.IsTerminal,
		})
	}()
	if notice := <-stderr; notice != "xdrgen: \"p.x\" is a named pipe: reading it ends when its writer closes it\n" {
		t.Error(notice)
	}
	if err := os.WriteFile("p.x", []byte("struct a { int b; };\n"), 0); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// TestFileNamesKeepTheirBytes compiles a file whose name is not UTF-8. No Go file can contain such a
// name, and none with a line break.
func TestFileNamesKeepTheirBytes(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"\xffa.x": "struct a { int b; };\n", "b\nfunc init() {}\n.x": "struct a { int b; };\n"}))
	for _, name := range []string{"\xffa.x", "b\nfunc init() {}\n.x"} {
		if stdout, stderr, code := runCommand(t, "check", name); code != exitClean {
			t.Errorf("check %q: exit code %d, %s%s", name, code, stdout, stderr)
		}
		_, stderr, code := runCommand(t, "gen", "-o", "out", name)
		if code != exitUsage || !strings.Contains(stderr, "it is not printable UTF-8: rename the file") || exists("out") {
			t.Errorf("gen %q: exit code %d, %s", name, code, stderr)
		}
	}
}
