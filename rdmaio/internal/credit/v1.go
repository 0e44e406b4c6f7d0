package credit

// Requester is the account of the side that makes Calls, in version 1.
type Requester struct {
	limit    uint32
	granted  uint32
	inFlight uint32

	zero, over uint64 // grants that were raised to 1, or reduced to limit
}

// NewRequester returns an account that asks for limit credits, but at least one, and never uses
// more. Before the first Reply one Call may be in flight (RFC 8166 §3.3.3; R128, R136, R191).
func NewRequester(limit int) Requester {
	return Requester{limit: uint32(max(limit, 1)), granted: 1}
}

// Want returns the credit value for a Call (R126).
func (r *Requester) Want() uint32 { return r.limit }

// Free reports whether one more Call may be sent (R127, R130).
func (r *Requester) Free() bool { return r.inFlight < r.granted }

// Sent counts a Call.
func (r *Requester) Sent() { r.inFlight++ }

// Ended counts a Call that is no longer in flight, because its Reply or an ERROR has arrived. A
// cancelled Call stays in flight until then (R135).
func (r *Requester) Ended() {
	if r.inFlight > 0 {
		r.inFlight--
	}
}

// Grant records the credit value of a message from the responder. A grant of 0 counts as 1, or the
// requester could never send again. A grant over the limit counts as the limit (R131, T3 to T5).
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

// InFlight returns the number of Calls in flight.
func (r *Requester) InFlight() int { return int(r.inFlight) }

// Granted returns the grant in force.
func (r *Requester) Granted() int { return int(r.granted) }

// ZeroGrants returns how many grants were zero.
func (r *Requester) ZeroGrants() uint64 { return r.zero }

// OverGrants returns the number of grants over the limit.
func (r *Requester) OverGrants() uint64 { return r.over }

// Responder is the account of the side that answers Calls, in version 1.
//
// A grant of n promises a Receive for each of n outstanding Calls. Calls that were received and are
// not answered have used theirs, so a Receive must be posted for each of the others. Replies to
// Calls of our own use the same Receives. The Receives that they may need are reserved and never
// promised (RFC 8167 §4.3; R270, R271).
type Responder struct {
	limit    uint32
	reserved uint32 // Receives for Replies
	posted   uint32 // Receives
	busy     uint32 // Calls received and not answered
}

// NewResponder returns an account that grants at most limit credits and reserves Receives for
// Replies. If limit is 0, it accepts no Calls.
func NewResponder(limit, reserved int) Responder {
	return Responder{limit: uint32(max(limit, 0)), reserved: uint32(max(reserved, 0))}
}

// Posted counts Receives posted (R133).
func (r *Responder) Posted(n int) { r.posted += uint32(n) }

// Taken counts a Receive that completed with a message of any kind.
func (r *Responder) Taken() {
	if r.posted > 0 {
		r.posted--
	}
}

// Accept counts a Call received, which is busy until Answered. It returns false if the Call exceeds
// every grant. The caller must then drop the Call and post its Receive again, since a Reply may
// need it (R134, R283).
func (r *Responder) Accept() bool {
	if r.busy >= r.limit {
		return false
	}
	r.busy++
	return true
}

// Answered counts a Call whose Reply or ERROR is about to be sent. Its Receive must have been
// posted again before.
func (r *Responder) Answered() {
	if r.busy > 0 {
		r.busy--
	}
}

// Grant returns the credit value for a message to a requester that asked for want. It is at most
// want, the limit, and the number of Calls for which there are Receives; it is never 0 (R129, R132,
// T6).
func (r *Responder) Grant(want uint32) uint32 {
	backed := r.posted + r.busy
	return max(1, min(want, r.limit, backed-min(backed, r.reserved)))
}

// Busy returns the number of Calls received and not answered.
func (r *Responder) Busy() int { return int(r.busy) }

// Outstanding returns the number of Receives posted.
func (r *Responder) Outstanding() int { return int(r.posted) }
