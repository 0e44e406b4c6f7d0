package locks

import (
	"fmt"
	"math"
)

// Limits are the largest numbers that a Table keeps. If a field is zero, the default is the number
// in its comment. If negative, there is no limit.
type Limits struct {
	// Locks are the ranges in all, and SourceLocks the ranges of a source: 131,072 and 32,768.
	Locks, SourceLocks int
	// Waiters are the requests that wait in all, or whose owner has not accepted the lock yet, and
	// SourceWaiters the ones of a source: 4,096 and 1,024.
	Waiters, SourceWaiters int
	// Clients are the clients in all that hold or wait for locks, and SourceClients the ones of a
	// source: 4,096 and 256.
	Clients, SourceClients int
}

// settled returns the limits with their defaults.
func (l Limits) settled() Limits {
	set := func(field *int, most int) {
		switch {
		case *field == 0:
			*field = most
		case *field < 0:
			*field = math.MaxInt
		}
	}
	set(&l.Locks, 1<<17)
	set(&l.SourceLocks, 1<<15)
	set(&l.Waiters, 1<<12)
	set(&l.SourceWaiters, 1<<10)
	set(&l.Clients, 1<<12)
	set(&l.SourceClients, 1<<8)
	return l
}

// LimitError says that a request was refused because of a limit.
type LimitError struct {
	Limit  string // the field of Limits
	Most   int
	Source string // whose request it was
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("locks: a request of %s exceeds %s, %d: a client keeps locks that it does not release, or the limit is too low", e.Source, e.Limit, e.Most)
}

// usage counts what a source has, and what all have.
type usage struct{ locks, waiters, clients int }

// room returns an error if more would exceed a limit.
func (t *Table) room(s *source, more usage) error {
	l := &t.limits
	for _, c := range []struct {
		name             string
		more, have, most int
	}{
		{"SourceLocks", more.locks, s.locks, l.SourceLocks},
		{"Locks", more.locks, t.used.locks, l.Locks},
		{"SourceWaiters", more.waiters, s.waiters, l.SourceWaiters},
		{"Waiters", more.waiters, t.used.waiters, l.Waiters},
		{"SourceClients", more.clients, s.clients, l.SourceClients},
		{"Clients", more.clients, t.used.clients, l.Clients},
	} {
		if c.more > 0 && c.more > c.most-c.have {
			return &LimitError{c.name, c.most, s.name}
		}
	}
	return nil
}

// count adds to what a source has.
func (t *Table) count(s *source, more usage) {
	for _, u := range []*usage{&s.usage, &t.used} {
		u.locks += more.locks
		u.waiters += more.waiters
		u.clients += more.clients
	}
	if s.usage == (usage{}) {
		delete(t.sources, s.name)
	} else {
		t.sources[s.name] = s
	}
}
