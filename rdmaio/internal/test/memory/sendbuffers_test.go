package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// together makes n Calls of size bytes at a time. All are in flight when step is called.
func together(t *testing.T, w *rdmaiotest.World, c *rdmaio.Conn, from uint32, n, size int, step func()) (errs []error) {
	t.Helper()
	errs = make([]error, n)
	w.Net.Hold()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, errs[i] = c.Call(context.Background(), rpctest.NullCall(from+uint32(i), size)) })
	}
	synctest.Wait()
	step()
	w.Net.Release()
	wg.Wait()
	return errs
}

// A connection has send buffers for the messages in flight, and one when idle. Messages are so long
// that each needs a whole one. The test counts the bytes that both ends have registered and their
// devices allocated.
func TestRestingConnectionKeepsOneSendBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const credits, inline = 32, 4096
		w := rdmaiotest.New(t)
		// Without CANCEL, no credit is kept for it.
		cfg := &rdmaio.Config{InlineSend: inline, InlineRecv: inline, NoCancel: true}
		s := w.Serve(&rpctest.File{T: t}, cfg)
		c := w.Dial(cfg)
		const rest = (credits + 1) * inline // Receives, and a send buffer
		has := func(when string, client, server uint64) {
			t.Helper()
			if got := c.Stats().BufferBytes; got != client {
				t.Errorf("%s: the client has %d bytes, want %d", when, got, client)
			}
			if got := rdmaiotest.ServerConn(t, s).Stats().BufferBytes; server > 0 && got != server {
				t.Errorf("%s: the server has %d bytes, want %d", when, got, server)
			}
			if got := w.Client.Resources().AllocatedBytes; got != client {
				t.Errorf("%s: the client's device has %d bytes, want %d", when, got, client)
			}
		}
		if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		has("after a Call", rest, rest)
		for round := range uint32(2) {
			err := together(t, w, c, 100+100*round, credits, inline-64, func() { has("with all credits in use", 2*credits*inline, 0) })
			if err := errors.Join(err...); err != nil {
				t.Fatal(err)
			}
			has("a burst later", 2*credits*inline, 0)
			time.Sleep(5 * time.Second)
			has("at rest", rest, rest)
		}
	})
}

// Small messages share send buffers: 32 Calls of 128 bytes in flight need three buffers.
func TestSmallMessagesShareSendBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const credits, inline, size = 32, 4096, 128
		w := rdmaiotest.New(t)
		cfg := &rdmaio.Config{InlineSend: inline, InlineRecv: inline, NoCancel: true}
		w.Serve(&rpctest.File{T: t}, cfg)
		c := w.Dial(cfg)
		if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		const most = (credits + 3) * inline // Receives, and three send buffers
		errs := together(t, w, c, 100, credits, size, func() {
			if got := c.Stats().BufferBytes; got > most {
				t.Errorf("%d Calls of %d bytes are in flight: the client has %d bytes, want at most %d", credits, size, got, most)
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	})
}

// A connection that ends while all its messages are in flight releases all memory at once, and so
// does its peer.
func TestLostConnectionReleasesSendBuffers(t *testing.T) {
	for name, lose := range map[string]func(w *rdmaiotest.World, c *rdmaio.Conn, s *rdmaio.Server) error{
		"close":        func(_ *rdmaiotest.World, c *rdmaio.Conn, _ *rdmaio.Server) error { return c.Close() },
		"server close": func(_ *rdmaiotest.World, _ *rdmaio.Conn, s *rdmaio.Server) error { return s.Close() },
		"removal":      func(w *rdmaiotest.World, _ *rdmaio.Conn, _ *rdmaio.Server) error { w.ServerMem.Remove(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := rdmaiotest.New(t)
				s := w.Serve(&rpctest.File{T: t}, nil)
				c := w.Dial(&rdmaio.Config{NoCancel: true}) // no credit is kept for CANCEL
				if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
					t.Fatal(err)
				}
				const own = (32 + 1) * 1024
				errs := together(t, w, c, 2, 32, 1024-64, func() {
					if got := c.Stats().BufferBytes; got != own+31*1024 {
						t.Errorf("%d bytes with all credits in use", got)
					}
					if err := lose(w, c, s); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					if got := c.Stats().BufferBytes; got != own && got != 0 {
						t.Errorf("%d bytes when the connection is gone", got)
					}
				})
				for i, err := range errs {
					if err == nil {
						t.Errorf("Call %d was answered", i)
					}
				}
				if err := errors.Join(c.Close(), s.Close()); err != nil {
					t.Error(err)
				}
				if got := w.Client.Resources().AllocatedBytes + w.Server.Resources().AllocatedBytes; got != 0 {
					t.Errorf("%d bytes are left", got)
				}
			})
		})
	}
}

// A device that has no more memory slows a connection down, and does not end it.
func TestDeviceWithoutMemorySlowsAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		w.Serve(&rpctest.File{T: t}, nil)
		var script []fault.Fault
		for at := range uint64(100) {
			// Dial makes the first two.
			script = append(script, fault.Fault{Kind: fault.RefuseAlloc, At: 3 + at})
		}
		inj := fault.New(fault.Config{Script: script})
		w.Client = inj.Device(w.Client)
		c := w.Dial(nil)
		if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		err := together(t, w, c, 2, 32, 1024-64, func() {
			if n := inj.Count(fault.RefuseAlloc).Fired; n != 1 {
				t.Errorf("memory was asked for %d times without a reason to hope for it, want once", n)
			}
		})
		if err := errors.Join(err...); err != nil {
			t.Error(err)
		}
		if inj.Count(fault.RefuseAlloc).Fired < 2 {
			t.Error("it was never asked for again")
		}
	})
}

// A connection registers the Receives that it posts and one send buffer, and no further byte, for
// any credits of the two directions.
func TestConnectionRegistersNoFurtherByte(t *testing.T) {
	for _, tt := range []struct{ credits, reverse int }{{32, 0}, {32, 4}, {33, 0}, {5, 1}, {100, 20}} {
		w := rdmaiotest.New(t)
		handler := &rpctest.File{T: t}
		s := w.Serve(handler, &rdmaio.Config{Credits: tt.credits, ReverseCredits: tt.reverse, InlineSend: 4096, InlineRecv: 4096})
		c := w.Dial(&rdmaio.Config{Credits: tt.credits, ReverseCredits: tt.reverse, ReverseHandler: handler, InlineSend: 4096, InlineRecv: 4096})
		rpctest.Again(t, c, rpctest.SmallCall(), 1)
		if got, want := rdmaiotest.ServerConn(t, s).Stats().BufferBytes, uint64((tt.credits+tt.reverse+1)*4096); got != want {
			t.Errorf("%d and %d credits: %d bytes, want %d", tt.credits, tt.reverse, got, want)
		}
	}
}
