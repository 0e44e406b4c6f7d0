package stream

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// exhausted is a listener of a process that has no free file descriptors for a while.
type exhausted struct {
	net.Listener
	left int // errors still to return
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.left > 0 {
		l.left--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// A listener that cannot accept logs that at most at LogRate, counts it, and continues when it can.
func TestAcceptErrors(t *testing.T) {
	const errs, rate = 6, 2
	log := new(lines)
	cfg := toyConfig(1424)
	cfg.Attrs.Name, cfg.Logger, cfg.LogRate = "few", slog.New(slog.NewTextHandler(log, nil)), rate
	d, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := d.listenOn(&exhausted{tcp, errs})
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", ln.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write(cfg.Framing.(*toy).hello(0, &verbs.ConnParams{})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err != nil {
		t.Fatalf("the listener did not recover: %v", err)
	}
	if err := req.Reject(nil); err != nil {
		t.Error(err)
	}
	if n := d.Stats().AcceptErrors; n != errs {
		t.Errorf("%d errors counted, want %d", n, errs)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := d.Stats().AcceptErrors; n != errs {
		t.Errorf("%d errors counted after Close, want %d: a closed listener is not an error", n, errs)
	}
	text := log.text.String()
	said := strings.Count(text, "no connection can be accepted")
	if said < 1 || int64(said)+d.Stats().Suppressed != errs || !strings.Contains(text, "device=few") || !strings.Contains(text, syscall.EMFILE.Error()) {
		t.Errorf("%d lines and %d suppressed, want %d in all, with the device and the error: %s", said, d.Stats().Suppressed, errs, text)
	}
}
