package gss

import (
	"container/list"
	"crypto/rand"
	"sync"
	"time"
)

// handle identifies a context of a server. It is random: a client knows only its own.
type handle [16]byte

// session is a security context of a server.
type session struct {
	handle handle
	source string
	mech   Context
	info   Info
	id     [16]byte // of the principal
	steps  int      // tokens accepted

	mu     sync.Mutex
	window window

	// The fields below are the table's.
	used           time.Time
	recent, within *list.Element // in table.recent and table.sources
	users          int           // that have acquired it
	removed        bool
}

// accept reports whether a sequence number is new.
func (s *session) accept(seq uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window.take(seq)
}

// table holds contexts, each of them for a time after its last use. There is a limit for all
// contexts, and one for each source. Beyond a limit, the context that was unused longest is
// removed: from the same source, or from the source that has most. So a source cannot evict the
// contexts of a source that has fewer.
type table struct {
	most, mostOfSource int
	life               time.Duration // 0: no limit

	mu       sync.Mutex
	sessions map[handle]*session
	recent   list.List             // of *session, the one unused longest first
	sources  map[string]*list.List // the same for each source
	removed  uint64                // by a limit
}

func newTable(most, mostOfSource int, life time.Duration) *table {
	return &table{
		most: most, mostOfSource: mostOfSource, life: life,
		sessions: make(map[handle]*session), sources: make(map[string]*list.List),
	}
}

// newHandle returns a random handle.
func newHandle() (h handle) {
	_, _ = rand.Read(h[:]) // never fails
	return h
}

// add adds a session, which its creator has not acquired.
func (t *table) add(s *session) {
	t.mu.Lock()
	dead := t.expire()
	if l := t.sources[s.source]; l != nil && l.Len() >= t.mostOfSource {
		dead = t.evict(dead, l)
	} else if len(t.sessions) >= t.most {
		var largest *list.List
		for _, l := range t.sources {
			if largest == nil || l.Len() > largest.Len() || l.Len() == largest.Len() && oldest(l).used.Before(oldest(largest).used) {
				largest = l
			}
		}
		dead = t.evict(dead, largest)
	}
	l := t.sources[s.source]
	if l == nil {
		l = list.New()
		t.sources[s.source] = l
	}
	s.used = time.Now()
	s.recent, s.within = t.recent.PushBack(s), l.PushBack(s)
	t.sessions[s.handle] = s
	t.mu.Unlock()
	deleteAll(dead)
}

// acquire returns the session with a handle, or nil. The caller must release it.
func (t *table) acquire(b []byte) *session {
	if len(b) != len(handle{}) {
		return nil
	}
	t.mu.Lock()
	dead := t.expire()
	s := t.sessions[handle(b)]
	if s != nil {
		s.users++
	}
	t.mu.Unlock()
	deleteAll(dead)
	return s
}

// touch records that a session was used, by its owner: the checksum was right.
func (t *table) touch(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.used = time.Now(); !s.removed {
		t.recent.MoveToBack(s.recent)
		t.sources[s.source].MoveToBack(s.within)
	}
}

// release marks an acquired session as no longer in use.
func (t *table) release(s *session) {
	t.mu.Lock()
	s.users--
	dead := s.users == 0 && s.removed
	t.mu.Unlock()
	if dead {
		s.mech.Delete()
	}
}

// remove removes a session, and reports whether it was there. Its context is deleted when no user
// is left.
func (t *table) remove(s *session) bool {
	t.mu.Lock()
	if s.removed {
		t.mu.Unlock()
		return false
	}
	dead := t.drop(nil, s)
	t.mu.Unlock()
	deleteAll(dead)
	return true
}

// take removes the session with a handle and returns it, or nil. It is for tables whose sessions
// are not acquired.
func (t *table) take(b []byte) *session {
	if len(b) != len(handle{}) {
		return nil
	}
	t.mu.Lock()
	dead := t.expire()
	s := t.sessions[handle(b)]
	if s != nil {
		t.drop(nil, s)
		s.removed = false // the caller may add it to a table
	}
	t.mu.Unlock()
	deleteAll(dead)
	return s
}

// count removes old sessions, and returns the number of those that are left.
func (t *table) count() (n int, removed uint64) {
	t.mu.Lock()
	dead := t.expire()
	n, removed = len(t.sessions), t.removed
	t.mu.Unlock()
	deleteAll(dead)
	return n, removed
}

// expire removes the sessions that were unused for too long. t.mu must be held.
func (t *table) expire() (dead []*session) {
	if t.life == 0 || t.recent.Len() == 0 {
		return nil
	}
	for limit := time.Now().Add(-t.life); t.recent.Len() > 0 && oldest(&t.recent).used.Before(limit); {
		dead = t.drop(dead, oldest(&t.recent))
	}
	return dead
}

// evict removes the oldest session of a list, because of a limit. t.mu must be held.
func (t *table) evict(dead []*session, l *list.List) []*session {
	t.removed++
	return t.drop(dead, oldest(l))
}

// drop removes a session. It appends it to dead if it is not in use. t.mu must be held.
func (t *table) drop(dead []*session, s *session) []*session {
	delete(t.sessions, s.handle)
	t.recent.Remove(s.recent)
	l := t.sources[s.source]
	if l.Remove(s.within); l.Len() == 0 {
		delete(t.sources, s.source)
	}
	if s.removed = true; s.users == 0 {
		dead = append(dead, s)
	}
	return dead
}

func oldest(l *list.List) *session { return l.Front().Value.(*session) }

func deleteAll(dead []*session) {
	for _, s := range dead {
		s.mech.Delete()
	}
}
