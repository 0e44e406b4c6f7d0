package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// numbering answers each Call with the number of Calls before it, after a pause.
type numbering struct {
	pause time.Duration
	n     atomic.Uint32
}

func (h *numbering) ServeRPC(r *rdmaio.Request) {
	e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
	e.Words(0, h.n.Add(1))
	time.AfterFunc(h.pause, func() { r.Reply(e.Message(), nil) })
}

// number makes a Call of 40 bytes and returns the answer of numbering.
func number(t *testing.T, c *rdmaio.Conn, xid uint32) uint32 {
	t.Helper()
	reply, err := c.Call(context.Background(), rpctest.NullCall(xid, 40))
	if err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint32(reply.Message[len(reply.Message)-4:])
}

// wantStats compares the counts of a cache.
func wantStats(t *testing.T, what string, c *replycache.Cache, want replycache.Stats) {
	t.Helper()
	synctest.Wait()
	if got := c.Stats(); got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// T131, R288: two clients of one host that make the same Call with the same XID each get their own
// reply, also when both Calls are in progress at a time. When the first client has gone, its reply
// answers the next Call.
func TestReplyCacheTellsClientsApart(t *testing.T) {
	for _, pause := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			h := &numbering{pause: pause}
			w.Serve(replycache.New(h, nil), nil)
			first, second := w.Dial(nil), w.Dial(nil)
			answers := make(chan uint32, 2)
			for _, c := range []*rdmaio.Conn{first, second} {
				go func() { answers <- number(t, c, 7) }()
				time.Sleep(time.Second)
			}
			if a, b := <-answers, <-answers; a != 1 || b != 2 {
				t.Errorf("pause %v: the answers are %d and %d, want 1 and 2", pause, a, b)
			}
			for i, c := range []*rdmaio.Conn{first, second, first} {
				if a := number(t, c, 7); a != uint32(1+i%2) {
					t.Errorf("pause %v: sent again by client %d: answer %d", pause, 1+i%2, a)
				}
			}
		})
	}
}

// T131: a client may know before the server that its connection is lost. The Call of another
// connection is held back while the first is up. It is answered with the reply to the first if that
// is lost, and executed otherwise.
func TestReplyCacheHoldsACallBack(t *testing.T) {
	for _, lost := range []bool{true, false} {
		for _, pause := range []time.Duration{0, 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				w := rdmaiotest.New(t)
				cache := replycache.New(&numbering{pause: pause}, &replycache.Config{Grace: 2 * time.Second})
				w.Serve(cache, nil)
				first, second := w.Dial(nil), w.Dial(nil)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if _, err := first.Call(ctx, rpctest.NullCall(7, 40)); (err != nil) != (pause > 0) {
					t.Fatal(err)
				}
				if lost {
					time.AfterFunc(time.Second, func() { _ = first.Close() })
				}
				before := time.Now()
				a := number(t, second, 7)
				switch took := time.Since(before); {
				case lost && (a != 1 || took > 3*time.Second-time.Millisecond):
					t.Errorf("pause %v: answer %d after %v, want the lost connection's", pause, a, took)
				case !lost && (a != 2 || took != 2*time.Second+pause):
					t.Errorf("pause %v: answer %d after %v, want one of its own after Grace", pause, a, took)
				}
				if s := cache.Stats(); s.Delayed != 1 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// The reply to a client that has gone answers the first connection that asks again, and no further
// one while that connection is up.
func TestKeptReplyAnswersOneConnectionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		w.Serve(replycache.New(new(numbering), nil), nil)
		first, second, third := w.Dial(nil), w.Dial(nil), w.Dial(nil)
		number(t, first, 7)
		_ = first.Close()
		if a, b := number(t, second, 7), number(t, third, 7); a != 1 || b != 2 {
			t.Errorf("answers %d and %d, want 1 and 2", a, b)
		}
	})
}

// A Call whose connection ended while it was held back is not executed.
func TestCallOfALostConnectionIsNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h := new(numbering)
		w.Serve(replycache.New(h, nil), nil)
		first, second := w.Dial(nil), w.Dial(nil)
		number(t, first, 7)
		failed := make(chan error, 1)
		go func() {
			_, err := second.Call(context.Background(), rpctest.NullCall(7, 40))
			failed <- err
		}()
		synctest.Wait()
		_ = second.Close()
		if err := <-failed; !errors.Is(err, rdmaio.ErrClosed) {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if h.n.Load() != 1 {
			t.Errorf("executed %d times", h.n.Load())
		}
	})
}

// Idempotent procedures are executed again, and their replies are not kept.
func TestIdempotentCallIsExecutedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		cache := replycache.New(new(numbering), &replycache.Config{Idempotent: func(program, version, procedure uint32) bool {
			return program == 100003 && version == 3 && procedure == rpctest.ProcRead
		}})
		w.Serve(cache, nil)
		c := w.Dial(nil)
		for want := range uint32(2) {
			if _, err := c.Call(context.Background(), rpctest.ReadCall(7, 0, nil)); err != nil {
				t.Fatal(err)
			}
			wantStats(t, fmt.Sprint(want), cache, replycache.Stats{})
		}
		if a, b := number(t, c, 8), number(t, c, 8); a != 3 || b != 3 {
			t.Errorf("answers %d and %d, want 3 twice", a, b)
		}
	})
}

// T132: a Call in progress keeps its entry, however little room there is: it is not executed twice.
func TestReplyCacheKeepsRunningCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h := &numbering{pause: time.Minute}
		cache := replycache.New(h, &replycache.Config{
			Entries: 1, MaxSources: 1, Age: time.Second, Client: func(r *rdmaio.Request) string { return fmt.Sprint(binary.BigEndian.Uint32(r.Message) % 8) },
		})
		w.Serve(cache, &rdmaio.Config{IdleTimeout: -1})
		first, second := w.Dial(nil), w.Dial(nil)
		number(t, first, 100) // gets credits
		number(t, second, 100)
		h.n.Store(0)
		answers := make(chan uint32, 16)
		call := func(c *rdmaio.Conn) {
			for xid := range uint32(8) {
				go func() { answers <- number(t, c, xid) }()
				synctest.Wait()
			}
		}
		call(first)
		time.Sleep(30 * time.Second)
		call(second)
		for range 16 {
			<-answers
		}
		if h.n.Load() != 8 {
			t.Errorf("executed %d times, want 8", h.n.Load())
		}
		time.Sleep(time.Hour)
		number(t, first, 8) // entries of sources that had Calls in progress are removed like others
		if s := cache.Stats(); s.Entries > 1 || s.Sources > 1 || s.Bytes > 400 || s.Running != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A source is removed when all its replies are too old, or when there are too many sources; then
// the one silent longest is evicted first.
func TestReplyCacheForgetsOldSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h, client := new(numbering), ""
		cache := replycache.New(h, &replycache.Config{
			MaxSources: 4, Age: time.Minute, Client: func(*rdmaio.Request) string { return client },
		})
		w.Serve(cache, &rdmaio.Config{IdleTimeout: -1})
		c := w.Dial(nil)
		for i, name := range []string{"a", "b", "c", "d", "a", "e", "f"} { // removes b and c
			client = name
			number(t, c, uint32(i))
		}
		s := cache.Stats()
		if s.Sources != 4 || s.Entries != 5 || s.Evicted != 2 {
			t.Errorf("%+v", s)
		}
		for i, name := range []string{"a", "d", "e", "f"} {
			client = name
			if number(t, c, []uint32{0, 3, 5, 6}[i]); h.n.Load() != 7 {
				t.Errorf("the Call of %s was executed again", name)
				h.n.Store(7)
			}
		}
		time.Sleep(time.Hour)
		client = "g"
		number(t, c, 100)
		s = cache.Stats()
		if s.Sources != 1 || s.Entries != 1 || s.Bytes > 400 {
			t.Errorf("an hour later: %+v, want one source only", s)
		}
	})
}

// T132: there is a limit for all sources. Those that want all of it share it, and a modest source
// loses nothing.
func TestReplyCacheHasATotalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, entry = 64 << 10, 256 + 32
		w := rdmaiotest.New(t)
		h, client := new(numbering), "modest"
		cache := replycache.New(h, &replycache.Config{
			MaxBytes: total, Bytes: -1, Entries: -1, Client: func(*rdmaio.Request) string { return client },
		})
		w.Serve(cache, nil)
		c := w.Dial(nil)
		again := func(name string, from, n uint32) {
			t.Helper()
			client = name
			before := h.n.Load()
			for xid := from; xid < from+n; xid++ {
				number(t, c, xid)
			}
			if got := h.n.Load() - before; got > 0 {
				t.Errorf("%d of the %d last Calls of %s were executed again", got, n, name)
			}
		}
		for xid := range uint32(10) {
			number(t, c, xid)
		}
		for n := range uint32(8) {
			client = fmt.Sprint(n)
			for xid := range uint32(total / entry * 2) {
				number(t, c, xid)
			}
			if s := cache.Stats(); s.Bytes > total || s.Bytes < total-2*entry || s.Entries != s.Bytes/entry {
				t.Fatalf("%+v", s)
			}
		}
		again("modest", 0, 10)
		for n := range uint32(8) {
			again(fmt.Sprint(n), total/entry*2-20, 20)
		}
	})
}

// By default the hosts of an IPv6 /64 are one source with one limit, but different clients.
func TestHostsOfANetworkAreOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h := new(numbering)
		cache := replycache.New(h, &replycache.Config{Entries: 2})
		w.Serve(cache, nil)
		for i, addr := range []string{
			"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:0:0:3%eth0]:1", "[2001:db8:0:1::1]:1", "[::ffff:192.0.2.1]:1", "192.0.2.1:2", "192.0.2.2:1",
		} {
			dev, err := w.Net.Open(addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := rdmaio.Dial(context.Background(), dev, w.Addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a := number(t, c, 7); a != uint32(i+1) {
				t.Errorf("%s: answer %d is another client's", addr, a)
			}
			if err := errors.Join(c.Close(), dev.Close()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		// 2001:db8::/64 had three Calls, and two are kept; the others have one to two.
		wantStats(t, "after all", cache, replycache.Stats{Sources: 4, Entries: 6, Evicted: 1, Bytes: cache.Stats().Bytes})
	})
}

// A reply that is too large is counted, because its Call will be executed again.
func TestTooLargeReplyIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h := new(numbering)
		cache := replycache.New(h, &replycache.Config{MaxReply: 31})
		w.Serve(cache, nil)
		c := w.Dial(nil)
		if a, b := number(t, c, 7), number(t, c, 7); a != 1 || b != 2 {
			t.Errorf("answers %d and %d", a, b)
		}
		wantStats(t, "two replies of 32 bytes", cache, replycache.Stats{TooLarge: 2, Sources: 1})
	})
}
