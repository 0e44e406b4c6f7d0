package replycache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// fuzzConn is a connection of FuzzCache.
type fuzzConn struct {
	oncrpc.Conn
	host string
	peer oncrpc.Peer
	ctx  context.Context
	lost context.CancelFunc
}

func (c *fuzzConn) Peer() oncrpc.Peer     { return c.peer }
func (c *fuzzConn) RemoteAddr() string    { return c.host + ":1000" }
func (c *fuzzConn) Done() <-chan struct{} { return c.ctx.Done() }
func (c *fuzzConn) Err() error            { return c.ctx.Err() }

// fuzzCall is a Call of FuzzCache, and its Responder.
type fuzzCall struct {
	oncrpc.Responder
	t       *testing.T
	conn    *fuzzConn
	request oncrpc.Request
	message []byte
	reply   *oncrpc.Message // as the carrier got it, not copied; set before answers is
	answers atomic.Int32
}

func (c *fuzzCall) Conn() oncrpc.Conn        { return c.conn }
func (c *fuzzCall) Context() context.Context { return c.conn.ctx }
func (c *fuzzCall) Serve(h oncrpc.Handler)   { h.ServeRPC(&c.request) }
func (c *fuzzCall) Reply(m oncrpc.Message, done func(error)) {
	c.reply = &m
	if done != nil {
		own := m.Clone() // it is sent: the handler may use its memory
		c.reply = &own
	}
	c.answers.Add(1)
	if done != nil {
		done(nil)
	}
}
func (c *fuzzCall) Drop(done func(error)) {
	c.answers.Add(1)
	if done != nil {
		done(nil)
	}
}

// running is a Call that the handler has.
type running struct {
	request *oncrpc.Request
	call    *fuzzCall
	entry   *kept
}

// kept is an entry of the cache, as the target expects it.
type kept struct {
	from    *fuzzConn
	message string
	done    bool
	reply   []byte
	waiting []*fuzzCall
}

// fuzzCache is one execution of FuzzCache.
type fuzzCache struct {
	t       *testing.T
	cache   *replycache.Cache
	limited bool // by small limits
	exact   bool // what the cache holds is known
	conns   []*fuzzConn
	calls   []*fuzzCall
	running []*running
	entries []*kept
	serial  uint32

	mu     sync.Mutex
	passed []*oncrpc.Request // to the handler, since the last step
}

// The limits of the cache.
const (
	maxKept      = 100
	fuzzEntries  = 3
	fuzzBytes    = 1000
	fuzzMaxBytes = 1500
	fuzzSources  = 2
)

// FuzzCache sends the messages of a hostile peer and of others through a Cache, over connections of
// two hosts that go down at any time, and answers those that the handler gets. Each Call is
// answered once, with the reply to a Call of the same bytes and host; it is executed when the cache
// has no reply to it, and then only. The limits hold.
//
//fuzz:floor 1000 each execution has a bubble of goroutines
func FuzzCache(f *testing.F) {
	f.Add(true, []byte{0x00, 1, 0x00, 1, 0x40, 0, 0x00, 1})
	f.Add(true, []byte{0x00, 1, 0x80, 0, 0x08, 1, 0x40, 1, 0x10, 1, 0x18, 1})
	f.Add(true, []byte{0x00, 1, 0x80, 0, 0x01, 1, 0x80, 1, 0x02, 1, 0xc0, 0, 0x02, 1})
	f.Add(true, []byte{0x00, 1, 0x00, 1, 0x40, 200, 0x00, 1})
	f.Add(true, []byte{0x00, 1, 0x01, 1, 0x02, 1, 0x00, 2, 0x40, 1, 0x40, 1, 0x40, 1})
	f.Add(false, []byte{0x00, 1, 0x40, 9, 0x00, 2, 0x40, 9, 0x00, 3, 0x40, 9, 0x00, 4, 0x40, 9, 0x04, 1, 0x40, 90, 0x06, 1, 0x40, 90, 0x04, 9, 0x40, 90, 0x00, 1})
	f.Add(true, []byte{0x00, 1, 0x40, 0, 0x80, 0, 0x01, 1, 0x02, 1, 0x40, 0, 0x01, 1, 0x02, 1})
	f.Add(true, []byte{0x00, 1, 0x01, 1, 0xc0, 0, 0x01, 1, 0x00, 1, 0x00, 9, 0x00, 17})
	f.Add(true, append([]byte{0x20, 30}, bytes.Repeat([]byte{7}, 30)...))
	f.Add(true, []byte{0x28, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0x28, 8, 0, 0, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, exact bool, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			r := &fuzzCache{t: t, exact: exact, limited: !exact}
			cfg := &replycache.Config{Grace: -1, MaxReply: maxKept, Idempotent: func(_, _, proc uint32) bool { return proc == 2 }}
			if !exact {
				cfg.Entries, cfg.Bytes, cfg.MaxBytes, cfg.MaxSources = fuzzEntries, fuzzBytes, fuzzMaxBytes, fuzzSources
			}
			r.cache = replycache.New(oncrpc.HandlerFunc(func(q *oncrpc.Request) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.passed = append(r.passed, q)
			}), cfg)
			for i := range 8 {
				c := &fuzzConn{host: []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "[2001:db8::1]"}[i/2]}
				c.ctx, c.lost = context.WithCancel(context.Background())
				r.conns = append(r.conns, c)
			}
			r.run(b)
		})
	})
}

func (r *fuzzCache) run(b []byte) {
	for len(b) > 1 && len(r.calls) < 200 {
		op, n := b[0], int(b[1])
		b = b[2:]
		switch op >> 6 {
		case 0:
			message, _ := oncrpc.NewCall(uint32(n%8), 400002, 1, uint32(n>>3)&3, oncrpc.None()).AppendBinary(nil)
			if op&0x20 != 0 { // any bytes
				message = b[:min(n, len(b))]
				b = b[len(message):]
			}
			if len(message) >= 8 { // carriers pass nothing shorter
				r.call(r.conns[op&7], message)
			}
		case 1:
			r.answer(int(op), n, false)
		case 2:
			r.conns[n&7].lost()
		case 3:
			r.answer(int(op), n, true)
		}
		r.check()
	}
	for len(r.running) > 0 {
		r.answer(0, 0, true)
	}
	for _, c := range r.conns {
		c.lost()
	}
	r.check()
	for _, c := range r.calls {
		if c.answers.Load() != 1 {
			r.t.Errorf("%x was answered %d times", c.message, c.answers.Load())
		}
	}
}

// call sends a message.
func (r *fuzzCache) call(conn *fuzzConn, message []byte) {
	c := &fuzzCall{t: r.t, conn: conn, message: message}
	c.request = oncrpc.Request{Message: bytes.Clone(message), Responder: c}
	r.calls = append(r.calls, c)
	c.Serve(r.cache)
	r.expect(c, r.executed())
}

// executed returns the Call that the handler got in this step, or nil.
func (r *fuzzCache) executed() *oncrpc.Request {
	passed := r.passed
	r.passed = nil
	if len(passed) > 1 {
		r.t.Fatalf("%d Calls were passed to the handler, want one at most", len(passed))
	}
	if len(passed) == 0 {
		return nil
	}
	return passed[0]
}

// expect checks what the cache did with a Call.
func (r *fuzzCache) expect(c *fuzzCall, got *oncrpc.Request) {
	if _, _, proc, _ := oncrpc.Procedure(c.message); proc == 2 {
		if got == nil {
			r.t.Fatalf("an idempotent Call was not passed on: %x", c.message)
		}
		r.running = append(r.running, &running{got, c, nil})
		return
	}
	e := r.find(c)
	if !r.exact {
		if got != nil {
			r.running = append(r.running, &running{got, c, r.enter(c)})
			r.checkSources()
		}
		return
	}
	switch {
	case c.conn.Err() != nil:
		if c.answers.Load() != 1 || c.reply != nil {
			r.t.Fatalf("a Call of a lost connection was not dropped: %d answers", c.answers.Load())
		}
	case e == nil:
		if got == nil {
			r.t.Fatalf("%x was not executed", c.message)
		}
		r.running = append(r.running, &running{got, c, r.enter(c)})
		return
	case e.done:
		if c.answers.Load() != 1 || c.reply == nil || !bytes.Equal(c.reply.Inline, e.reply) {
			r.t.Fatalf("%x got %v, want the reply that is kept, %x", c.message, c.reply, e.reply)
		}
	default:
		e.waiting = append(e.waiting, c)
		if c.answers.Load() != 0 {
			r.t.Fatalf("%x was answered before the first was", c.message)
		}
	}
	if got != nil {
		r.t.Fatalf("%x was executed again", c.message)
	}
}

func (r *fuzzCache) enter(c *fuzzCall) *kept {
	e := &kept{from: c.conn, message: string(c.message)}
	r.entries = append(r.entries, e)
	return e
}

// find returns the entry that answers a Call: the one of its connection, or one of its host whose
// connection is down.
func (r *fuzzCache) find(c *fuzzCall) (found *kept) {
	if c.conn.Err() != nil {
		return nil
	}
	for _, e := range r.entries {
		if e.message != string(c.message) || e.from.host != c.conn.host {
			continue
		}
		if e.from == c.conn {
			return e
		}
		if e.from.Err() != nil {
			found = e
		}
	}
	if found != nil {
		found.from = c.conn
	}
	return found
}

// answer answers one of the Calls that the handler has. Its reply names the Call.
func (r *fuzzCache) answer(which, size int, drop bool) {
	if len(r.running) == 0 {
		return
	}
	i := which % len(r.running)
	x := r.running[i]
	r.running = slices.Delete(r.running, i, i+1)
	r.serial++
	b, _ := oncrpc.NewReply(binary.BigEndian.Uint32(x.call.message), oncrpc.Success).AppendBinary(nil)
	b = append(binary.BigEndian.AppendUint32(b, r.serial), make([]byte, size&^3)...)
	sent := bytes.Clone(b)
	lost := x.call.conn.Err() != nil
	if drop {
		x.request.Drop(nil)
	} else {
		x.request.Reply(oncrpc.Message{Inline: b}, func(error) {
			for i := range b {
				b[i] = 'x' // the handler uses its memory again
			}
		})
	}
	x.request.Drop(nil) // a second answer is the carrier's to refuse
	x.call.answers.Add(-1)
	synctest.Wait()
	if !drop && !bytes.Equal(x.call.reply.Inline, sent) {
		r.t.Fatalf("the carrier got %x, want %x", x.call.reply.Inline, sent)
	}
	if drop && lost {
		// Those that waited were served again, in any order.
		for _, q := range r.passed {
			i := slices.IndexFunc(r.calls, func(c *fuzzCall) bool { return &c.request == q })
			r.running = append(r.running, &running{q, r.calls[i], r.enter(r.calls[i])})
		}
		r.exact = r.exact && (x.entry == nil || len(x.entry.waiting) == 0)
		r.passed = nil
	}
	if r.exact && x.entry != nil {
		r.answered(x, sent, drop)
	}
}

// answered checks what the Calls got that waited for an answer.
func (r *fuzzCache) answered(x *running, sent []byte, drop bool) {
	e := x.entry
	waiting := e.waiting
	e.waiting, e.reply, e.done = nil, sent, true
	if drop || len(sent) > maxKept {
		r.entries = slices.DeleteFunc(r.entries, func(of *kept) bool { return of == e })
	}
	for _, c := range waiting {
		switch {
		case c.answers.Load() != 1:
			r.t.Fatalf("a Call that waited has %d answers", c.answers.Load())
		case drop != (c.reply == nil):
			r.t.Fatalf("dropped: %v, and a Call that waited got %v", drop, c.reply)
		case !drop && !bytes.Equal(c.reply.Inline, sent):
			r.t.Fatalf("a Call that waited got %x, want %x", c.reply.Inline, sent)
		}
	}
}

// checkSources checks the number of sources, of which those with Calls in progress stay. It is
// bounded when a Call is added.
func (r *fuzzCache) checkSources() {
	busy := make(map[string]bool)
	for _, x := range r.running {
		busy[x.call.conn.host] = true
	}
	if s := r.cache.Stats(); r.limited && s.Sources > max(fuzzSources, len(busy)) {
		r.t.Fatalf("%+v with Calls of %d sources in progress", s, len(busy))
	}
}

// check checks the counts and the limits.
func (r *fuzzCache) check() {
	s := r.cache.Stats()
	if s.Running < 0 || s.Entries < 0 || s.Bytes < 256*s.Entries {
		r.t.Fatalf("%+v", s)
	}
	if r.limited {
		if s.Bytes > fuzzMaxBytes || s.Bytes > s.Sources*fuzzBytes || s.Entries > s.Sources*fuzzEntries {
			r.t.Fatalf("%+v", s)
		}
	}
	if !r.exact {
		return
	}
	ended, bytes, at := 0, 0, make(map[string]bool)
	for _, e := range r.entries {
		if e.done {
			ended++
			bytes += 256 + len(e.reply)
		}
		at[e.from.host] = true
	}
	if s.Entries != ended || s.Running != len(r.entries)-ended || s.Bytes != bytes || s.Evicted != 0 || s.Sources < len(at) {
		r.t.Fatalf("%+v, want %d replies of %d bytes and %d running", s, ended, bytes, len(r.entries)-ended)
	}
}
