package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// request is a Request of a connection, and its Responder.
type request struct {
	oncrpc.Request
	conn     *Conn
	users    atomic.Int32   // that have not called leave: handlers, and the answer
	handler  oncrpc.Handler // while it waits for a place, or runs at one
	out      message
	memory   *[]byte // of Message
	spare    *[]byte // for a later record, when the memory of the Request is used again
	record   int     // bytes of memory, when that is given back
	ticket   admission.Ticket
	here     admission.Run // if the handler began on the goroutine that reads
	reply    int           // the reply's bytes
	answered atomic.Bool
	done     func(error)
	failed   error // why another answer than the handler's is sent
	xid      uint32

	// The connection's mu guards these.
	listed     bool // in serving.running
	prev, next *request
	canceled   atomic.Bool             // the caller has given up; read without the lock, too
	ctx        context.Context         // nil until the handler asks for it
	stop       context.CancelCauseFunc // of ctx
}

var _ oncrpc.Responder = (*request)(nil)

// keepBytes is the largest size of a record's memory that is kept for a later record.
const keepBytes = firstSize

// memories has memory of records.
var memories = sync.Pool{New: func() any {
	b := make([]byte, 0, 512)
	return &b
}}

// newMemory returns memory of records.
func newMemory() []byte { return *memories.Get().(*[]byte) }

// accept passes the Call in *c.record to the handler, or sends the answer if that is not nil. It
// waits while MaxRequests Calls are not answered, or too many bytes of replies are not written.
func (c *Conn) accept(xid uint32, answer []byte) error {
	ok, room, err := c.admit()
	if !ok {
		return err
	}
	if answer == nil && c.handler == nil {
		answer = refusalOf(xid, unavailable(*c.record))
	}
	if err := c.reserve(cap(*c.record)-c.reserved.bytes, true); err != nil {
		c.forget()
		return err
	}
	r := c.newRequest()
	r.conn, r.memory, r.ticket, r.xid = c, c.record, c.reserved.share.Ticket(c.reserved.bytes), xid
	r.users.Store(1)
	r.out.request, r.Responder, r.Message = r, r, *c.record
	if c.record, r.spare = r.spare, nil; c.record == nil {
		c.record = memories.Get().(*[]byte)
	}
	c.reserved.pass()
	c.mu.Lock()
	c.running.add(r)
	c.mu.Unlock()
	if answer != nil {
		r.Request.Reply(oncrpc.Message{Inline: answer}, nil)
		return nil
	}
	if room {
		if ran, err := c.serveHere(r); ran {
			return err
		}
	}
	r.Serve(c.handler)
	return nil
}

// requests has memory of Requests.
var requests = sync.Pool{New: func() any { return new(request) }}

// newRequest returns the memory of a Request.
func (s *serving) newRequest() *request {
	if s.reuses {
		return requests.Get().(*request)
	}
	return new(request)
}

// leave is called when a user of a Request is done: its handler has returned, or its answer is
// written. After the last one the memory is used again, if the handler keeps no Requests:
//
//	accept ── users 1 ──┬── a handler begins: +1 ── it returns: leave ──┐
//	                    │        └─ it panics, or exits: no leave       ├──> 0: requests
//	                    └── release: leave ─────────────────────────────┘
func (r *request) leave() {
	if r.users.Add(-1) == 0 && r.conn.reuses {
		*r = request{spare: r.spare}
		requests.Put(r)
	}
}

// refusalOf returns the reply to a Call that is refused.
func refusalOf(xid uint32, why *oncrpc.ReplyError) []byte {
	b, _ := why.Header(xid).AppendBinary(nil) // cannot fail
	return b
}

// unavailable returns the refusal of a Call to a side that serves no program.
func unavailable(call []byte) *oncrpc.ReplyError {
	if len(call) >= 12 && binary.BigEndian.Uint32(call[8:]) != oncrpc.Version {
		only := oncrpc.VersionRange{Low: oncrpc.Version, High: oncrpc.Version}
		return &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: only}
	}
	return &oncrpc.ReplyError{Accept: oncrpc.ProgUnavail} // RFC 5531 §9
}

// serving serves the peer's Calls on a connection. The connection's mu guards the counts.
//
//	accept ──> admit ──┬── forget: there is no memory for it
//	                   └── handler, maybe after a wait for a place ──> answered ──> released
type serving struct {
	conn     *Conn
	handler  oncrpc.Handler
	waiting  admission.Queue[request] // for places of the server
	inline   admission.Inline         // handlers on the goroutine that reads
	reuses   bool                     // the handler keeps no Requests
	draining bool                     // no further Request is admitted
	dropped  bool                     // a handler has dropped a Request
	requests int                      // not answered
	bytes    int                      // of their records
	unused   time.Time                // when there was a Request last, at a server
	running  running                  // those that accept has made
	unsent   int                      // bytes of replies that are not written
	half     halfClosed
}

// admit counts a Request. ok is false if the connection serves no further one. err is the reason,
// or nil if the connection drains. room reports whether a handler need not wait until replies are
// written.
func (s *serving) admit() (ok, room bool, err error) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.conn.seen.Received++
	for (s.requests >= s.conn.set.MaxRequests || s.full()) && s.conn.err == nil {
		if s.conn.out.held != open { // the answers that make room may be held
			s.conn.mu.Unlock()
			s.conn.out.flush()
			s.conn.mu.Lock()
			continue
		}
		if s.conn.calls.Len() == 0 {
			if err := s.half.awaitPlace(); err != nil {
				return false, false, err
			}
		} else if s.requests < mostCalls && s.bytes <= mostBytes {
			break
		} else {
			return false, false, fmt.Errorf("%w: it sent %d Calls of %d bytes that are not answered while it was called, at most %d of %d bytes are kept beyond Config.MaxRequests (%d)",
				ErrLimit, s.requests, s.bytes, mostCalls, mostBytes, s.conn.set.MaxRequests)
		}
	}
	switch {
	case s.conn.err != nil:
		return false, false, s.conn.err
	case s.draining:
		s.conn.counts.droppedCalls++
		return false, false, nil
	}
	s.requests++
	s.bytes += cap(*s.conn.record)
	return true, !s.full() && s.conn.out.broken == nil, nil
}

// mostCalls and mostBytes limit the Requests of a connection that cannot stop reading, because it
// waits for replies. No client of this package has more Calls in progress (Config.MaxCalls). A
// server's Config.MaxMemory is the limit before that.
const mostCalls, mostBytes = 1 << 16, 512 << 20

// forget uncounts a Request that admit counted.
func (s *serving) forget() {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.requests--
	s.bytes -= cap(*s.conn.record)
	s.rest()
	s.conn.resume()
}

// Conn implements oncrpc.Responder.
func (r *request) Conn() oncrpc.Conn { return r.conn }

// Room implements oncrpc.Responder. The caller offers no memory: all results go with the reply.
func (r *request) Room() (results []int, reply int) { return nil, r.conn.set.MaxReply }

// Reply implements oncrpc.Responder. done gets nil when the reply was passed to the system. A
// message that is not a reply to the Call is not sent: the caller gets SYSTEM_ERR.
func (r *request) Reply(m oncrpc.Message, done func(error)) {
	if !r.first(done) {
		return
	}
	err, size := m.CheckReply(r.xid), m.Size(nil)
	r.ticket.Reply(size)
	if err == nil && size > r.conn.set.MaxReply {
		err = fmt.Errorf("%w: %d bytes, Config.MaxReply is %d", oncrpc.ErrMessage, size, r.conn.set.MaxReply)
	}
	if err != nil {
		r.conn.log.Warn("tcp: a handler's reply cannot be sent, the client gets SYSTEM_ERR", "call", oncrpc.DescribeCall(r.Message), "reason", err)
		b, _ := oncrpc.NewReply(r.xid, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
		m = oncrpc.Message{Inline: b}
		r.failed = err
	}
	r.out.Message = m
	c := r.conn
	r.reply = m.Size(nil)
	c.mu.Lock()
	c.unsent += r.reply
	why := c.err
	if why == nil {
		c.enqueue(&r.out)
	}
	c.mu.Unlock()
	if why != nil {
		r.release(why)
	}
}

// Drop implements oncrpc.Responder.
func (r *request) Drop(done func(error)) {
	if r.first(done) {
		r.conn.noteDrop()
		r.release(nil)
	}
}

// Report implements oncrpc.Responder. The error goes to Config.Logger at level Warn, or to
// slog.Default without one.
func (r *request) Report(err error) {
	with := []any{"peer", r.conn.RemoteAddr(), "xid", fmt.Sprintf("0x%08x", r.xid), "reason", err}
	var panicked *oncrpc.PanicError
	if errors.As(err, &panicked) {
		with = append(with, "stack", panicked.Frames())
	}
	r.conn.set.faults.Warn("tcp: a handler failed", with...)
}

// Reserve implements oncrpc.Responder. It waits for RecordTimeout at most.
func (r *request) Reserve(n int) bool {
	c := r.conn
	if c.set.NonBlocking && c.called() { // the connection must read
		taken, _ := r.ticket.Take(n, nil)
		return taken
	}
	if r.here != 0 {
		if taken, later := r.ticket.Take(n, nil); !later {
			return taken
		}
		r.replaceReader()
	}
	r.mayWait()
	return r.ticket.AwaitMore(n, c, c.ctx.Done(), c.set.RecordTimeout)
}

// mayWait is called before a handler waits, which may be on the goroutine that reads.
func (r *request) mayWait() {
	if r.conn.set.NonBlocking {
		r.conn.out.flush()
	}
}

// first reports whether this is the first answer to the Request, and keeps its done function. It
// calls done with ErrAnswered if it is not.
func (r *request) first(done func(error)) bool {
	if done == nil {
		done = func(error) {}
	}
	if r.answered.Swap(true) {
		done(oncrpc.ErrAnswered)
		return false
	}
	r.done = done
	return true
}

// release gives back the memory of an answered Request and calls its done function.
func (r *request) release(err error) { releaseAll([]*message{&r.out}, err) }

// releaseAll releases answered Requests. All have the same connection.
func releaseAll(answers []*message, err error) {
	if len(answers) == 0 {
		return
	}
	for _, m := range answers {
		m.request.free(err)
	}
	c := answers[0].request.conn
	c.mu.Lock()
	for _, m := range answers {
		m.request.uncount()
	}
	c.rest()
	c.resume()
	c.mu.Unlock()
	for _, m := range answers {
		m.request.leave()
	}
}

// free gives back the memory of an answered Request and calls its done function.
func (r *request) free(err error) {
	if err == nil {
		err = r.failed
	}
	r.done(err)
	memory := r.memory
	switch r.record = cap(*memory); {
	case r.record > keepBytes:
		keep(*memory)
	case r.conn.reuses:
		*memory = (*memory)[:0]
		r.spare = memory
	default:
		*memory = (*memory)[:0]
		memories.Put(memory)
	}
	r.memory, r.Message, r.out.Message = nil, nil, oncrpc.Message{}
	if err != nil {
		r.ticket.Waste()
	} else {
		r.ticket.End()
	}
}

// uncount uncounts a Request whose memory is given back. The connection's mu must be held.
func (r *request) uncount() {
	c := r.conn
	c.unsent -= r.reply
	c.bytes -= r.record
	c.running.remove(r)
	if r.stop != nil {
		r.stop(nil)
	}
	c.requests--
}
