package rdmaiotest

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// PlainServer returns a device over mem, without tracing, and the address of a server there.
func PlainServer(t testing.TB, h rdmaio.Handler, cfg *rdmaio.Config) (client verbs.Device, addr string) {
	t.Helper()
	n := mem.New(nil)
	here, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	there, err := n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rdmaio.Listen(context.Background(), there, "there", h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), here.Close(), there.Close()); err != nil {
			t.Error(err)
		}
	})
	return here, s.Addr()
}

// Plain is a client and a server over mem, without tracing. cfg is for both.
func Plain(t testing.TB, h rdmaio.Handler, cfg *rdmaio.Config) *rdmaio.Conn {
	t.Helper()
	dev, addr := PlainServer(t, h, cfg)
	c, err := rdmaio.Dial(context.Background(), dev, addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, c) })
	return c
}

// NewBare makes a World over TCP without a history, for tests that measure memory.
func NewBare(t *testing.T) *World {
	return NewWith(t, Options{TCP: &rdmatcp.Config{}, Bare: true})
}

// Opened opens a device, which is closed at the end of the test.
func Opened[D verbs.Device](t testing.TB, open func() (D, error)) D {
	t.Helper()
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, d) })
	return d
}
