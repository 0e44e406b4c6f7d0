package tcp

// xidSet is a set of XIDs that forgets the oldest when there are too many.
type xidSet struct{ recent, older map[uint32]bool }

// mostAbandoned is half the number of XIDs that an xidSet can hold.
const mostAbandoned = 4096

func (s *xidSet) len() int { return len(s.recent) + len(s.older) }

func (s *xidSet) has(xid uint32) bool { return s.recent[xid] || s.older[xid] }

func (s *xidSet) add(xid uint32) {
	if s.recent == nil || len(s.recent) == mostAbandoned {
		s.recent, s.older = make(map[uint32]bool), s.recent
	}
	s.recent[xid] = true
}

// remove reports whether the XID was in the set.
func (s *xidSet) remove(xid uint32) bool {
	had := s.has(xid)
	delete(s.recent, xid)
	delete(s.older, xid)
	return had
}
