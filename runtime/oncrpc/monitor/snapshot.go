package monitor

import (
	"slices"
	"time"
)

// Query says what a look shows of long lists.
type Query struct {
	// Find selects the connections whose peers' addresses contain it.
	Find string

	// From is the number of each Source's connections to pass over, and Most the number to show:
	// 100 if zero, 1000 at most.
	From, Most int
}

// Limits of lists in a Snapshot.
const (
	defaultConns = 100
	mostConns    = 1000
	mostCalls    = 200
)

// Snapshot has the contents of the page at one look.
type Snapshot struct {
	Time  time.Time
	Since time.Time // the beginning of the recording

	Sources    []SourceState
	Procedures []Procedure

	// InProgress are the Calls in progress that began during the recording, oldest first, 200 at
	// most. Total is their number.
	InProgress []InProgress
	Total      int

	// Records are the last warnings and errors, newest first, and Earlier is the number of those
	// before.
	Records []Record
	Earlier uint64
}

// InProgress is a Call that has no reply yet.
type InProgress struct {
	Made bool   // by a client of this process; otherwise a server got it
	Peer string // its address, if known
	Name string // of the procedure
	XID  uint32
	Age  time.Duration
}

// Look returns the contents of the page, and begins or prolongs the recording.
func (m *Monitor) Look(q Query) Snapshot {
	switch {
	case q.Most <= 0:
		q.Most = defaultConns
	case q.Most > mostConns:
		q.Most = mostConns
	}
	q.From = max(q.From, 0)
	m.mu.Lock()
	m.look(m.cfg.Keep)
	s := Snapshot{Time: time.Now(), Since: m.since, Procedures: m.counts.all(), Total: m.progress.n}
	for c := m.progress.first; c != nil && len(s.InProgress) < mostCalls; c = c.next {
		s.InProgress = append(s.InProgress, InProgress{c.made, c.peer, m.nameOf(c.key), c.xid, s.Time.Sub(c.began)})
	}
	s.Records, s.Earlier = slices.Clone(m.last.records), m.last.dropped
	sources := slices.Clone(m.sources)
	m.mu.Unlock()
	slices.Reverse(s.Records)
	for _, n := range sources { // without the lock: they have their own
		s.Sources = append(s.Sources, n.state(&q))
	}
	return s
}
