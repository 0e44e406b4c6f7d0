// Package credit keeps the accounts of who may send. Version 1 counts
// transactions: a Call asks for credits, a Reply grants them, and what is in
// flight must not exceed the last grant (RFC 8166 §3.3.1). Accounts are plain
// counters without locks or time.
package credit

// Requester is the side that makes Calls, in version 1.
type Requester struct {
	limit    uint32
	granted  uint32
	inFlight uint32

	zero, over uint64 // grants that had to be raised, or cut
}

// NewRequester makes an account that asks for limit credits, at least one, and
// never uses more. Before the first Reply one Call may be in flight (RFC 8166 §3.3.3; R128, R136).
func NewRequester(limit int) Requester {
	return Requester{limit: uint32(max(limit, 1)), granted: 1}
}

// Want is the credit value for a Call (R126).
func (r *Requester) Want() uint32 { return r.limit }

// Free reports whether one more Call may be sent (R127, R130).
func (r *Requester) Free() bool { return r.inFlight < r.granted }

// Sent counts a Call.
func (r *Requester) Sent() { r.inFlight++ }

// Ended takes a Call out of flight: its Reply, or an ERROR for it, has
// arrived. A Call that was only cancelled here stays in flight (R135).
func (r *Requester) Ended() {
	if r.inFlight > 0 {
		r.inFlight--
	}
}

// Grant takes the value of a message from the responder: none is one, lest all
// stop for good, and more than we asked for is what we asked for (R131, T3 to T5).
func (r *Requester) Grant(n uint32) {
	switch {
	case n == 0:
		r.zero++
		n = 1
	case n > r.limit:
		r.over++
		n = r.limit
	}
	r.granted = n
}

// InFlight is the number of Calls sent and not ended.
func (r *Requester) InFlight() int { return int(r.inFlight) }

// Granted is the grant in force.
func (r *Requester) Granted() int { return int(r.granted) }

// ZeroGrants is how often the peer granted nothing.
func (r *Requester) ZeroGrants() uint64 { return r.zero }

// OverGrants is how often the peer granted more than was asked for.
func (r *Requester) OverGrants() uint64 { return r.over }

// Responder is the side that answers Calls, in version 1.
//
// A grant of n promises n Receives for n Calls outstanding. Calls received and
// not yet answered have used theirs, so what must be posted is n less those. Replies to
// Calls of our own come into the same Receives, so as many as there may be of
// those are never promised (RFC 8167 §4.3; R270, R271).
type Responder struct {
	limit    uint32
	reserved uint32 // Receives that Replies may need
	posted   uint32 // Receives
	busy     uint32 // Calls received and not answered
}

// NewResponder makes an account that grants at most limit credits, and promises none of
// the Receives reserved for Replies. A limit of 0 takes no Call at all.
func NewResponder(limit, reserved int) Responder {
	return Responder{limit: uint32(max(limit, 0)), reserved: uint32(max(reserved, 0))}
}

// Posted counts Receives posted (R133).
func (r *Responder) Posted(n int) { r.posted += uint32(n) }

// Taken counts a Receive that completed, whatever with.
func (r *Responder) Taken() {
	if r.posted > 0 {
		r.posted--
	}
}

// Accept counts a Call received, which is busy until Answered. It is false if more are busy than
// were ever granted: then the Call is to be dropped and its Receive posted again, which
// may be one that a Reply needs (R134, R283).
func (r *Responder) Accept() bool {
	if r.busy >= r.limit {
		return false
	}
	r.busy++
	return true
}

// Answered ends a Call whose Reply or ERROR is about to be sent. Its Receive must have been posted again.
func (r *Responder) Answered() {
	if r.busy > 0 {
		r.busy--
	}
}

// Grant is the credit value for a message to a requester that asked for want:
// at most that, the limit, and what is backed by Receives; never 0 (R129, R132, T6).
func (r *Responder) Grant(want uint32) uint32 {
	backed := r.posted + r.busy
	return max(1, min(want, r.limit, backed-min(backed, r.reserved)))
}

// Busy is the number of Calls received and not answered.
func (r *Responder) Busy() int { return int(r.busy) }

// Outstanding is the number of Receives posted.
func (r *Responder) Outstanding() int { return int(r.posted) }
