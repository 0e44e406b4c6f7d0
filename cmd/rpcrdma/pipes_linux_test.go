package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// notices is a writer that sends each text that it gets.
type notices chan string

func (n notices) Write(text []byte) (int, error) {
	n <- string(text)
	return len(text), nil
}

// TestCallWaitingForInterfacePipeSaysSo gives call a pipe, whose writer comes after the notice.
func TestCallWaitingForInterfacePipeSaysSo(t *testing.T) {
	text, err := os.ReadFile("../../examples/notes/notes.x")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "p.x")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	said, code := make(notices, 10), make(chan int)
	var out bytes.Buffer
	go func() {
		code <- run(t.Context(), []string{"call", "-template", name, "NOTES.1.1"}, environment{stdout: &out, stderr: said})
	}()
	if notice := <-said; !strings.Contains(notice, "p.x\" is a named pipe") {
		t.Error(notice)
	}
	if err := os.WriteFile(name, text, 0); err != nil {
		t.Error(err)
	}
	if got := <-code; got != exitDone || !strings.Contains(out.String(), `"name"`) {
		t.Errorf("code %d, output %s", got, out.String())
	}
}
