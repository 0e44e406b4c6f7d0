package engine

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// shared is the state of a connection that all parts of its Engine use.
type shared struct {
	cfg      Config
	version  protocol.Version
	self     protocol.End
	eff      Effects
	now      time.Duration
	open     bool
	ended    error // why it no longer is
	draining error // not nil: the connection ends with it when everything is sent
	terms    header.Terms
	stats    Stats

	refusals struct { // ERRORs in the current second
		since time.Duration
		n     int
	}

	delivered uint64 // bytes received by messages and by completed RDMA Reads

	account  protocol.Account
	recvSGL  []verbs.SGE // one for each Receive of Config.Recv
	loan     verbs.Loan  // of the message being received, until a Request takes it
	receives receives
	onEnd    func() // Engine.abandon
}

// postRecv posts a Receive, again or for the first time.
func (s *shared) postRecv(i int) {
	s.postUncounted(i)
	s.account.Posted(1)
}

// postUncounted posts a Receive again whose message the credit account has not counted.
func (s *shared) postUncounted(i int) {
	if !s.open {
		return
	}
	wr := verbs.RecvWR{WRID: uint64(i)}
	if s.recvSGL != nil {
		wr.SGL = s.recvSGL[i : i+1 : i+1]
	} else {
		wr.Lend = s.receives.size
	}
	s.eff.Recvs = append(s.eff.Recvs, wr)
	s.receives.posted[i] = int32(s.receives.size)
	s.stats.PostedRecvs++
}

// takeLoan gives r the memory that the message was received in.
func (s *shared) takeLoan(r *Request) { r.source.loan, s.loan = s.loan, nil }

// giveBack gives back the memory that a continued message uses.
func (s *shared) giveBack(b []byte) {
	s.cfg.Reserve(-cap(b))
	s.cfg.Memory.Give(b)
}

// fault counts a message that broke a rule.
func (s *shared) fault(f *header.Fault) {
	s.stats.FaultyMessages++
	s.eff.Fault = f
}

// mayRefuse counts an ERROR to be sent. If there are too many it closes the connection and returns
// false: only a flood of errors closes a connection, which others may share (RFC 8166 §8.1.4,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.4; R310).
func (s *shared) mayRefuse() bool {
	if s.now-s.refusals.since >= time.Second {
		s.refusals.since, s.refusals.n = s.now, 0
	}
	if s.refusals.n++; s.cfg.MaxErrors > 0 && s.refusals.n > s.cfg.MaxErrors {
		s.end(&Error{Reason: ErrTooManyErrors, Detail: fmt.Sprintf("limit %d", s.cfg.MaxErrors)})
		return false
	}
	return true
}

// violated closes the connection: the peer had no right to invalidate this key, which may belong to
// another Call, now or later (RFC 8797 §4.1; R264, B19).
func (s *shared) violated(key uint32, with string) {
	s.stats.FaultyMessages++
	s.end(&Error{Reason: ErrInvalidated, Detail: fmt.Sprintf("%#08x, with %s", key, with)})
}

// legacyReplies reports whether Replies to our Calls may have read chunks.
// Nothing else makes the engine send RDMA_DONE (RFC 8166 §4.6.2; R113), which version 2 does not
// have.
func (s *shared) legacyReplies() bool {
	return s.cfg.Legacy && s.cfg.Role == Requester && !s.version.Continues()
}

// wake makes the deadline no later than at.
func (s *shared) wake(at time.Duration) {
	if s.eff.Deadline == 0 || at < s.eff.Deadline {
		s.eff.Deadline = at
	}
}

// end closes the connection. It gives back all memory that the queue pair cannot access after
// Effects.Fail (RFC 8166 §4.4.1; R285). A Request that a handler has is released after its
// EventReply.
func (s *shared) end(err error) {
	if !s.open {
		return
	}
	s.open, s.ended = false, err
	s.eff.Recvs, s.eff.Sends = s.eff.Recvs[:0], s.eff.Sends[:0]
	s.eff.Fail = err
	s.eff.WantBuffers, s.eff.Deadline = 0, 0
	s.onEnd()
}

// receives has the sizes of the Receives. Posted Receives cannot be taken back, so a new size
// applies to each when it is posted next (R237).
type receives struct {
	size    int     // of Receives to be posted
	posted  []int32 // size of each that is posted, or 0
	agreed  int     // no posted Receive is smaller, and the peer keeps to it
	pending bool    // Effects.Resized is due when no smaller one is posted
}

// otherError passes on an ERROR that is about none of our Calls.
func (s *shared) otherError(m *header.Message) {
	s.eff.Others = append(s.eff.Others, Other{XID: m.XID, Answer: true, Payload: bytes.Clone(m.Payload), Err: m.Err})
}
