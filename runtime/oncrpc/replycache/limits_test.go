package replycache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// desk is a cache before a handler that answers each Call with the number of its execution, or
// holds it if hold is set.
type desk struct {
	t        *testing.T
	cache    *replycache.Cache
	executed atomic.Uint32
	hold     bool
	held     []*oncrpc.Request
	reply    func(xid, n uint32) oncrpc.Message
}

// numbered returns a reply with a number and some bytes more.
func numbered(more int) func(xid, n uint32) oncrpc.Message {
	return func(xid, n uint32) oncrpc.Message {
		b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		return oncrpc.Message{Inline: append(binary.BigEndian.AppendUint32(b, n), make([]byte, more)...)}
	}
}

func newDesk(t *testing.T, cfg *replycache.Config) *desk {
	d := &desk{t: t, reply: numbered(0)}
	d.cache = replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		n := d.executed.Add(1)
		if d.hold {
			d.held = append(d.held, r)
			return
		}
		d.answer(r, n)
	}), cfg)
	return d
}

func (d *desk) answer(r *oncrpc.Request, n uint32) {
	r.Reply(d.reply(binary.BigEndian.Uint32(r.Message), n), nil)
}

// conn returns a new connection of a host, which is up.
func (d *desk) conn(host string) *fuzzConn {
	c := &fuzzConn{host: host}
	c.ctx, c.lost = context.WithCancel(context.Background())
	return c
}

// call makes a Call with this XID, which may not be answered yet when call returns.
func (d *desk) call(c *fuzzConn, xid uint32) *fuzzCall {
	b, _ := oncrpc.NewCall(xid, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
	x := &fuzzCall{t: d.t, conn: c, message: b}
	x.request = oncrpc.Request{Message: bytes.Clone(b), Responder: x}
	x.Serve(d.cache)
	return x
}

// ran checks that a Call is answered, and whether it was executed for that.
func (d *desk) ran(c *fuzzConn, xid uint32, want bool) {
	d.t.Helper()
	before := d.executed.Load()
	x := d.call(c, xid)
	if x.answers.Load() != 1 || x.reply == nil {
		d.t.Fatalf("Call %d of %s has %d answers", xid, c.host, x.answers.Load())
	}
	if got := d.executed.Load() > before; got != want {
		d.t.Errorf("Call %d of %s was executed: %v, want %v; %+v", xid, c.host, got, want, d.cache.Stats())
	}
}

// The replies of a source are bounded in number and in bytes, and the oldest go first.
func TestRepliesOfASourceAreBounded(t *testing.T) {
	for name, cfg := range map[string]*replycache.Config{
		"entries": {Entries: 3, Bytes: -1, MaxBytes: -1}, "bytes": {Entries: -1, Bytes: 3 * (256 + 28), MaxBytes: -1},
	} {
		d := newDesk(t, cfg)
		c := d.conn("192.0.2.1")
		for xid := range uint32(4) {
			d.ran(c, xid, true)
		}
		for xid := uint32(3); xid > 0; xid-- {
			d.ran(c, xid, false)
		}
		if s := d.cache.Stats(); s.Entries != 3 || s.Bytes != 3*(256+28) || s.Evicted != 1 || s.Hits != 3 {
			t.Errorf("%s: %+v", name, s)
		}
		d.ran(c, 0, true) // it was the oldest, and now is the newest
		d.ran(c, 1, true)
		d.ran(c, 3, false)
	}
}

// Beyond MaxBytes, the source with the most loses its replies, and others keep theirs.
func TestLargestSourceLosesReplies(t *testing.T) {
	d := newDesk(t, &replycache.Config{MaxBytes: 4 * (256 + 28)})
	modest, greedy := d.conn("192.0.2.1"), d.conn("192.0.2.2")
	d.ran(modest, 1, true)
	for xid := range uint32(20) {
		d.ran(greedy, xid, true)
		if s := d.cache.Stats(); s.Bytes > 4*(256+28) {
			t.Fatalf("%+v", s)
		}
	}
	if s := d.cache.Stats(); s.Bytes != 4*(256+28) {
		t.Errorf("%d bytes are kept, of %d that may be", s.Bytes, 4*(256+28))
	}
	d.ran(modest, 1, false)
	d.ran(greedy, 19, false)
	d.ran(greedy, 16, true)
}

// Beyond MaxSources, the source that was silent longest goes with its replies, but none with a Call
// in progress.
func TestSilentSourceGoes(t *testing.T) {
	d := newDesk(t, &replycache.Config{MaxSources: 2})
	a, b, c := d.conn("192.0.2.1"), d.conn("192.0.2.2"), d.conn("192.0.2.3")
	d.ran(a, 1, true)
	d.ran(b, 1, true)
	d.ran(a, 2, true) // now b is silent
	d.ran(c, 1, true)
	if s := d.cache.Stats(); s.Sources != 2 || s.Entries != 3 || s.Evicted != 1 || s.Bytes != 3*(256+28) {
		t.Errorf("%+v", s)
	}
	d.ran(a, 1, false)
	d.ran(c, 1, false)
	d.ran(b, 1, true) // a goes
	d.hold = true
	d.call(c, 9)
	d.call(b, 9)
	d.hold = false
	d.ran(a, 1, true) // it is one too many, as the others are busy
	if s := d.cache.Stats(); s.Sources != 3 || s.Running != 2 {
		t.Errorf("%+v", s)
	}
	for _, r := range d.held {
		d.answer(r, d.executed.Load())
	}
	d.ran(c, 9, false)
	d.ran(b, 9, false)
}

// The addresses of an IPv6 network of 64 bits are one source, but not one client.
func TestNetworkIsOneSource(t *testing.T) {
	d := newDesk(t, nil)
	d.ran(d.conn("[2001:db8::1]"), 1, true)
	d.ran(d.conn("[2001:db8::2]"), 1, true)
	d.ran(d.conn("[2001:db8:0:1::1]"), 1, true)
	if s := d.cache.Stats(); s.Sources != 2 || s.Entries != 3 {
		t.Errorf("%+v", s)
	}
}

// A reply is kept for Age, and soon after that its memory is free. A source is known while it has
// replies or Calls in progress.
func TestRepliesAge(t *testing.T) {
	for _, cfg := range []*replycache.Config{nil, {Age: time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			age := 5 * time.Minute
			if cfg != nil {
				age = cfg.Age
			}
			d := newDesk(t, cfg)
			a, b := d.conn("192.0.2.1"), d.conn("192.0.2.2")
			d.ran(a, 1, true)
			d.hold = true
			d.call(b, 1)
			d.hold = false
			time.Sleep(age - time.Second)
			d.ran(a, 1, false)
			d.ran(a, 2, true)
			time.Sleep(age/8 + 2*time.Second)
			d.ran(a, 2, false)
			if s := d.cache.Stats(); s.Entries != 1 || s.Bytes != 256+28 || s.Evicted != 0 || s.Sources != 2 {
				t.Errorf("%+v", s)
			}
			d.ran(a, 1, true)
			time.Sleep(2 * age)
			d.answer(d.held[0], d.executed.Load())
			d.ran(b, 1, false) // it was answered just now
			if s := d.cache.Stats(); s.Entries != 1 || s.Sources != 1 || s.Running != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Replies are looked at eight times in Age, however many Calls come. One that has just its Age then
// is removed.
func TestOldRepliesAreLookedForAtTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &replycache.Config{Age: 8 * time.Second})
		c := d.conn("192.0.2.1")
		kept := func(at time.Duration, xid uint32, want int) {
			t.Helper()
			d.ran(c, xid, true)
			if n := d.cache.Stats().Entries; n != want {
				t.Errorf("after %v %d replies are kept, want %d", at, n, want)
			}
		}
		kept(0, 1, 1) // looks
		time.Sleep(500 * time.Millisecond)
		kept(500*time.Millisecond, 2, 2)
		time.Sleep(7500 * time.Millisecond)
		kept(8*time.Second, 3, 2) // looks, and removes the first, which has just its Age
		time.Sleep(time.Second - 1)
		kept(9*time.Second-1, 4, 3) // the second is old, and it is not the time to look
		time.Sleep(1)
		kept(9*time.Second, 5, 3)
	})
}

// By default a reply of 64 KiB is kept, and a longer one is not.
func TestDefaultOfMaxReply(t *testing.T) {
	for more, want := range map[int]uint64{64<<10 - 28: 0, 64<<10 - 24: 1} {
		d := newDesk(t, nil)
		d.reply = numbered(more)
		c := d.conn("192.0.2.1")
		d.ran(c, 1, true)
		d.ran(c, 1, want == 1)
		if s := d.cache.Stats(); s.TooLarge != 2*want {
			t.Errorf("a reply of %d bytes: %+v", 28+more, s)
		}
	}
}

// Two Calls that differ in their last byte alone are two Calls, whatever their length.
func TestEveryByteOfACallCounts(t *testing.T) {
	d := newDesk(t, nil)
	c := d.conn("192.0.2.1")
	for _, size := range []int{4, 60, 5000, 70 << 10} {
		for last := range byte(2) {
			b, _ := oncrpc.NewCall(7, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
			b = append(b, make([]byte, size)...)
			b[len(b)-1] = last
			for range 2 {
				x := &fuzzCall{t: t, conn: c, message: b}
				x.request = oncrpc.Request{Message: bytes.Clone(b), Responder: x}
				x.Serve(d.cache)
			}
		}
	}
	if n := d.executed.Load(); n != 8 {
		t.Errorf("%d Calls were executed, want 8; %+v", n, d.cache.Stats())
	}
}

// A reply of MaxReply bytes is kept, items included, and a longer one is not.
func TestMaxReply(t *testing.T) {
	d := newDesk(t, &replycache.Config{MaxReply: 100})
	c := d.conn("192.0.2.1")
	for xid, tt := range []struct {
		inline, item int
		kept         bool
	}{{100 - 28, 0, true}, {104 - 28, 0, false}, {48 - 28, 52, true}, {48 - 28, 56, false}} {
		d.reply = func(x, n uint32) oncrpc.Message {
			m := numbered(tt.inline)(x, n)
			if tt.item > 0 {
				m.Items = []xdr.Item{{Position: uint64(len(m.Inline)), Inline: len(m.Inline), Data: make([]byte, tt.item)}}
			}
			return m
		}
		d.ran(c, uint32(xid), true)
		d.ran(c, uint32(xid), !tt.kept)
	}
	d.hold = true
	d.call(c, 9)
	d.held[0].Drop(nil)
	if s := d.cache.Stats(); s.TooLarge != 4 || s.Entries != 2 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
}

// A negative limit means no limit.
func TestNegativeLimits(t *testing.T) {
	d := newDesk(t, &replycache.Config{Entries: -1, Bytes: -1, MaxBytes: -1, MaxSources: -1, MaxReply: -1})
	d.reply = numbered(1 << 20)
	for xid := range uint32(20) {
		for _, host := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
			d.ran(d.conn(host), xid, true)
		}
	}
	if s := d.cache.Stats(); s.Entries != 60 || s.Evicted != 0 || s.TooLarge != 0 {
		t.Errorf("%+v", s)
	}
}

// The same Call that waits for a reply gets its bytes, also if the reply is not kept and the
// handler overwrites its memory as soon as the first Call is answered.
func TestWaitingCallGetsBytesOfItsOwn(t *testing.T) {
	for _, size := range []int{0, 1000} {
		d := newDesk(t, &replycache.Config{MaxReply: 100})
		d.hold = true
		c := d.conn("192.0.2.1")
		d.call(c, 7)
		waiting := []*fuzzCall{d.call(c, 7), d.call(c, 7)}
		m := numbered(size)(7, 1)
		want := bytes.Clone(m.Inline)
		d.held[0].Reply(m, func(error) { clear(m.Inline) })
		for _, w := range waiting {
			if w.answers.Load() != 1 || w.reply == nil || !bytes.Equal(w.reply.Inline, want) {
				t.Errorf("a reply of %d bytes: the Call that waited has %d answers, with other bytes", len(want), w.answers.Load())
			}
		}
	}
}

// Calls with one XID are the same only if every byte is.
func TestEveryByteCounts(t *testing.T) {
	d := newDesk(t, nil)
	c := d.conn("192.0.2.1")
	d.ran(c, 7, true)
	x := d.call(c, 7)
	other := bytes.Clone(x.message)
	other[len(other)-1] ^= 1 // of the verifier
	y := &fuzzCall{t: t, conn: c, message: other}
	y.request = oncrpc.Request{Message: other, Responder: y}
	y.Serve(d.cache)
	if d.executed.Load() != 2 || y.answers.Load() != 1 || bytes.Equal(x.reply.Inline, y.reply.Inline) {
		t.Errorf("%d Calls were executed, and the other got %x", d.executed.Load(), y.reply.Inline)
	}
}

// Config.Client names the client: its Calls are answered whatever connection they come over, and
// wait for each other, and those of another client of its host are not.
func TestClientIsNamed(t *testing.T) {
	names := make(map[oncrpc.Conn]string)
	d := newDesk(t, &replycache.Config{Client: func(r *oncrpc.Request) string { return names[r.Conn()] }, Entries: 1})
	a, b, other := d.conn("192.0.2.1"), d.conn("192.0.2.9"), d.conn("192.0.2.1")
	names[a], names[b], names[other] = "one", "one", "two"
	d.ran(a, 7, true)
	d.ran(other, 7, true)
	d.ran(b, 7, false)
	d.hold = true
	d.call(a, 8)
	waiting := d.call(b, 8)
	if s := d.cache.Stats(); d.executed.Load() != 3 || s.Waited != 1 || s.Running != 1 {
		t.Errorf("%d executed, %+v", d.executed.Load(), s)
	}
	d.answer(d.held[0], d.executed.Load())
	if waiting.answers.Load() != 1 || waiting.reply == nil {
		t.Errorf("the Call that waited has %d answers", waiting.answers.Load())
	}
	if s := d.cache.Stats(); s.Sources != 2 || s.Entries != 2 || s.Delayed != 0 {
		t.Errorf("%+v", s)
	}
}

// A Call that is held back again, as the reply now belongs to a connection that seems to be up, has
// no more time than before, and counts once.
func TestHeldBackAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &replycache.Config{Grace: time.Second})
		first, second, third := d.conn("192.0.2.1"), d.conn("192.0.2.1"), d.conn("192.0.2.1")
		d.ran(first, 7, true)
		x := d.call(third, 7)
		time.Sleep(500 * time.Millisecond)
		first.lost()
		d.ran(second, 7, false) // at once, so the reply is of second
		synctest.Wait()
		if x.answers.Load() == 1 && x.reply != nil {
			return // third came first
		}
		time.Sleep(501 * time.Millisecond)
		synctest.Wait()
		if s := d.cache.Stats(); x.answers.Load() != 1 || d.executed.Load() != 2 || s.Delayed != 1 {
			t.Errorf("after a second the Call has %d answers, %d executed, %+v", x.answers.Load(), d.executed.Load(), s)
		}
	})
}

// A reply that was found over a new connection belongs to it, and a Call that was dropped leaves
// the same Call of another connection as it is.
func TestReplyBelongsToConnection(t *testing.T) {
	d := newDesk(t, &replycache.Config{Grace: -1})
	a, b, c := d.conn("192.0.2.1"), d.conn("192.0.2.1"), d.conn("192.0.2.1")
	d.ran(a, 7, true)
	a.lost()
	d.ran(b, 7, false)
	d.ran(c, 7, true) // b is up, so c is another client
	d.hold = true
	d.call(b, 8)
	d.call(c, 8)
	d.held[0].Drop(nil)
	if d.call(c, 8); d.executed.Load() != 4 {
		t.Errorf("%d executed: the Call of the other connection is in progress", d.executed.Load())
	}
}

// A Call that comes again over another connection is held back: until the first connection is lost,
// its own is, or the time is over.
func TestHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &replycache.Config{Grace: time.Second})
		began := time.Now()
		first := d.conn("192.0.2.1")
		d.ran(first, 7, true)
		second, third := d.conn("192.0.2.1"), d.conn("192.0.2.1")
		x, y := d.call(second, 7), d.call(third, 7)
		time.AfterFunc(300*time.Millisecond, second.lost)
		time.Sleep(299 * time.Millisecond)
		if synctest.Wait(); x.answers.Load()+y.answers.Load() != 0 {
			t.Errorf("answered after %v, although the first connection is up", time.Since(began))
		}
		time.Sleep(2 * time.Millisecond)
		if synctest.Wait(); x.answers.Load() != 1 || x.reply != nil || y.answers.Load() != 0 {
			t.Errorf("the connection of a Call was lost, and it has %d answers", x.answers.Load())
		}
		time.Sleep(697 * time.Millisecond)
		if synctest.Wait(); y.answers.Load() != 0 {
			t.Errorf("answered after %v, want a second", time.Since(began))
		}
		time.Sleep(3 * time.Millisecond)
		if synctest.Wait(); y.answers.Load() != 1 || d.executed.Load() != 2 {
			t.Errorf("after a second the Call has %d answers, and %d are executed", y.answers.Load(), d.executed.Load())
		}
		if s := d.cache.Stats(); s.Delayed != 2 || s.Entries != 2 {
			t.Errorf("%+v", s)
		}
		// The entry of one of them does not answer the other, and both are removed.
		d.ran(first, 7, false)
		d.ran(third, 7, false)
	}) // all goroutines end, although two connections are up
}

// A Call that came over many connections is served when any of those is lost that are looked at,
// and few goroutines look at them.
func TestHeldForMany(t *testing.T) {
	for lost := range 8 {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, &replycache.Config{Grace: time.Hour})
			d.hold = true
			var all []*fuzzConn
			for range 20 {
				all = append(all, d.conn("192.0.2.1"))
				d.call(all[len(all)-1], 7)
				time.Sleep(time.Hour) // held back, and then executed
				synctest.Wait()
			}
			before := runtime.NumGoroutine()
			x := d.call(d.conn("192.0.2.1"), 7)
			synctest.Wait()
			if n := runtime.NumGoroutine() - before; n > 9 {
				t.Errorf("%d goroutines for a Call that is held back", n)
			}
			all[lost].lost()
			synctest.Wait()
			d.held[slices.IndexFunc(d.held, func(r *oncrpc.Request) bool { return r.Conn() == oncrpc.Conn(all[lost]) })].Reply(numbered(0)(7, 99), nil)
			synctest.Wait()
			if x.answers.Load() != 1 || x.reply == nil || binary.BigEndian.Uint32(x.reply.Inline[24:]) != 99 {
				t.Errorf("connection %d was lost, and the Call has %d answers", lost, x.answers.Load())
			}
			if s := d.cache.Stats(); s.Running != 19 || s.Entries != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The reply to a Call whose handler panicked has its XID.
func TestPanicReplyHasXID(t *testing.T) {
	cache := replycache.New(oncrpc.HandlerFunc(func(*oncrpc.Request) { panic("out of coffee") }), nil)
	d := &desk{t: t, cache: cache}
	c := d.conn("192.0.2.1")
	func() {
		defer func() { _ = recover() }()
		d.call(c, 77)
	}()
	x := d.call(c, 77)
	if x.reply == nil || x.reply.CheckReply(77) != nil {
		t.Errorf("the reply is %v", x.reply)
	}
}
