package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// lines is a writer that sends each text that it gets.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// TestWaitForWriterOfPipeIsAnnounced reads a pipe whose writer comes after the notice.
func TestWaitForWriterOfPipeIsAnnounced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.x")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	notices, read := make(lines, 10), make(chan string)
	defer AnnouncePipes(notices, "xdrgen", []string{"check", name})()
	go func() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		read <- string(text)
	}()
	if notice := <-notices; notice != "xdrgen: \""+name+"\" is a named pipe: reading it ends when its writer closes it\n" {
		t.Error(notice)
	}
	if err := os.WriteFile(name, []byte("text"), 0); err != nil {
		t.Error(err)
	}
	if text := <-read; text != "text" {
		t.Errorf("read %q", text)
	}
}

// TestOrdinaryFilesAreNotAnnounced checks that only pipes have a timer.
func TestOrdinaryFilesAreNotAnnounced(t *testing.T) {
	notices := make(lines, 1)
	AnnouncePipes(notices, "xdrgen", []string{"check", "no-such-file", t.TempDir()})()
	if len(notices) != 0 {
		t.Error(<-notices)
	}
}
