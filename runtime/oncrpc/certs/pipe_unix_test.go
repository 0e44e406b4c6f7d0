//go:build unix

package certs_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// A pipe, as a shell makes it, is read once. A file that becomes one later is refused, and blocks
// no handshake.
func TestPipeIsReadOnce(t *testing.T) {
	a := tlstest.NewAuthority(t)
	h := newHost(t, a, "server1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	key, err := os.ReadFile(h.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(key); err != nil {
		t.Fatal(err)
	}
	w.Close()
	files := h.open(func(cfg *certs.Config) { cfg.Key = fmt.Sprintf("/dev/fd/%d", r.Fd()) })
	if err := files.Reload(); err != nil {
		t.Error(err)
	}

	files = h.open(nil)
	os.Remove(h.cert)
	if err := syscall.Mkfifo(h.cert, 0o600); err != nil {
		t.Skip(err)
	}
	if err := files.Reload(); err == nil || !strings.Contains(err.Error(), "is not a regular file any more") {
		t.Error(err)
	}
}
