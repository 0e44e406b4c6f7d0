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
	repeated map[uint32][]byte // by XID, the replies to the calls since the last NEXT
}

func newSession(cases []Reply) *session {
	return &session{cases: cases, results: make(chan *Result, len(cases)), done: make(chan struct{}), repeated: map[uint32][]byte{}}
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
	if known := s.repeated[c.xid]; known != nil && c.proc != program.ClientVersion1Try {
		return []act{{send: known}} // the client sends it once more
	}
	switch c.proc {
	case program.ClientVersion1Try:
		return s.try(c)
	case program.ClientVersion1Next:
		clear(s.repeated)
		s.repeated[c.xid] = s.next(c)
	case program.ClientVersion1Report:
		s.repeated[c.xid] = s.report(c)
	default:
		return []act{{send: c.accepted(0)}}
	}
	return []act{{send: s.repeated[c.xid]}}
}

// next begins the next case, and returns its number and name.
func (s *session) next(c *incoming) []byte {
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
