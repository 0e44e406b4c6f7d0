package monitor

import (
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Handler returns a Handler that passes Requests to h, and shows them. What h says of its
// procedures holds for it, too.
func (m *Monitor) Handler(h oncrpc.Handler) oncrpc.Handler { return &handler{m, h} }

type handler struct {
	m    *Monitor
	next oncrpc.Handler
}

// ReplyBound implements oncrpc.Bounder.
func (h *handler) ReplyBound(program, version, procedure uint32) int {
	return oncrpc.BoundOf(h.next, program, version, procedure)
}

// IsNull implements oncrpc.NullKnower.
func (h *handler) IsNull(program, version uint32) bool {
	return oncrpc.IsNull(h.next, program, version)
}

// NonBlocking implements oncrpc.NonBlocker.
func (h *handler) NonBlocking(program, version, procedure uint32) bool {
	return oncrpc.NonBlocking(h.next, program, version, procedure)
}

// ForgetsRequests implements oncrpc.Forgetter.
func (h *handler) ForgetsRequests() bool { return oncrpc.ForgetsRequests(h.next) }

// ServeRPC implements oncrpc.Handler.
func (h *handler) ServeRPC(r *oncrpc.Request) {
	if !h.m.on.Load() {
		h.next.ServeRPC(r)
		return
	}
	h.record(r)
}

// record serves a Call that is recorded.
func (h *handler) record(r *oncrpc.Request) {
	o := &observed{Responder: r.Responder, m: h.m}
	o.call.began, o.call.peer, o.call.received = time.Now(), r.Conn().RemoteAddr(), len(r.Message)
	o.call.prog, o.call.vers, o.call.proc, _ = oncrpc.Procedure(r.Message)
	o.call.xid, _, _ = oncrpc.Peek(r.Message)
	h.m.begin(&o.call)
	if a, ok := r.Responder.(oncrpc.Authenticated); ok {
		r.Responder = authenticated{o, a}
	} else {
		r.Responder = o
	}
	returned := false
	defer func() {
		if !returned { // the carrier drops the Request, unless it was answered
			h.m.finish(&o.call, "panic", 0)
		}
	}()
	h.next.ServeRPC(r)
	returned = true
}

// observed is the Responder of a Call that is recorded.
type observed struct {
	oncrpc.Responder
	m    *Monitor
	call call
}

// authenticated is the same for a caller that has proved its name.
type authenticated struct {
	*observed
	oncrpc.Authenticated
}

// Reply implements oncrpc.Responder.
func (o *observed) Reply(msg oncrpc.Message, done func(error)) {
	p := o.m.finish(&o.call, statusOf(&msg), msg.Size(nil))
	if p == nil { // answered before
		o.Responder.Reply(msg, done)
		return
	}
	m, answered := o.m, time.Now()
	o.Responder.Reply(msg, func(err error) {
		if err == nil {
			took := time.Since(answered)
			m.mu.Lock()
			p.Sending.add(took)
			m.mu.Unlock()
		}
		if done != nil {
			done(err)
		}
	})
}

// Drop implements oncrpc.Responder.
func (o *observed) Drop(done func(error)) {
	o.m.finish(&o.call, "dropped", 0)
	o.Responder.Drop(done)
}

// statusOf returns the status of a reply (RFC 5531 §9). There are few: a peer chooses the number.
func statusOf(m *oncrpc.Message) string {
	var h oncrpc.Header
	if err := h.DecodeXDR(xdr.NewDecoder(m.Inline, nil)); err != nil {
		return "malformed"
	}
	refused, ok := errors.AsType[*oncrpc.ReplyError](oncrpc.CheckReply(&h, h.XID))
	switch {
	case !ok:
		return oncrpc.Success.String()
	case refused.Reply == oncrpc.Accepted:
		return refused.Accept.String()
	case refused.Reject == oncrpc.AuthError && !refused.Auth.Valid():
		return "unknown auth_stat"
	case refused.Reject == oncrpc.AuthError:
		return refused.Auth.String()
	}
	return refused.Reject.String()
}
