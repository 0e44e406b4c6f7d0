package admission

// Late has the connections, of type C, whose peers had closed their direction before the server
// accepted them. They may have gone, as clients do that connect, send Calls and close, again and
// again. So few such connections are served at a time, and the others wait while the server accepts
// those whose peers are there:
//
//	accepted ──Enter──> served ──Leave──> the next one that waits
//	            ├─────> waits ─────────────^
//	            └─────> dropped: the one that has waited longest, if mostLate wait
//
// Its caller has a lock for it.
type Late[C any] struct {
	served  int
	waiting []C // the oldest first
}

const (
	lateServed = 4   // at a time
	mostLate   = 256 // that wait
)

// Enter adds a connection. If serve is set, the caller serves it now, and calls Leave at its end.
// If drop is not nil, the caller closes those connections.
func (l *Late[C]) Enter(c C) (serve bool, drop []C) {
	if l.served < lateServed {
		l.served++
		return true, nil
	}
	if len(l.waiting) == mostLate {
		drop, l.waiting = l.waiting[:1:1], l.waiting[1:]
	}
	l.waiting = append(l.waiting, c)
	return false, drop
}

// Leave is called at the end of a connection that was served. It returns the next one to serve, if
// there is one.
func (l *Late[C]) Leave() (next C, ok bool) {
	if len(l.waiting) == 0 {
		l.served--
		return next, false
	}
	next = l.waiting[0]
	var none C
	l.waiting[0], l.waiting = none, l.waiting[1:]
	return next, true
}

// RemoveAll removes and returns those that wait.
func (l *Late[C]) RemoveAll() []C {
	all := l.waiting
	l.waiting = nil
	return all
}
