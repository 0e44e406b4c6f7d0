package conform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
)

// ErrGone reports that a client made no call for the time limit of a case.
var ErrGone = errors.New("the client makes no more calls")

// maxTries is the number of calls that a client may make for one case.
const maxTries = 100

// session is the run of the cases with one client, on all of its connections.
type session struct {
	cases   []Reply
	results chan *Result  // has room for all
	done    chan struct{} // closed when the client has seen the end

	mu       sync.Mutex
	number   uint32 // of the case in progress, from 1; 0: before the first
	open     bool   // it has no report yet
	tries    int    // calls for it
	last     time.Time
	next     answered // of NEXT, for the case in progress
	reported answered // of REPORT, for the last case that has one
}

// answered is the answer to a call, for the client that sends it once more. A client may begin with
// the same XID on each connection, so the XID alone does not say so.
type answered struct {
	xid    uint32
	answer []byte // nil: no call
}

// again returns the answer if this is the same call.
func (a *answered) again(c *incoming) []act {
	if a.answer == nil || a.xid != c.xid {
		return nil
	}
	return []act{{send: a.answer}}
}

func newSession(cases []Reply) *session {
	return &session{cases: cases, results: make(chan *Result, len(cases)), done: make(chan struct{})}
}

// answer returns the answer to a message. before is the XID of the call before it.
func (s *session) answer(b []byte, before uint32) []act {
	c, ok := readCall(b)
	if !ok {
		return nil
	}
	c.before = before
	if refusal := c.refusal(); refusal != nil {
		return []act{{send: refusal}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	switch c.proc {
	case program.ClientVersion1Try:
		return s.try(c)
	case program.ClientVersion1Next:
		if known := s.next.again(c); known != nil && s.open && s.tries == 0 {
			return known
		}
		s.next = answered{c.xid, s.begin(c)}
		return []act{{send: s.next.answer}}
	case program.ClientVersion1Report:
		if known := s.reported.again(c); known != nil && !s.open {
			return known
		}
		s.reported = answered{c.xid, s.report(c)}
		return []act{{send: s.reported.answer}}
	}
	return []act{{send: c.accepted(0)}}
}

// begin begins the next case, and returns its number and name.
func (s *session) begin(c *incoming) []byte {
	s.finish(noReport)
	if int(s.number) == len(s.cases) {
		select {
		case <-s.done:
		default:
			close(s.done)
		}
		return c.accepted(0, append(words(nil, 0), opaque(nil)...)...)
	}
	s.number++
	s.open, s.tries = true, 0
	return c.accepted(0, append(words(nil, s.number), opaque([]byte(s.cases[s.number-1].Name))...)...)
}

// try returns the answer of the case in progress.
func (s *session) try(c *incoming) []act {
	c.number = binary.BigEndian.Uint32(c.args)
	if s.tries++; c.number != s.number || !s.open || s.tries > maxTries {
		return []act{{send: c.accepted(4)}}
	}
	return s.cases[s.number-1].acts(c)
}

// report completes the case in progress with the client's outcome.
func (s *session) report(c *incoming) []byte {
	number, outcome := reported(c.args, s.number)
	if number != s.number || !s.open {
		return c.accepted(4)
	}
	if s.tries == 0 {
		outcome = "a report without a call"
	}
	s.finish(outcome)
	return c.accepted(0)
}

// finish completes the case in progress, if there is one.
func (s *session) finish(outcome string) {
	if !s.open {
		return
	}
	s.open = false
	k := &s.cases[s.number-1]
	e := expect{allowed: k.allowed}
	s.results <- &Result{Case: &Case{Name: k.Name, Section: k.Section, On: k.On}, Expected: e.text(), Came: outcome, Passed: k.Allows(outcome)}
}

// silent returns an error if the client made no call for a time. Before the first call it has any
// time.
func (s *session) silent(limit time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.IsZero() || time.Since(s.last) < limit {
		return nil
	}
	s.finish(noReport)
	return fmt.Errorf("%w: the last one was %v ago, in case %d of %d", ErrGone, limit, s.number, len(s.cases))
}
