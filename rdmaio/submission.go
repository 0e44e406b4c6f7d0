package rdmaio

import (
	"context"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
)

// submitter makes the Calls of a caller that are submitted.
type submitter struct {
	*caller

	answers []*slot // of Calls that have their answers; the engine's runner has it

	// The goroutine's that runs functions.
	running []ended
	ran     int // of running
}

// submission is the part of a slot for a Call that was submitted. slots.mu guards it, except that
// whoever starts the Call, and then the runner of the engine, may read state.
//
//	Submit ──> waiting ──> starting ──> posted ──> over ──> report: its function is due
//	   │          │ place      │          │ answer   │           ▲
//	   └──────────┼────────────┘          │          │           │
//	              │            └──────────┼──────────┴> blocking ┤ a goroutine does what must wait
//	              └── given up, lost      └── given up: cancel   │
//	                         └───────────────────────────────────┘
//
// starting: a goroutine prepares it. If it is given up before it is posted, why is set. A Call that
// must wait for more than its place and its answer is blocking: it has a goroutine, which takes the
// way of a Call that blocks. This holds if the version of the connection is not known yet, memory
// windows or memory for replies are used up, the peer has refused its shape, or keys cannot be
// invalidated without a wait.
type submission struct {
	state   submissionState
	ctx     context.Context
	done    func(*Reply, error)
	why     error // it was given up
	watched inflight.Watched[slot]
	due     inflight.Due[slot]
}

// state returns the state of the Call that a slot has.
func (s *slot) state() submissionState {
	if s.submit == nil {
		return notSubmitted
	}
	return s.submit.state
}

// submissionState is a state of a submission.
type submissionState uint8

const (
	notSubmitted submissionState = iota // a Call that blocks
	waiting
	starting
	posted
	over
	blocking
)
