package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Engine is the state of one connection. Only one goroutine may use it at a time. It passes each
// event to the part that handles it. The parts call each other in one direction only: requester and
// responder call sendQueue, and responder calls requester for Replies with read chunks.
type Engine struct {
	shared
	sends       sendQueue
	requester   requester
	responder   responder
	control     control
	joiner      joiner
	negotiation negotiation
	stall       stall
	stuck       bool // the first in the queue for send queue entries does not fit
}

// New makes an engine; the Config is not checked.
func New(cfg Config) *Engine {
	if cfg.Memory == nil {
		cfg.Memory = heap{}
	}
	cfg.prepare()
	e := &Engine{shared: shared{cfg: cfg, open: true}}
	s := &e.shared
	if len(cfg.Recv) > 0 {
		s.recvSGL = make([]verbs.SGE, len(cfg.Recv))
	}
	s.receives.posted = make([]int32, cfg.Receives)
	if s.receives.size = cfg.ReceiveSize; s.receives.size == 0 {
		s.receives.size = cfg.ReceiveMost
	}
	s.receives.agreed = s.receives.size
	ours, theirs, forward := &s.stats.Flow, &s.stats.Reverse, protocol.Answer
	if cfg.Role == Responder {
		ours, theirs, forward = theirs, ours, protocol.Call
	}
	e.sends = sendQueue{shared: s, buffers: newSendBuffers(s.cfg.Send)}
	e.requester = requester{
		shared: s, sends: &e.sends, flow: ours,
	}
	e.responder = responder{
		shared: s, sends: &e.sends, requester: &e.requester, flow: theirs,
		next: newRequest(),
	}
	s.onEnd = e.abandon
	s.self = protocol.End{Forward: forward, Legacy: cfg.Legacy, LongReplies: cfg.Legacy && cfg.Role == Requester && !cfg.ReverseChunks, Calls: &e.requester.table}
	e.control = control{shared: s, sends: &e.sends, negotiation: &e.negotiation}
	e.responder.control = &e.control
	e.joiner.shared, e.requester.joiner = s, &e.joiner
	e.negotiation = negotiation{shared: s, control: &e.control, accounts: protocol.AccountConfig{End: &s.self, Calls: cfg.Calls, Serves: cfg.Serves}}
	e.negotiation.start()
	for i := range cfg.Recv {
		s.recvSGL[i] = cfg.Recv[i].sge(s.receives.size)
	}
	return e
}

// Stats returns the counts.
func (e *Engine) Stats() (s Stats) {
	e.ReadStats(&s)
	return s
}

// ReadStats sets s to the counts.
func (e *Engine) ReadStats(s *Stats) {
	rq, rs := &e.requester, &e.responder
	n := e.account.Counts()
	rq.flow.InFlight, rs.flow.InFlight, rs.flow.Granted = n.Calls, n.Busy, n.Given
	if e.cfg.Calls > 0 {
		rq.flow.Granted = n.Granted
	}
	*s = e.stats
	s.ZeroGrants, s.OverGrants = n.ZeroGrants, n.OverGrants
	s.SendQueueFilled = e.sends.filled
	s.Waiting = rq.waiting.len() + rs.answers.len() + rs.pulls.len() + rs.deferred.len()
	s.DoneMessagesDue = len(rs.awaitingDone)
}

// Credits returns the number of Calls that this side may have in progress: the credits granted for
// them, less those that cancelled Calls hold, and the one that is kept.
func (e *Engine) Credits() int {
	if e.cfg.Calls == 0 {
		return 0
	}
	return max(e.requester.usable(e.account.Counts().Granted)-e.stats.Abandoned, 0)
}

// Delivered returns the number of bytes received from the peer: messages, and RDMA Reads that
// completed.
func (e *Engine) Delivered() uint64 { return e.delivered }

// abandon fails all Calls and releases all Requests when the connection is lost, except Requests
// that the driver holds.
func (e *Engine) abandon() {
	if r := e.sends.sequence.reply; r != nil {
		e.responder.lose(r)
	}
	e.sends.sequence = sequence{}
	e.control.queue = queue[outgoing]{}
	e.joiner.reset()
	e.control.forget()
	e.requester.abandon()
	e.responder.abandon(e.sends.abandon())
	e.stuck = false
}
