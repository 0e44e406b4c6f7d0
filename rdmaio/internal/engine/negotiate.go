package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// negotiation finds the version of the connection (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.3).
// Its states:
//
//	              one version, without properties
//	versionOpen ──────────────────────────────────────────┐
//	    │                                                 ▼
//	    │ accepted: a message of a version ─────────> versionFixed
//	    │                                                 ▲
//	    │ dialed: EventOpen                               │ an answer
//	    └──────────────────────> versionOffered ──────────┘
//
// An answer is a message of the version offered, or ERR_VERS with another version that this end
// has. If no answer comes in time, or no version is common, the connection is closed.
type negotiation struct {
	*shared
	control  *control
	state    versionState
	several  bool // the version was to be negotiated
	heard    bool // a message of the version has come
	accounts protocol.AccountConfig
	base     header.Terms  // of EventTerms
	sendSize int           // of EventSendSize
	restrict Restrict      // of EventRestrict
	deadline time.Duration // of versionOffered; 0: none
}

type versionState uint8

const (
	versionOpen versionState = iota
	versionOffered
	versionFixed
)

// start begins with the version that this end prefers, which the first messages have, too, until
// there is another.
func (n *negotiation) start() {
	first := n.cfg.Versions[0]
	n.version, n.base = first, header.DefaultTerms()
	n.several = len(n.cfg.Versions) > 1 || first.Properties() != nil
	if first.Properties() == nil && (n.cfg.Role == Requester || len(n.cfg.Versions) == 1) {
		n.state, n.cfg.Versions = versionFixed, nil
	}
	n.use(first, 0)
}

// use makes v the version, with a new credit account, for which this number of Receives is posted.
func (n *negotiation) use(v protocol.Version, posted int) {
	n.version = v
	n.accounts.Receives = n.cfg.Receives
	n.account = v.Account(n.accounts)
	n.account.Posted(posted)
	n.setTerms()
}

// offer offers the version, at the end that dialed: its properties are the first message, so that a
// server without the version can answer before there is a Call (A1; R182).
func (n *negotiation) offer() {
	if n.state != versionOpen || n.cfg.Role != Requester {
		return
	}
	n.state = versionOffered
	if n.cfg.OfferTimeout > 0 {
		n.deadline = n.now + n.cfg.OfferTimeout
	}
	n.control.sendProperties(n.cfg.OfferXID, nil)
}

// setTerms sets the terms that hold now.
func (n *negotiation) setTerms() {
	t := n.base
	if n.version.Properties() != nil {
		own := n.version.Terms(n.heard)
		own.Advertised = own.Send
		if n.sendSize > 0 {
			own.Send = min(n.sendSize, n.cfg.sendSize())
		}
		own.Recv = min(own.Recv, n.receives.agreed)
		if n.restrict.NoInvalidate && n.cfg.Role == Responder { // R240
			own.RemoteInvalidate = false
		}
		if r := n.restrict.Reverse; r != nil { // R241
			own.Reverse = max(own.Reverse, *r)
		}
		own.Reads, own.NoReadChunks, own.ReadsUnknown = t.Reads, t.NoReadChunks, t.ReadsUnknown
		t = own
	}
	n.terms = t
	n.eff.Terms, n.eff.Version = &n.terms, nil
	if n.state == versionFixed {
		n.eff.Version = n.version
	}
}

// fix completes the negotiation with v, when a message has come.
func (n *negotiation) fix(v protocol.Version) {
	n.state, n.deadline = versionFixed, 0
	n.cfg.Versions = nil // so that a connection at rest has no memory for the others
	if v != n.version {
		n.use(v, n.stats.PostedRecvs+1)
		return
	}
	n.setTerms()
}

// decoded looks at a message that was decoded with a fault, or after the offer, and counts the
// fault. It returns false if nothing is left to do for the message: it was an answer to the offer,
// dropped or refused.
func (n *negotiation) decoded(b []byte, m *header.Message, f *header.Fault) bool {
	if f != nil {
		n.fault(f)
	}
	if n.state == versionOffered && !n.answered(m, f) {
		return false
	}
	return f == nil || f.Code != header.FaultVersion || !n.changed(b, f)
}

// first deals with a message that comes before the version is fixed, at the end that accepted. It
// returns false if the message was dropped or refused.
func (n *negotiation) first(b []byte) bool {
	p, ok := header.DecodePrefix(b)
	if !ok {
		n.stats.DroppedMessages++
		return false
	}
	i := slices.IndexFunc(n.cfg.Versions, func(v protocol.Version) bool { return v.Number() == p.Vers })
	if i < 0 { // R183: the client may go on with another
		n.stats.FaultyMessages++
		low, high := n.supported()
		n.control.refuseVersion(p, low, high)
		return false
	}
	n.fix(n.cfg.Versions[i]) // R187
	return true
}

// supported returns the lowest and the highest version that this end has.
func (n *negotiation) supported() (low, high uint32) {
	low, high = n.version.Number(), n.version.Number()
	for _, v := range n.cfg.Versions {
		low, high = min(low, v.Number()), max(high, v.Number())
	}
	return low, high
}

// answered deals with a message that comes after the offer, at the end that dialed. It returns
// false if the message needs no more work.
func (n *negotiation) answered(m *header.Message, f *header.Fault) bool {
	switch {
	case f != nil && (f.Code == header.FaultShort || f.Code == header.FaultVersion):
		n.stats.DroppedMessages++
		return false
	case f == nil && m.Kind == header.KindError && m.Err.Code == header.ErrVers:
		n.stats.ErrorMessages++
		n.fallBack(m.Err.Low, m.Err.High)
		return false
	}
	n.fix(n.version) // R43: also if it is invalid, or another error: the peer has the version
	return true
}

// fallBack continues with the version that this end prefers of those in a range. The version that
// was refused is not among them, whatever the range says (R184 to R186, T98).
func (n *negotiation) fallBack(low, high uint32) {
	for _, v := range n.cfg.Versions {
		if k := v.Number(); v != n.version && low <= k && k <= high && v.Properties() == nil {
			n.control.queue = queue[outgoing]{} // of the version that was refused
			n.fix(v)
			return
		}
	}
	theirs := fmt.Sprintf("versions %d to %d", low, high)
	if low == high {
		theirs = fmt.Sprintf("version %d", low)
	}
	n.end(&Error{Reason: ErrNoVersion, Detail: fmt.Sprintf("the peer supports %s, this side wants %s", theirs, n.wanted())})
}

// wanted returns the versions of this end as a list.
func (n *negotiation) wanted() (list string) {
	for i, v := range n.cfg.Versions {
		if i > 0 {
			list += ", "
		}
		list += fmt.Sprint(v.Number())
	}
	return list
}

// hear records that a message of the version has come.
func (n *negotiation) hear() {
	if !n.heard {
		n.heard = true
		n.setTerms()
	}
}

// changed deals with a message of a version other than the one that is fixed. It returns false
// where the version was not negotiated, and such a message is an error like others (T23).
func (n *negotiation) changed(b []byte, f *header.Fault) bool {
	if !n.several {
		return false
	}
	if n.cfg.Role == Requester {
		n.end(f) // R188
		return true
	}
	if p, ok := header.DecodePrefix(b); ok { // T101: the client learns the version that is fixed
		n.control.refuseVersion(p, n.version.Number(), n.version.Number())
	}
	n.draining = f
	return true
}

// timer closes the connection if no answer has come in time.
func (n *negotiation) timer() {
	if n.deadline > 0 && n.deadline <= n.now {
		n.end(&Error{Reason: ErrNoAnswer, Detail: fmt.Sprint(n.cfg.OfferTimeout)})
	}
}

// setDeadline requests an EventTimer for the answer.
func (n *negotiation) setDeadline() {
	if n.deadline > 0 {
		n.wake(n.deadline)
	}
}
