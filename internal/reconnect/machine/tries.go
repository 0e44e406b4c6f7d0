package machine

// Tries decides whether a Call is made again, on another connection of a Client.
//
//	        Failed: the connection is down and would not fail again
//	      ┌──────────────────────────────────────────────────────────┐
//	      v                                                          │
//	acquire ──> a try on a connection ─────────────────────────────> failed ──> the error
//	                    └──> the reply
type Tries struct {
	// Losses is the number of times that the Call may still be sent again after it was sent on a
	// connection that was lost.
	Losses int

	mayHaveRun bool
	turned     bool
}

// TryFailure says how a try failed.
type TryFailure struct {
	MayHaveRun bool // the peer may have executed the Call
	Up         bool // the connection is up, so only this Call has failed
	Lasting    bool // the Call would fail in the same way on another connection, or was cancelled

	// Turns makes the next connection have another version of the protocol, and reports whether the
	// peer may accept the Call in that, because it did not execute it. Turns is not called again
	// for a Call after it has reported true. If nil, there is no other version.
	Turns func() bool
}

// MayHaveRun reports whether the peer may have executed the Call in the tries so far.
func (t *Tries) MayHaveRun() bool { return t.mayHaveRun }

// Failed counts a try that failed, and reports whether the Call is made again. A try that turns
// counts for nothing, once: the next version may be refused, too (R186).
func (t *Tries) Failed(f TryFailure) (again bool) {
	if !t.turned && f.Turns != nil && f.Turns() {
		t.turned = true
		return true
	}
	if f.MayHaveRun {
		t.mayHaveRun = true
		t.Losses--
	}
	return !f.Up && !f.Lasting && t.Losses >= 0
}
