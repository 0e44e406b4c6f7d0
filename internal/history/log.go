package history

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Outcome says how a Call returned to its caller.
type Outcome uint8

// The outcomes.
const (
	InProgress Outcome = iota // it has not returned
	Answered                  // it has a result
	Refused                   // the server answered with an error
	NotSent                   // an error that says that the server did not execute it
	MayHaveRun                // an error that leaves open whether the server executed it
)

var outcomeNames = [...]string{"does not return", "is answered", "is refused", "fails, not executed", "fails, maybe executed"}

// String says the outcome in words.
func (o Outcome) String() string { return outcomeNames[o] }

// Log records the history of Calls. All methods are safe for concurrent use. Calls have numbers
// that the test chooses, each one once.
type Log struct {
	now func() time.Duration

	mu      sync.Mutex
	order   []uint64 // numbers of Calls, as they were made
	calls   map[uint64]*call
	streams map[string]*stream
	found   []Fault // when it was recorded
}

// call is the history of one Call.
type call struct {
	made     bool
	outcome  Outcome
	result   uint64
	returned time.Duration
	runs     []run
	lines    []line
}

// run is an execution of a Call.
type run struct {
	at     time.Duration
	result uint64
}

// line is an entry of a history, for people.
type line struct {
	at   time.Duration
	text string
}

// New returns an empty Log. now returns the time since its beginning. If nil, it uses the
// machine's clock.
func New(now func() time.Duration) *Log {
	if now == nil {
		start := time.Now()
		now = func() time.Duration { return time.Since(start) }
	}
	return &Log{now: now, calls: make(map[uint64]*call), streams: make(map[string]*stream)}
}

// of returns the record for a Call. l.mu must be held.
func (l *Log) of(id uint64) *call {
	c := l.calls[id]
	if c == nil {
		c = new(call)
		l.calls[id] = c
		l.order = append(l.order, id)
	}
	return c
}

// add adds a line to the history of a Call, and returns its time. l.mu must be held.
func (l *Log) add(c *call, format string, args ...any) time.Duration {
	at := l.now()
	c.lines = append(c.lines, line{at, fmt.Sprintf(format, args...)})
	return at
}

// Called records that a Call begins, and where. Called must come before its first execution.
func (l *Log) Called(id uint64, where string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of(id)
	if c.made {
		l.fault(id, c, "is made twice by the test")
	}
	c.made = true
	l.add(c, "%s calls", where)
}

// Executed records that a server executes a Call, and where, and returns the number of times that
// it did so. No other execution has the same result.
func (l *Log) Executed(id uint64, where string, result uint64) (times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of(id)
	at := l.add(c, "%s executes it, result %d", where, result)
	c.runs = append(c.runs, run{at, result})
	return len(c.runs)
}

// Returned records that a Call returns to its caller. An Answered one has a result.
func (l *Log) Returned(id uint64, o Outcome, result uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of(id)
	if c.outcome != InProgress {
		l.fault(id, c, "returns twice")
	}
	c.outcome, c.result = o, result
	if o == Answered {
		c.returned = l.add(c, "the caller has result %d", result)
		return
	}
	c.returned = l.add(c, "the Call %v", o)
}

// Note adds a line to the histories of Calls: that they are sent again, or that a connection was
// lost which they were on.
func (l *Log) Note(text string, ids ...uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.add(l.of(id), "%s", text)
	}
}

// Executions returns the number of times that a Call was executed.
func (l *Log) Executions(id uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.calls[id]; c != nil {
		return len(c.runs)
	}
	return 0
}

// stream is a sequence of messages in a promised order.
type stream struct {
	sent, got []uint64
	lines     []line
}

// streamOf returns a stream. l.mu must be held.
func (l *Log) streamOf(name string) *stream {
	s := l.streams[name]
	if s == nil {
		s = new(stream)
		l.streams[name] = s
	}
	return s
}

// Sent records that an end of a connection sends message n. The stream has all that it sends there.
func (l *Log) Sent(name string, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streamOf(name)
	s.sent = append(s.sent, n)
	s.lines = append(s.lines, line{l.now(), fmt.Sprintf("sent %d", n)})
}

// Got records that message n arrives on a stream.
func (l *Log) Got(name string, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streamOf(name)
	s.lines = append(s.lines, line{l.now(), fmt.Sprintf("arrived %d", n)})
	if at := len(s.got); at >= len(s.sent) || s.sent[at] != n {
		l.found = append(l.found, Fault{
			Rule: fmt.Sprintf("%s: message %d arrives in place %d, where %s was sent", name, n, at, s.expected(at)), lines: slices.Clone(s.lines),
		})
		return
	}
	s.got = append(s.got, n)
}

// expected returns the number of the message that must arrive next.
func (s *stream) expected(at int) string {
	if at >= len(s.sent) {
		return "none"
	}
	return fmt.Sprint(s.sent[at])
}
