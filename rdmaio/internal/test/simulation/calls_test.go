package simulation

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The sizes of a Call's and a Reply's header without credentials (RFC 5531 §9). A Call has its
// number, the time of its handler, and the lengths of result and reply after that. A
// reply has the number of the execution and the length of its result.
const (
	callHead  = 40
	replyHead = 24
	callSize  = callHead + 8 + 8 + 4 + 4
	replySize = replyHead + 8 + 4
)

// calls makes Calls on one connection after the other, and serves them.
//
//	left ──> submitted, or made by a caller that blocks ──> over ──> a next one
//	            ^ by the clock, or by a done function ────────────────────┘
type calls struct {
	w       *world
	results atomic.Uint64

	mu      sync.Mutex
	conn    *rdmaio.Conn // nil: none is up
	left    int          // to be made
	running int          // made, and not over
	list    []*call
	idle    chan struct{} // closed when all are over
	closing bool
	closes  chan struct{}
	held    int                  // Calls of hold
	inDone  map[*rdmaio.Conn]int // done functions that run
}

// call is one Call.
type call struct {
	oncrpc.Call
	*source
	id     uint64
	conn   *rdmaio.Conn
	since  time.Duration
	result int           // bytes of the result
	reply  int           // bytes of the reply without it
	narrow bool          // the reply is longer than the caller offers
	due    time.Duration // when its context or deadline is over, or 0
	begun  bool          // Submit has accepted it
	data   []byte        // of Results
	ctx    context.Context
	ended  int
}

// poison fills memory that the peer may not write any more.
const poison = 0xdb

// run makes n Calls.
func (c *calls) run(cfg *rdmaio.Config, n int) {
	w := c.w
	c.left, c.idle, c.inDone, c.closes = n, make(chan struct{}), make(map[*rdmaio.Conn]int), make(chan struct{}, 1)
	var connections sync.WaitGroup
	connections.Go(func() { c.connect(cfg) })
	chains := 1 + w.intN(2*w.credits)
	if w.rests() {
		chains = 1
	}
	for range chains {
		w.after(w.delay(), c.submit)
	}
	var callers sync.WaitGroup
	for range w.intN(3) {
		kick := make(chan *call, 1)
		callers.Go(func() { c.caller(kick) })
		w.after(w.delay(), func() { c.kick(kick) })
	}
	if w.loss > 0 {
		w.after(w.delay(), c.lose)
	}
	select {
	case <-c.idle:
	case <-time.After(time.Hour):
		c.mu.Lock()
		for _, k := range c.list {
			if k.ended == 0 {
				w.fail("Call %d has not ended: %+v", k.id, k)
			}
		}
		w.fail("%d Calls are left, %d run", c.left, c.running)
		c.left = 0
		c.mu.Unlock()
	}
	time.Sleep(2 * leaves) // the replies of cancelled Calls come, and losses are noticed
	c.full()
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.close()
	connections.Wait()
	callers.Wait()
}

// connect dials again after each loss.
func (c *calls) connect(cfg *rdmaio.Config) {
	for {
		own := *cfg
		conn, err := rdmaio.Dial(context.Background(), c.w.client, "there", &own)
		if err == nil {
			c.mu.Lock()
			c.conn = conn
			c.mu.Unlock()
			select {
			case <-conn.Done():
			case <-c.closes:
			}
			c.mu.Lock()
			c.conn = nil
			c.mu.Unlock()
			_ = conn.Close() // it may have failed
			c.over(conn)
			c.w.count(&c.w.seen.losses)
		}
		c.mu.Lock()
		closing := c.closing
		c.mu.Unlock()
		if closing {
			return
		}
	}
}

// over checks that a connection has no Calls left when Close has returned.
func (c *calls) over(conn *rdmaio.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.inDone[conn]; n > 0 {
		c.w.fail("%d done functions run after Close", n)
	}
	for _, k := range c.list {
		if k.conn == conn && k.begun && k.ended == 0 && !c.w.bugs.doneLost {
			c.w.fail("Call %d is not over after Close", k.id)
		}
	}
}

// lose breaks a connection now and then.
func (c *calls) lose() {
	c.mu.Lock()
	conn, over := c.conn, c.left == 0
	c.mu.Unlock()
	if over {
		return
	}
	if conn != nil && c.w.chance(c.w.loss*20) {
		if c.w.chance(0.3) {
			c.close()
		} else {
			c.w.breakOne()
		}
	}
	c.w.after(c.w.delay()*40, c.lose)
}

// close closes the connection. Only connect does that: where two goroutines close one, the second
// waits for a mutex, and then the clock of the bubble does not advance.
func (c *calls) close() {
	select {
	case c.closes <- struct{}{}:
	default:
	}
}

// next returns the next Call. If no more are to be made, it returns nil and true. Without a
// connection it returns nil, and again is called later.
func (c *calls) next(again func()) (_ *call, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return nil, true
	}
	if c.conn == nil {
		c.w.after(c.w.delay(), again)
		return nil, false
	}
	c.left--
	c.running++
	k := &call{id: uint64(len(c.list) + 1), conn: c.conn, source: c.w.newSource("call")}
	c.list = append(c.list, k)
	c.shape(k)
	return k, false
}

// shape chooses what a Call and its reply have. mu must be held.
func (c *calls) shape(k *call) {
	w := c.w
	var item []byte
	k.ctx, k.reply, k.MaxReply = context.Background(), replySize, -1
	switch k.intN(8) {
	case 0, 1: // by write chunk, or inline where that fits
		k.result = 1 + k.intN(4000)
		k.data = make([]byte, k.result)
		k.Results = [][]byte{k.data}
		if k.chance(0.5) {
			k.WholeReply = replySize + xdr.Padded(k.result)
		}
	case 2: // by reply chunk
		k.reply = 6000 + 4*k.intN(100)
		k.MaxReply = k.reply
	case 3:
		item = rdmaiotest.Pattern(6000, k.id)
	case 4: // refused, and over version 2 made again with room
		if k.chance(0.3) {
			k.reply, k.narrow = 20_000, true
		}
	}
	takes := 0
	if w.handler > 0 && k.chance(0.5) {
		takes = k.intN(int(w.handler))
	}
	b, _ := oncrpc.NewCall(k.conn.XID(), 400000, 1, 1, oncrpc.None()).AppendBinary(nil)
	b = binary.BigEndian.AppendUint64(b, k.id)
	b = binary.BigEndian.AppendUint64(b, uint64(takes))
	b = binary.BigEndian.AppendUint32(b, uint32(k.result))
	b = binary.BigEndian.AppendUint32(b, uint32(k.reply))
	k.Inline = b
	if item != nil {
		k.Items = []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: item}}
	}
	k.ReplyBuf = make([]byte, 64)
	if !k.chance(w.cancels) {
		return
	}
	in := time.Duration(k.intN(2_000_000))
	k.due = w.now() + in
	switch k.intN(3) {
	case 0:
		k.Deadline = time.Now().Add(in)
	case 1:
		var cancel context.CancelFunc
		k.ctx, cancel = context.WithCancel(k.ctx)
		k.due = w.after(in, cancel)
	case 2:
		var cancel context.CancelFunc
		k.ctx, cancel = context.WithCancel(k.ctx)
		k.due = w.after(1, cancel) // at once
	}
}

// submit submits a Call.
func (c *calls) submit() {
	k, _ := c.next(c.submit)
	if k == nil {
		return
	}
	c.begin(k, "submits")
	err := k.conn.Submit(k.ctx, &k.Call, func(r *oncrpc.Reply, err error) { c.done(k, r, err) })
	if err != nil {
		c.end(k, nil, err)
		c.w.after(c.pause(k), c.submit)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.begun = true
}

// begin records that a Call begins.
func (c *calls) begin(k *call, how string) {
	k.since = c.w.now()
	c.w.log.Called(k.id, fmt.Sprintf("the client %s it, XID %#x, %d credits:", how, k.XID(), c.w.credits))
}

// done is the done function of a Call.
func (c *calls) done(k *call, r *oncrpc.Reply, err error) {
	c.mu.Lock()
	c.inDone[k.conn]++
	if n := c.inDone[k.conn]; n > 1 {
		c.w.fail("%d done functions run at a time", n)
	}
	c.mu.Unlock()
	if c.w.cancels == 0 && k.chance(0.1) { // else Calls would be given up late
		time.Sleep(k.delay())
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inDone[k.conn]--
	}()
	if c.w.bugs.doneLost && k.chance(0.1) {
		return
	}
	c.end(k, r, err)
	if c.w.bugs.doneTwice && k.chance(0.1) {
		c.end(k, r, err)
	}
	switch w := c.w; {
	case k.chance(w.misuse):
		w.count(&w.seen.panicked)
		w.after(k.delay(), c.submit)
		if k.chance(0.5) {
			runtime.Goexit()
		}
		panic("a done function")
	case k.chance(w.misuse):
		c.close()
		w.after(k.delay(), c.submit)
	case k.chance(0.5 / float64(w.pause)):
		w.count(&w.seen.nested)
		c.submit()
		if k.chance(0.2) {
			c.submit()
		}
	default:
		w.after(c.pause(k), c.submit)
	}
}

// pause returns a random time between Calls. Where some are longer than any Call may take, they
// come between short ones.
func (c *calls) pause(k *call) time.Duration {
	if c.w.rests() && k.chance(0.7) {
		return k.delay()
	}
	return k.delay() * c.w.pause
}

// kick lets a caller that blocks make a Call.
func (c *calls) kick(kick chan *call) {
	k, over := c.next(func() { c.kick(kick) })
	switch {
	case over:
		close(kick)
	case k != nil:
		kick <- k
	}
}

// caller makes Calls that block.
func (c *calls) caller(kick chan *call) {
	for k := range kick {
		ctx := k.ctx
		if at := k.Deadline; !at.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, at)
			defer cancel()
		}
		c.begin(k, "calls")
		r, err := k.conn.Call(ctx, &k.Call)
		c.end(k, r, err)
		c.w.after(c.pause(k), func() { c.kick(kick) })
	}
}

// end checks and records the end of a Call.
func (c *calls) end(k *call, r *oncrpc.Reply, err error) {
	w := c.w
	if took := w.now() - k.since; took > limit {
		w.fail("Call %d takes %v, at most %v are expected: %v", k.id, took, limit, err)
	}
	if late := w.now() - k.due; k.due > 0 && late > time.Millisecond && k.due > k.since {
		w.fail("Call %d ends %v after it was to be given up: %v", k.id, late, err)
	}
	how, result := history.Answered, uint64(0)
	if err == nil {
		result = c.check(k, r)
	} else {
		how = c.failed(k, err)
	}
	for i := range k.data {
		k.data[i] = poison
	}
	w.log.Returned(k.id, how, result)
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.ended++; k.ended > 1 {
		return
	}
	if c.running--; c.running == 0 && c.left == 0 {
		close(c.idle)
	}
}

// failed returns the outcome of a Call that has failed.
func (c *calls) failed(k *call, err error) history.Outcome {
	w := c.w
	w.log.Note(fmt.Sprintf("the error is: %v", err), k.id)
	var ce *oncrpc.CallError
	var peer *rdmaio.PeerError
	switch {
	case !errors.As(err, &ce):
		w.fail("Call %d: %T is no *CallError: %v", k.id, err, err)
	case errors.As(err, &peer):
		if w.count(&w.seen.refused); !k.narrow || w.version == 2 { // R208: it is made again
			w.fail("Call %d: %v", k.id, err)
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if w.count(&w.seen.cancelled); k.due == 0 {
			w.fail("Call %d was not given up: %v", k.id, err)
		}
	}
	if ce != nil && ce.MayHaveRun && !w.bugs.notSent {
		w.count(&w.seen.mayHaveRun)
		return history.MayHaveRun
	}
	w.count(&w.seen.notSent)
	return history.NotSent
}

// check compares a reply with the one that the handler has made, and returns the number of the
// execution.
func (c *calls) check(k *call, r *oncrpc.Reply) uint64 {
	b := r.Message
	if len(b) < replySize || binary.BigEndian.Uint32(b) != k.XID() {
		c.w.fail("Call %d: a reply of %d bytes to another Call", k.id, len(b))
		return 0
	}
	want, got := rdmaiotest.Pattern(k.result, k.id), []byte(nil)
	if k.result > 0 {
		if got = r.Items[0].Data; got == nil {
			got = b[replySize:][:k.result]
			b = b[:replySize]
		} else if &got[0] != &k.data[0] {
			c.w.fail("Call %d: the result is not in the caller's memory", k.id)
		}
	}
	if !bytes.Equal(got, want) || len(b) != k.reply {
		c.w.fail("Call %d: a reply of %d bytes with %d of data, want %d and %d", k.id, len(b), len(got), k.reply, len(want))
	}
	return binary.BigEndian.Uint64(b[replyHead:])
}

// ServeRPC implements oncrpc.Handler.
func (c *calls) ServeRPC(r *oncrpc.Request) {
	w, data := c.w, r.Message[callHead:]
	id, takes := binary.BigEndian.Uint64(data), time.Duration(binary.BigEndian.Uint64(data[8:]))
	size, length := int(binary.BigEndian.Uint32(data[16:])), int(binary.BigEndian.Uint32(data[20:]))
	number := c.results.Add(1)
	w.log.Executed(id, "the server", number)
	if len(r.Message) > callSize && !bytes.Equal(r.Message[callSize:], rdmaiotest.Pattern(6000, id)) {
		w.fail("Call %d: other data came", id)
	}
	b, _ := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, number), uint32(size))
	m := oncrpc.Message{Inline: append(b, make([]byte, max(0, length-len(b)))...)}
	if size > 0 {
		m.Items = []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: rdmaiotest.Pattern(size, id)}}
	}
	if takes == 0 {
		r.Reply(m, nil)
		return
	}
	w.after(takes, func() { r.Reply(m, nil) })
}

// full makes as many Calls at a time as there are credits: the Calls before have left no place
// taken.
func (c *calls) full() {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return
	}
	c.hold(conn, 1, 0) // a reply brings the credits
	up, over := c.hold(conn, c.w.credits, 100*time.Millisecond)
	if up && over != c.w.credits {
		c.w.fail("%d of %d Calls are made at a time", over, c.w.credits)
	}
}

// hold submits n Calls whose handlers take so long, and returns how many are over soon after that,
// and whether the connection is up.
func (c *calls) hold(conn *rdmaio.Conn, n int, takes time.Duration) (up bool, over int) {
	var mu sync.Mutex
	for range n {
		c.mu.Lock()
		c.held++
		id := uint64(1_000_000 + c.held)
		c.mu.Unlock()
		b, _ := oncrpc.NewCall(conn.XID(), 400000, 1, 1, oncrpc.None()).AppendBinary(nil)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id), uint64(takes))
		k := &oncrpc.Call{Message: oncrpc.Message{Inline: append(b, make([]byte, 8)...)}, MaxReply: -1}
		c.w.log.Called(id, "the client")
		err := conn.Submit(context.Background(), k, func(r *oncrpc.Reply, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.w.log.Returned(id, history.MayHaveRun, 0)
				return
			}
			over++
			c.w.log.Returned(id, history.Answered, binary.BigEndian.Uint64(r.Message[replyHead:]))
		})
		if err != nil {
			c.w.log.Returned(id, history.NotSent, 0)
		}
	}
	time.Sleep(takes + 50*time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	select {
	case <-conn.Done():
		return false, over
	default:
		return true, over
	}
}

// verdict checks memory when both ends are closed.
func (c *calls) verdict() {
	for _, k := range c.list {
		if bytes.Count(k.data, []byte{poison}) != len(k.data) {
			c.w.fail("the memory of Call %d was written after its end", k.id)
		}
	}
}
