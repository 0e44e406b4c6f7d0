package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Callers that lose patience at any moment: each Call ends once, replies reach the Calls
// they belong to, and in the end all credits are back (R135, R291; T14, T64).
func TestCancelAtAnyMoment(t *testing.T) {
	w := newWorld(t)
	l := &later{h: &file{t: t}}
	t.Cleanup(l.wg.Wait)
	w.serve(l, &rdmaio.Config{Credits: 5})
	c := w.dial(nil)
	var xid, ok, given atomic.Uint32
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 60 {
				id := xid.Add(1)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(1500))*time.Microsecond)
				reply, err := c.Call(ctx, nullCall(id, 40))
				cancel()
				switch {
				case err == nil:
					ok.Add(1)
					if got := binary.BigEndian.Uint32(reply.Message); got != id {
						t.Errorf("Call %d got the reply to %d", id, got)
					}
				case errors.Is(err, context.DeadlineExceeded):
					given.Add(1)
				default:
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if ok.Load() == 0 || given.Load() == 0 {
		t.Errorf("%d Calls went well, %d were given up: the test tells nothing", ok.Load(), given.Load())
	}
	for deadline := time.Now().Add(5 * time.Second); c.Stats().InFlight > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("credits did not come back: %+v", c.Stats())
		}
	}
	if _, err := overdrawn(w.since(0), 5); err != nil {
		t.Error(err)
	}
}

// T2, R3, R134: a peer that sends more Calls than it has credits loses the
// connection, and nobody else anything.
func TestOverdrawingPeer(t *testing.T) {
	w := newWorld(t)
	h := silent{make(chan *rdmaio.Request, 8)}
	w.serve(h, &rdmaio.Config{Credits: 2})
	honest := w.dial(nil)
	p := newRaw(t, w.client)
	if _, err := w.client.Dial(context.Background(), "there", p.qp, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.send(unhex(t, msg("")))
	}
	<-p.lost
	for range 2 { // the handler has two of them, and answers into the void
		r := <-h.got
		failed := make(chan error, 1)
		r.Reply(rdmaio.Message{Inline: replyHeader(1).buf}, func(err error) { failed <- err })
		if err := <-failed; err == nil {
			t.Error("an answer went to a lost connection")
		}
	}
	go func() {
		r := <-h.got
		r.Reply(rdmaio.Message{Inline: replyHeader(5).buf}, nil)
	}()
	if _, err := honest.Call(context.Background(), nullCall(5, 40)); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// noHeap is a device that registers only memory of its own.
type noHeap struct{ verbs.Device }

func (d noHeap) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	a.HeapMemory = false
	return a
}

// Where Go memory cannot be registered inline messages work, and a chunk is
// refused by name, before anything is sent.
func TestNoHeapMemory(t *testing.T) {
	w := newWorld(t)
	result := make(chan error, 2)
	f := &file{t: t, data: pattern(5000, 1)}
	w.server = noHeap{w.server}
	w.serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { r.Reply(f.serve(r), func(err error) { result <- err }) }), nil)
	c := w.dial(nil)
	w.client = noHeap{w.client}
	poor := w.dial(nil)

	var ce *rdmaio.CallError
	if _, err := poor.Call(context.Background(), writeCall(1, 0, make([]byte, 5000))); !errors.Is(err, rdmaio.ErrHeapMemory) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Errorf("client: %v", err)
	}
	if _, err := poor.Call(context.Background(), nullCall(2, 800)); err != nil {
		t.Errorf("inline: %v", err)
	}
	<-result
	var pe *rdmaio.PeerError
	if _, err := c.Call(context.Background(), readCall(3, 0, make([]byte, 5000))); !errors.As(err, &pe) {
		t.Errorf("READ from such a server: %v", err)
	}
	if err := <-result; !errors.Is(err, rdmaio.ErrHeapMemory) {
		t.Errorf("server: %v", err)
	}
	// A WRITE to it works: the message is put together in memory of the device.
	data := pattern(70000, 2)
	if _, err := c.Call(context.Background(), writeCall(4, 0, data)); err != nil || string(f.data) != string(data) {
		t.Errorf("WRITE to such a server: %v", err)
	}
}
