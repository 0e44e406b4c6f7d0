package xchar

import wire "github.com/rpcrdma/rpcrdma/gen/xchar"

// State is the state of a characteristic; the package comment draws them.
type State int

// The states.
const (
	// StateSettled means that nothing is in progress.
	StateSettled State = iota

	// StateFixed means that the owner declared that the value does not change.
	StateFixed

	// StateRequested means that a request of a change is not answered.
	StateRequested

	// StatePending means that a request of a change is answered with pending.
	StatePending
)

// String returns the name of the state.
func (s State) String() string {
	return [...]string{"settled", "fixed", "requested", "pending"}[s]
}

// OwnState returns the state of this endpoint's characteristic.
func (e *Endpoint) OwnState(id wire.ID) State {
	s, known := slotOf(id)
	switch {
	case !known:
		return StateSettled
	case e.own[s].fixed:
		return StateFixed
	case e.own[s].asked:
		return StatePending
	}
	return StateSettled
}

// PeerState returns the state of the peer's characteristic. With several requests, an unanswered
// one decides.
func (e *Endpoint) PeerState(id wire.ID) State {
	s, known := slotOf(id)
	if !known {
		return StateSettled
	}
	if e.peer[s].fixed {
		return StateFixed
	}
	state := StateSettled
	for i := range e.requests {
		r := &e.requests[i]
		for _, c := range r.changes[:r.n] {
			switch {
			case c.slot != s || !c.open:
			case !r.answered:
				return StateRequested
			default:
				state = StatePending
			}
		}
	}
	return state
}
