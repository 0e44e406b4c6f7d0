package xchar

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// peer is a characteristic of the peer.
type peer struct {
	word   uint32
	stated bool // the value is the peer's, not the default
	fixed  bool
}

// receiveInit takes the description of the peer.
func (e *Endpoint) receiveInit(h *xcharcarrier.Optional, out *Effects) *Fault {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.1; R243
	if f := open(h, xcharcarrier.XIDOfSender, "INIT", (*wire.Init)(nil)); f != nil {
		return f
	}
	op := wire.InitView(h.Info)
	start, err := readSet(op.Start())
	if err != nil { // A33: none of the set is applied.
		return fault(rpcrdma2.ErrBadXDR, "INIT", err)
	}
	if e.initGot {
		e.stats.RepeatedInits++
		return nil
	}
	e.initGot = true
	for s := range slot(slots) {
		if start.present[s] {
			e.learn(s, start.word[s], out)
			e.peer[s].fixed = has(op.NoChange(), start.index[s])
		}
	}
	return nil
}

// receiveUpd takes a changed characteristic of the peer.
func (e *Endpoint) receiveUpd(h *xcharcarrier.Optional, out *Effects) *Fault {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.4; R250, R251
	if f := open(h, xcharcarrier.XIDOfSender, "UPD", (*wire.Upd)(nil)); f != nil {
		return f
	}
	op := wire.UpdView(h.Info)
	v := op.Now()
	s, known := slotOf(v.Which())
	if !known { // R233
		return nil
	}
	word, err := s.decode(v.Data())
	if err != nil {
		return fault(rpcrdma2.ErrBadXDR, "UPD", fmt.Errorf("characteristic %d, %d bytes: %w (section 2.1)", v.Which(), len(v.Data()), err))
	}
	if !e.learn(s, word, out) {
		return nil
	}
	if op.PendClear() {
		e.clear(s, word, out)
	}
	return nil
}

// learn applies a value of the peer. It reports false, and applies nothing, if the value would
// change a characteristic that the peer declared fixed (R255).
func (e *Endpoint) learn(s slot, word uint32, out *Effects) bool {
	p := &e.peer[s]
	if p.fixed && p.word != word {
		e.stats.FixedChanges++
		return false
	}
	if !p.stated || p.word != word {
		p.word, p.stated = word, true
		out.Changed = append(out.Changed, s.value(word))
	}
	return true
}

// SendLimit returns the size in bytes of the largest message that may be sent to the peer now. The
// limit of version 2, from CONNPROP or its default, holds until the peer announces a receive size
// here. While a smaller size that this endpoint requests is unanswered or pending, it is the limit
// (section 3.1). The peer may announce any size, 0 included.
func (e *Endpoint) SendLimit(version2 uint32) uint32 {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3.1; R238
	limit := version2
	if p := &e.peer[receiveSize]; p.stated {
		limit = p.word
	}
	for i := range e.requests {
		for _, c := range e.requests[i].changes[:e.requests[i].n] {
			if c.open && c.slot == receiveSize {
				limit = min(limit, c.word)
			}
		}
	}
	return limit
}

// MayInvalidate reports whether a Reply to the peer may be a Send With Invalidate. If not, it must
// be a plain Send (section 3.2), whatever handle the header of the Call offers (A25).
func (e *Endpoint) MayInvalidate() bool { // draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3.2; R240
	return e.peer[invalidation].word != 0
}

// PeerBackward returns the peer's support of backward requests. A server that does not know it
// counts as one without; probe then says that the upper layer may find out with a request, such as
// CB_NULL of NFSv4.1 (section 3.3).
func (e *Endpoint) PeerBackward() (level wire.BackwardSupport, probe bool) {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3.3; R236, R241
	level = wire.BackwardSupport(e.peer[backward].word)
	if level == wire.BackwardUnknown && !e.cfg.Server {
		return wire.BackwardNone, true
	}
	return level, false
}
