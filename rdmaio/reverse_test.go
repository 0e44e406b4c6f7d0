package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// both is a server and a client that serve each other.
type both struct {
	w      *world
	server *rdmaio.Conn // its end of the connection
	client *rdmaio.Conn
}

// newBoth connects a client to a server, each with a handler; the server may call at once.
func newBoth(w *world, forward, reverse rdmaio.Handler, server, client rdmaio.Config) *both {
	w.t.Helper()
	if server.ReverseCredits == 0 {
		server.ReverseCredits = 8
	}
	client.ReverseHandler = reverse
	s := w.serve(forward, &server)
	b := &both{w: w, client: w.dial(&client)}
	for len(s.Conns()) == 0 {
		time.Sleep(time.Millisecond)
	}
	b.server = s.Conns()[0]
	b.server.AllowReverse()
	return b
}

// quiet asserts that nothing went wrong, and nothing is left in work.
func (b *both) quiet() {
	b.w.t.Helper()
	for name, c := range map[string]*rdmaio.Conn{"client": b.client, "server": b.server} {
		var st rdmaio.Stats
		for range 1000 { // replies are counted a moment before the last completions
			if st = c.Stats(); st.InFlight == 0 && st.Reverse.InFlight == 0 && st.SendQueueFilled == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if st.InFlight != 0 || st.Reverse.InFlight != 0 || st.Waiting != 0 || st.Faults != 0 || st.Dropped != 0 || st.Errors != 0 || c.Err() != nil {
			b.w.t.Errorf("%s: %+v, %v", name, st, c.Err())
		}
	}
}

// A handler of the server calls back before it answers, and the client's handler calls
// again: the same XID each time, in both directions (R268, R269, R273, R274; T116).
func TestBothWays(t *testing.T) { overEach(t, bothWays) }

func bothWays(t *testing.T, w *world) {
	served := make(chan uint32, 10)
	var b *both
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: append(replyHeader(binary.BigEndian.Uint32(r.Message)).buf, r.Message[20:24]...)}, nil)
	}
	call := func(c *rdmaio.Conn, proc uint32) error {
		reply, err := c.Call(context.Background(), &rdmaio.Call{Message: callHeader(7, proc).message()})
		if err != nil {
			return err
		}
		if got := binary.BigEndian.Uint32(reply.Message[24:]); got != proc {
			return fmt.Errorf("the answer is to %d, not to %d", got, proc)
		}
		return nil
	}
	b = newBoth(w, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		proc := binary.BigEndian.Uint32(r.Message[20:])
		if proc < 2 {
			r.Conn().AllowReverse()
			if err := call(r.Conn(), proc+10); err != nil {
				t.Error(err)
			}
		}
		served <- proc
		answer(r)
	}), rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		served <- binary.BigEndian.Uint32(r.Message[20:])
		answer(r)
	}), rdmaio.Config{Blocking: true}, rdmaio.Config{Blocking: true})
	for proc := range uint32(2) {
		if err := call(b.client, proc); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []uint32{10, 0, 11, 1} {
		if got := <-served; got != want {
			t.Errorf("procedure %d was served, want %d", got, want)
		}
	}
	b.quiet()
	for name, st := range map[string]rdmaio.Stats{"client": b.client.Stats(), "server": b.server.Stats()} {
		if st.Calls != 2 || st.Replies != 2 || st.Reverse.Calls != 2 || st.Reverse.Replies != 2 || st.Reverse.Granted != 8 || st.Granted != 32 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// R280: no reverse Call before the upper layer allows it, and none where none is configured.
func TestReverseNotReady(t *testing.T) {
	w := newWorld(t)
	s := w.serve(&file{t: t}, &rdmaio.Config{ReverseCredits: 1})
	c := w.dial(&rdmaio.Config{ReverseHandler: quick(nil)})
	again(t, c, smallCall(), 1)
	conn := s.Conns()[0]
	_, err := conn.Call(context.Background(), nullCall(1, 40))
	var ce *rdmaio.CallError
	if !errors.Is(err, rdmaio.ErrReverse) || errors.Is(err, verbs.ErrNotSupported) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Errorf("before it is allowed: %v", err)
	}
	if st := conn.Stats(); st.Reverse.Calls != 0 || st.Sent != 1 {
		t.Errorf("%+v", st)
	}
	conn.AllowReverse()
	if _, err := conn.Call(context.Background(), nullCall(1, 40)); err != nil {
		t.Error(err)
	}
}
