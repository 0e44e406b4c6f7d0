package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// revocations are a device's revocations. While hold is true they do not complete, as with a peer
// that acknowledges nothing.
type revocations struct {
	mu    sync.Mutex
	hold  bool
	held  []func()
	began chan struct{} // has a token for each revocation held
	all   int           // revocations
}

func (h *revocations) start(end func()) {
	h.mu.Lock()
	h.all++
	hold := h.hold
	if hold {
		h.held = append(h.held, end)
	}
	h.mu.Unlock()
	if hold {
		h.began <- struct{}{}
		return
	}
	end()
}

// set sets hold. If it is false, the held revocations complete.
func (h *revocations) set(hold bool) {
	h.mu.Lock()
	h.hold = hold
	held := h.held
	h.held = nil
	h.mu.Unlock()
	for _, end := range held {
		end()
	}
}

// await waits until a revocation is held. A Call that returns before has made none.
func (h *revocations) await(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case <-h.began:
	case err := <-done:
		t.Fatalf("a Call returned without a revocation: %v", err)
	}
}

func (h *revocations) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

// overPlain runs a test over memory with devices that have the memory of hardware and whose queue
// pairs are Revokers, in both versions. The revocations are the named device's.
func overPlain(t *testing.T, device string, test func(t *testing.T, w *rdmaiotest.World, h *revocations)) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			h := &revocations{began: make(chan struct{}, 100)}
			w := rdmaiotest.NewWith(t, rdmaiotest.Options{Versions: []int{version}, Wrap: func(name string, d verbs.Device) verbs.Device {
				cfg := fault.Config{Manners: fault.Plain, Revoke: func(end func()) { end() }}
				if name == device {
					cfg.Revoke = h.start
				}
				return fault.New(cfg).Device(d)
			}})
			if w.Continue = -1; version == 1 {
				w.Continue = 0
			}
			test(t, w, h)
		})
	}
}

// A peer that delays a revocation delays only the Call whose keys it is about. All its keys end
// together, before the Call returns.
func TestRevocationDelaysItsCallOnly(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { revocationDelaysItsCall(t, do) })
	}
}

func revocationDelaysItsCall(t *testing.T, do rpctest.Form) {
	overPlain(t, "client", func(t *testing.T, w *rdmaiotest.World, h *revocations) {
		w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(20_000, 3)}, rdmaiotest.NoRemote())
		c := w.Dial(rdmaiotest.NoRemote())
		h.set(true)
		buf, done := make([]byte, 8000), make(chan error, 1)
		go func() {
			call := rpctest.ReadCall(1, 0, buf)
			call.MaxReply = 10_000 // a second key
			_, err := do(c, context.Background(), call)
			done <- err
		}()
		h.await(t, done)
		for xid := range uint32(50) {
			rpctest.Again(t, c, rpctest.SmallCall(), 100+xid)
		}
		select {
		case err := <-done:
			t.Fatalf("a Call returned before its keys were revoked: %v", err)
		default:
		}
		if live, _ := w.LiveKeys("client"); live != 2 {
			t.Errorf("%d keys are valid during the revocation, want 2", live)
		}
		h.set(false)
		if err := <-done; err != nil || !bytes.Equal(buf, rdmaiotest.Pattern(20_000, 3)[:8000]) {
			t.Errorf("%v, or other bytes came", err)
		}
		if live, _ := w.LiveKeys("client"); live != 0 || h.count() != 1 {
			t.Errorf("%d keys are valid after %d revocations, want none after 1", live, h.count())
		}
		if st := c.Stats(); st.RemoteRegistrations != 2 || st.Revocations != 2 {
			t.Errorf("%d registrations with a key, %d keys revoked, want 2 of each", st.RemoteRegistrations, st.Revocations)
		}
	})
}

// When the connection is closed, the keys of a Call become invalid although the peer delays their
// revocation.
func TestRevocationEndsWithTheConnection(t *testing.T) {
	overPlain(t, "client", func(t *testing.T, w *rdmaiotest.World, h *revocations) {
		w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(20_000, 3)}, rdmaiotest.NoRemote())
		c := w.Dial(rdmaiotest.NoRemote())
		h.set(true)
		buf, done := make([]byte, 8000), make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.ReadCall(1, 0, buf))
			done <- err
		}()
		h.await(t, done)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil { // the reply had come
			t.Errorf("a Call whose reply had come: %v", err)
		}
		if live, _ := w.LiveKeys("client"); live != 0 {
			t.Errorf("%d keys are valid after the end", live)
		}
	})
}

// Keys that cannot be revoked make this side close the connection, before the caller has its memory
// back (R329).
func TestFailedRevocationEndsTheConnection(t *testing.T) {
	inj := fault.New(fault.Config{
		Manners: fault.Plain, Revoke: func(end func()) { end() },
		Script: []fault.Fault{{Kind: fault.FailInvalidate, At: 2}},
	})
	w := rdmaiotest.NewWith(t, rdmaiotest.Options{Wrap: func(name string, d verbs.Device) verbs.Device {
		if name == "client" {
			return inj.Device(d)
		}
		return d
	}})
	w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(20_000, 3)}, rdmaiotest.NoRemote())
	c := w.Dial(rdmaiotest.NoRemote())
	call := rpctest.ReadCall(1, 0, make([]byte, 8000))
	call.MaxReply = 10_000
	_, err := c.Call(context.Background(), call)
	if !errors.Is(err, verbs.ErrBusy) || c.Err() == nil {
		t.Errorf("Call: %v, connection: %v; want both to have failed", err, c.Err())
	}
	if live, _ := w.LiveKeys("client"); live != 0 || inj.Count(fault.FailInvalidate).Fired != 1 {
		t.Errorf("%d keys are valid, %+v", live, inj.Count(fault.FailInvalidate))
	}
}

// A key that the reply has invalidated is not revoked, and without another one nothing is.
func TestKeyEndedByPeerIsNotRevoked(t *testing.T) {
	overPlain(t, "client", func(t *testing.T, w *rdmaiotest.World, h *revocations) {
		w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(20_000, 3)}, nil)
		c := w.Dial(nil)
		for xid, want := range []struct{ maxReply, revocations int }{{0, 0}, {10_000, 1}} {
			call := rpctest.ReadCall(uint32(xid), 0, make([]byte, 8000))
			call.MaxReply = want.maxReply
			before := c.Stats()
			if _, err := c.Call(context.Background(), call); err != nil {
				t.Fatal(err)
			}
			st := c.Stats()
			if n := int(st.Revocations - before.Revocations); n != want.revocations || h.count() != want.revocations {
				t.Errorf("%d keys revoked in %d revocations, want %d", n, h.count(), want.revocations)
			}
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.RemoteInvalidations == uint64(xid)+1 })
		}
	})
}

// A server never waits until a reply's keys are revoked (Config.Legacy): it continues to serve
// although a peer delays the revocations.
func TestServerDoesNotWaitForRevocations(t *testing.T) {
	h := &revocations{began: make(chan struct{}, 100)}
	w := rdmaiotest.NewWith(t, rdmaiotest.Options{Wrap: func(name string, d verbs.Device) verbs.Device {
		cfg := fault.Config{Manners: fault.Plain}
		if name == "server" {
			cfg.Revoke = h.start
		}
		return fault.New(cfg).Device(d)
	}})
	l := &rpctest.ReadChunkFile{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(60000, 5)}, Sent: make(chan error, 1)}
	s := w.Serve(l, &rdmaio.Config{Legacy: true})
	c := w.Dial(&rdmaio.Config{Legacy: true})
	h.set(true)
	for xid := range uint32(3) {
		if _, err := c.Call(context.Background(), rpctest.PlainRead(xid, 7, 3000)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-l.Sent:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			h.set(false)
			t.Fatal("the server waits for a revocation")
		}
	}
	if live, _ := w.LiveKeys("server"); live != 0 || h.count() != 0 {
		t.Errorf("%d keys are valid, %d revocations", live, h.count())
	}
	rdmaiotest.AwaitStats(t, s.Conns()[0], func(st *rdmaio.Stats) bool { return st.RemoteRegistrations == 3 && st.Revocations == 3 })
}

// A cancelled Call returns at once though revocations are delayed, and its late reply does no harm:
// the keys are for memory of the connection.
func TestCancelledCallWaitsForNoRevocation(t *testing.T) {
	overPlain(t, "client", func(t *testing.T, w *rdmaiotest.World, h *revocations) {
		s := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
		w.Serve(s, rdmaiotest.NoRemote())
		c := w.Dial(rdmaiotest.NoRemote())
		h.set(true)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, rpctest.ReadCall(1, 0, make([]byte, 8000)))
			done <- err
		}()
		r := <-s.Got
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
		(&rpctest.File{T: t, Data: rdmaiotest.Pattern(20_000, 3)}).ServeRPC(r)
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Abandoned == 0 && st.Regions == 0 })
		if live, _ := w.LiveKeys("client"); live != 0 || h.count() != 0 {
			t.Errorf("%d keys are valid, %d revocations", live, h.count())
		}
	})
}
