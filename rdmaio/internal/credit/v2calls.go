package credit

// Accept counts a Call received, which is busy until Answered. It returns false if there are as
// many as the ceiling. The caller must then answer with an ERROR.
func (a *V2) Accept() bool {
	if a.busy >= a.ceiling {
		return false
	}
	a.busy++
	return true
}

// Keeps reports whether a Call may keep its Receive until it is answered, after Taken. Otherwise
// the caller must copy the Call and post the Receive again, so that one credit can always be
// granted (R171).
func (a *V2) Keeps() bool { return a.posted > spare }

// Answered counts a Call whose answer is about to be sent, or that gets none. Its Receive must have
// been posted again before.
func (a *V2) Answered() {
	if a.busy > 0 {
		a.busy--
	}
}

// Ended counts a Call of this end that is no longer in flight, because its Reply or an ERROR has
// arrived. A cancelled Call stays in flight until then (T14).
func (a *V2) Ended() {
	if a.inFlight > 0 {
		a.inFlight--
	}
}

// Available returns the number of credits left.
func (a *V2) Available() int { return int(a.free) }

// Granted returns the number of Calls in flight plus the credits left, but no more than the peer's
// ceiling allows in flight (Free).
func (a *V2) Granted() int { return int(min(a.free+a.inFlight, max(a.limit, a.inFlight))) }

// Outstanding returns the number of credits granted to the peer and not used.
func (a *V2) Outstanding() int { return int(a.out) }

// InFlight returns how many of this end's Calls are in flight.
func (a *V2) InFlight() int { return int(a.inFlight) }

// Busy returns the number of Calls received and not answered.
func (a *V2) Busy() int { return int(a.busy) }

// ZeroGrants returns how many zero grants counted as 1.
func (a *V2) ZeroGrants() uint64 { return a.zero }

// OverGrants returns the number of grants that were reduced to the ceiling.
func (a *V2) OverGrants() uint64 { return a.over }
