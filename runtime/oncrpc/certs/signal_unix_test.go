//go:build unix

package certs_test

import (
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// A signal makes the files be read without a handshake, until stop, which may be called twice.
func TestReloadAtSignal(t *testing.T) {
	a := tlstest.NewAuthority(t)
	h := newHost(t, a, "server1")
	log := new(lines)
	files := h.open(func(cfg *certs.Config) {
		cfg.Logger, cfg.Interval = slog.New(slog.NewTextHandler(log, nil)), -1
	})
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR2} {
		stop := files.ReloadAt() // at SIGHUP
		if s != syscall.SIGHUP {
			stop()
			stop = files.ReloadAt(syscall.SIGUSR1, s)
		}
		h.renew(a, "next")
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		for got := ""; !strings.Contains(got, fresh); got += log.take() {
			if t.Context().Err() != nil {
				t.Fatal(got)
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		stop()
	}
}
