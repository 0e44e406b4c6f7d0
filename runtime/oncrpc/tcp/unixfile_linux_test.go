package tcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Close after Shutdown leaves the file of the next server.
func TestShutdownAndCloseLeaveTheNextFile(t *testing.T) {
	h, _ := peers()
	addr := local(t)
	first, err := tcp.Listen(t.Context(), addr, h, &tcp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	listenLocal(t, addr, h, nil) // the next one
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(strings.TrimPrefix(addr, "unix:")); err != nil {
		t.Errorf("the other server's file: %v", err)
	}
}

// A named pipe in place of the folder is an error.
func TestFolderIsAPipe(t *testing.T) {
	h, _ := peers()
	fifo := filepath.Join(t.TempDir(), "f")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := tcp.Listen(ctx, "unix:"+fifo+"/s", h, nil); done <- err }()
	if err := <-done; err == nil {
		t.Error("Listen has no error")
	}
}
