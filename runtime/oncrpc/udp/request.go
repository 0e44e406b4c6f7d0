package udp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// request is a Request of a server, and its Responder.
type request struct {
	oncrpc.Request
	server   *Server
	peer     *peer
	source   *source
	ticket   admission.Ticket
	key      peerKey
	xid      uint32
	size     int           // bytes of the Call
	here     admission.Run // if the handler began on the goroutine that reads
	answered atomic.Bool
	done     func(error)
}

var _ oncrpc.Responder = (*request)(nil)

// Conn implements oncrpc.Responder.
func (r *request) Conn() oncrpc.Conn { return r.peer }

// Context implements oncrpc.Responder.
func (r *request) Context() context.Context { return r.peer.ctx }

// Room implements oncrpc.Responder. All results go with the reply.
func (r *request) Room() (results []int, reply int) { return nil, MaxMessage }

// Reply implements oncrpc.Responder. done gets nil when the datagram was passed to the system. If
// the message is not a reply to the Call, or does not fit in a datagram, the caller gets
// SYSTEM_ERR.
func (r *request) Reply(m oncrpc.Message, done func(error)) {
	if !r.first(done) {
		return
	}
	s := r.server
	err, size := m.CheckReply(r.xid), m.Size(nil)
	r.ticket.Reply(size)
	if err == nil && size > MaxMessage {
		err = fmt.Errorf("%w: %d bytes, at most %d: the client must call over TCP", ErrSize, size, MaxMessage)
	}
	if err != nil {
		s.log.Warn("udp: a handler's reply cannot be sent, the client gets SYSTEM_ERR", "peer", r.peer.remote, "call", oncrpc.DescribeCall(r.Message), "reason", err)
		b, _ := oncrpc.NewReply(r.xid, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
		m = oncrpc.Message{Inline: b}
	}
	if !s.mayReply(r.source, m.Size(nil)-r.size, time.Now()) {
		s.log.Warn("udp: a reply was withheld, by Config.ReplyRate", "peer", r.peer.remote)
		err = errors.Join(err, ErrRate)
	} else if _, _, failed := s.sock.WriteMsgUDPAddrPort(joined(&m), r.peer.control, r.peer.to); failed != nil {
		s.log.Warn("udp: an answer could not be sent", "peer", r.peer.remote, "reason", failed)
		err = errors.Join(err, failed)
	}
	r.release(err)
}

// joined returns a message in one piece.
func joined(m *oncrpc.Message) []byte {
	if len(m.Items) == 0 {
		return m.Inline
	}
	b := make([]byte, 0, m.Size(nil))
	for _, part := range m.Gather(nil, nil) {
		b = append(b, part...)
	}
	return b
}

// Drop implements oncrpc.Responder.
func (r *request) Drop(done func(error)) {
	if r.first(done) {
		r.release(nil)
	}
}

// Reserve implements oncrpc.Responder. It does not wait: the client sends its Call again.
func (r *request) Reserve(n int) bool {
	taken, _ := r.ticket.Take(n, nil)
	return taken
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

// release finishes an answered Request.
func (r *request) release(err error) {
	r.done(err)
	r.Message = nil
	if err != nil {
		r.ticket.Waste()
	} else {
		r.ticket.End()
	}
	r.server.release(r)
}

// Report implements oncrpc.Responder. The error goes to Config.Logger at level Warn, or to
// slog.Default without one.
func (r *request) Report(err error) {
	with := []any{"peer", r.peer.remote, "xid", fmt.Sprintf("0x%08x", r.xid), "reason", err}
	var panicked *oncrpc.PanicError
	if errors.As(err, &panicked) {
		with = append(with, "stack", panicked.Frames())
	}
	r.server.set.faults.Warn("udp: a handler failed", with...)
}

// Serve implements oncrpc.Responder. The handler runs on a separate goroutine, when there is memory
// for its reply. If it panics, also as an oncrpc.Bounder, or exits the goroutine, the Request is
// dropped, and its Conn is down.
func (r *request) Serve(h oncrpc.Handler) {
	r.server.wg.Go(func() {
		returned := false
		prog, vers, proc, _ := oncrpc.Procedure(r.Message) // the message may be gone later
		defer func() {
			if returned {
				return
			}
			v := recover()
			if v == nil && r.answered.Load() {
				return // only the goroutine ends
			}
			r.fault(v, prog, vers, proc)
		}()
		if r.server.awaitTicket(r, oncrpc.BoundOf(h, prog, vers, proc)) {
			h.ServeRPC(&r.Request)
		} else {
			r.Request.Drop(nil)
		}
		returned = true
	})
}
