package liveness

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The procedures of the server.
const (
	procCount = 1 + iota // returns the length of its argument
	procHold             // is answered when the row releases it
	procLarge            // returns largeReply bytes
	procMark             // hands its connection to the row
)

const (
	program    = 400_020
	largeReply = 1 << 20
	callHead   = 40 // bytes of a Call without credentials (RFC 5531 §9)
	replyHead  = 24
)

// bench is a server of a row.
type bench struct {
	t      *testing.T
	server *carriers.Server
	xid    uint32           // of the last datagram
	marked chan oncrpc.Conn // the server's ends of connections that called procMark

	mu   sync.Mutex
	held []*oncrpc.Request
	free bool // nothing is held any more
}

// serve starts a server with limits.
func (c *Column) serve(t *testing.T, l carriers.Limits) *bench {
	t.Helper()
	b := &bench{t: t, marked: make(chan oncrpc.Conn, 1)}
	carrier := c.Carrier(l)
	b.server = carrier.Serve(t, carriers.Place{}, carrier.New(), b)
	t.Cleanup(b.release)
	return b
}

// ServeRPC implements oncrpc.Handler.
func (b *bench) ServeRPC(r *oncrpc.Request) {
	_, _, proc, _ := oncrpc.Procedure(r.Message)
	switch proc {
	case procHold:
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.free {
			b.held = append(b.held, r)
			return
		}
	case procMark:
		b.marked <- r.Conn()
	}
	answer(r, proc)
}

// answer answers a Request.
func answer(r *oncrpc.Request, proc uint32) {
	head, err := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	m := oncrpc.Message{Inline: binary.BigEndian.AppendUint32(head, uint32(len(r.Message)))}
	if proc == procLarge {
		binary.BigEndian.PutUint32(m.Inline[replyHead:], largeReply)
		m.Items = []xdr.Item{{Position: uint64(len(m.Inline)), Inline: len(m.Inline), Data: make([]byte, largeReply)}}
	}
	r.Reply(m, nil)
}

// ReplyBound implements oncrpc.Bounder.
func (b *bench) ReplyBound(_, _, proc uint32) int {
	if proc == procLarge {
		return largeReply + 64
	}
	return 64
}

// release answers the Requests that are held, and holds no further ones.
func (b *bench) release() {
	b.mu.Lock()
	held := b.held
	b.held, b.free = nil, true
	b.mu.Unlock()
	for _, r := range held {
		answer(r, procHold)
	}
}

// holding returns the number of Requests that are held.
func (b *bench) holding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}

// call makes a Call with n bytes of data.
func call(ctx context.Context, c oncrpc.Carrier, proc uint32, n int) error {
	head, err := oncrpc.NewCall(c.XID(), program, 1, proc, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	m := oncrpc.Message{Inline: binary.BigEndian.AppendUint32(head, uint32(n))}
	if n > 0 {
		m.Items = []xdr.Item{{Position: uint64(len(m.Inline)), Inline: len(m.Inline), Data: make([]byte, n)}}
	}
	rpc := &oncrpc.Call{Message: m, MaxReply: -1}
	if proc == procLarge {
		rpc.Results = [][]byte{make([]byte, largeReply)}
	}
	_, err = c.Call(ctx, rpc)
	return err
}

// datagram returns a Call with another XID each time, for carriers without connections.
func (b *bench) datagram(proc uint32) []byte {
	b.xid++
	head, err := oncrpc.NewCall(b.xid, program, 1, proc, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return append(head, 0, 0, 0, 0)
}

// patience is a context that ends when a test gives up.
func patience(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), leak.Patience())
	t.Cleanup(stop)
	return ctx
}

// dial connects to the server, or to a proxy before it. A server under attack may refuse a client
// that tries again.
func (b *bench) dial(addr string) carriers.Conn {
	b.t.Helper()
	ctx := patience(b.t)
	for {
		c, err := b.server.Dial(ctx, addr, nil)
		if err == nil {
			b.t.Cleanup(func() { leak.Close(b.t, c) })
			return c
		}
		if ctx.Err() != nil {
			b.t.Fatalf("no connection to a server under attack: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// mark returns the server's end of a connection.
func (b *bench) mark(c carriers.Conn) oncrpc.Conn {
	b.t.Helper()
	if err := call(patience(b.t), c, procMark, 0); err != nil {
		b.t.Fatal(err)
	}
	return <-b.marked
}

// honest makes an honest client that makes Calls all the time, some of them long. The function
// waits until it has made some, and stops it.
func (b *bench) honest() (end func()) {
	b.t.Helper()
	c := b.dial(b.server.Addr)
	one := func(n int) time.Duration {
		start, size := time.Now(), 100
		if n%8 == 0 {
			size = 20_000
		}
		if err := call(patience(b.t), c, procCount, size); err != nil {
			b.t.Errorf("Call %d of the honest client: %v", n, err)
		}
		return time.Since(start)
	}
	one(0)
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, longest := 1, time.Duration(0)
		for ; (n < 20 || !over.Load()) && !b.t.Failed(); n++ {
			longest = max(longest, one(n))
			time.Sleep(time.Millisecond)
		}
		b.t.Logf("an honest client made %d Calls, which took %v at most", n, longest)
	}()
	return func() { over.Store(true); <-done }
}

// waits waits until a condition holds.
func (b *bench) waits(what string, holds func() bool) {
	b.t.Helper()
	for ctx := patience(b.t); !holds(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			b.t.Fatalf("%s: not after %v; the server has %+v", what, leak.Patience(), b.server.State())
		}
	}
}

// settles waits until the server has n connections, and no memory.
func (b *bench) settles(n int) {
	b.t.Helper()
	b.waits("all is given back", func() bool { return b.server.State() == carriers.State{Conns: n} })
}

// ends waits until a connection is closed, and logs how long that took.
func (b *bench) ends(what string, c oncrpc.Conn, since time.Time) {
	b.t.Helper()
	select {
	case <-c.Done():
		b.t.Logf("%s: closed after %v: %v", what, time.Since(since).Round(time.Millisecond), c.Err())
	case <-time.After(leak.Patience()):
		b.t.Errorf("%s: up after %v", what, leak.Patience())
	}
}

// loses waits until a peer has lost its connection, and logs how long that took.
func (b *bench) loses(what string, p *peertest.Peer, since time.Time) {
	b.t.Helper()
	select {
	case <-p.Lost:
		b.t.Logf("%s: closed after %v: %v", what, time.Since(since).Round(time.Millisecond), p.QP.Err())
	case <-time.After(leak.Patience()):
		b.t.Errorf("%s: up after %v", what, leak.Patience())
	}
}

// lost reports whether a peer has lost its connection.
func lost(p *peertest.Peer) bool {
	select {
	case <-p.Lost:
		return true
	default:
		return p.QP.State() != verbs.StateConnected
	}
}
