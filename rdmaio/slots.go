package rdmaio

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
)

// slots are the slots of a connection. As many Calls as there are credits have a place at most. The
// others wait in their order, and each that is over gives its place to the first one:
//
//	take ──> place ──────────────────────> put, or report and its function has run
//	  └────> line ── a place is free ──> place
//	           └──── ctx, deadline, loss ──> leave
//
// mu guards what follows it. No other lock is taken with it but the driver's.
type slots struct {
	most   int           // places
	busy   atomic.Int32  // places in use; changed with mu locked
	urgent chan struct{} // one token: for a Call of package cancel

	mu     sync.Mutex
	line   slotLine  // those that wait for a place
	unused []*slot   // last used at the end
	out    int       // slots in use, and functions that have not run
	none   sync.Cond // out is 0
	closed bool      // Close was called: no Call begins any more

	// Of Calls that were submitted.
	lost      error // why none begins any more
	contexts  inflight.Contexts[slot]
	deadlines inflight.Deadlines[slot]
	ends      []ended     // whose functions are to run
	due       atomic.Bool // there are any
}

// allow permits n Calls at a time.
func (l *slots) allow(n int) {
	l.most = n
	l.none.L = &l.mu
	l.urgent = make(chan struct{}, 1)
	l.urgent <- struct{}{}
}

// alone reports whether one Call at most has a place.
func (l *slots) alone() bool { return l.busy.Load() <= 1 }

// take returns a slot, with a place unless waits is true. It returns nil after close.
func (l *slots) take() (s *slot, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	s = l.unusedSlot()
	return s, !l.place(s)
}

// takeUrgent returns the slot for a Call of package cancel. It has its own place.
func (l *slots) takeUrgent() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.unusedSlot()
	s.call.Urgent = true
	return s
}

// unusedSlot returns a slot. mu must be held.
func (l *slots) unusedSlot() *slot {
	l.out++
	n := len(l.unused)
	if n == 0 {
		return newSlot()
	}
	s := l.unused[n-1]
	l.unused = l.unused[:n-1]
	return s
}

// place gives a place to a slot, or puts it at the end of the line. mu must be held.
func (l *slots) place(s *slot) bool {
	if n := int(l.busy.Load()); n < l.most {
		l.busy.Store(int32(n + 1))
		return true
	}
	l.line.push(s)
	return false
}

// leave gives the place of a Call that is over to the first one that waits. It wakes one that
// blocks, and returns one that was submitted, which must then be started. mu must be held.
func (l *slots) leave() (next *slot) {
	if next = l.line.first; next == nil {
		l.busy.Store(l.busy.Load() - 1)
		return nil
	}
	l.line.remove(next)
	if next.state() == notSubmitted {
		next.done <- struct{}{}
		return nil
	}
	next.submit.state = starting
	return next
}

// put takes back the slot of a Call that blocks. With waits it is in the line, otherwise it has a
// place. put returns the Call that must be started, or nil.
func (l *slots) put(s *slot, waits bool) (next *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case s.call.Urgent:
		l.urgent <- struct{}{}
	case waits && l.line.has(s):
		l.line.remove(s)
	default:
		if waits { // it was woken, and gives up all the same
			<-s.done
		}
		next = l.leave()
	}
	l.recycle(s)
	l.returned()
	return next
}

// recycle keeps a slot for a later Call. mu must be held.
func (l *slots) recycle(s *slot) {
	s.call.Forget()
	s.call.Urgent, s.sent = false, false
	if s.offered != nil {
		s.left, s.long = nil, nil // long is the caller's
	}
	s.rpc, s.end = nil, nil
	l.unused = append(l.unused, s)
}

// returned counts out a slot, or a function that has run. mu must be held.
func (l *slots) returned() {
	if l.out--; l.out == 0 && l.closed {
		l.none.Broadcast()
	}
}

// trim forgets the unused slots.
func (l *slots) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unused = nil
}

// close lets no Call begin any more, and waits until all are over.
func (l *slots) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for l.out > 0 {
		l.none.Wait()
	}
	l.contexts.Close()
	l.deadlines.Close()
}

// watch gives up a Call that was submitted at its deadline, and when its context is done. mu must
// be held.
func (l *slots) watch(s *slot) {
	l.contexts.Watch(s.submit.ctx, s, &s.submit.watched)
	if at := s.rpc.Deadline; !at.IsZero() {
		l.deadlines.Add(at, s, &s.submit.due)
	}
}

// forget ends watch. mu must be held.
func (l *slots) forget(s *slot) {
	l.contexts.Forget(&s.submit.watched)
	l.deadlines.Remove(&s.submit.due)
}

// report keeps the end of a Call that was submitted for its function, and its slot for a later one.
// mu must be held.
func (l *slots) report(s *slot, err error) {
	l.forget(s)
	l.ends = append(l.ends, ended{done: s.submit.done, call: s.rpc, end: s.end, err: err})
	l.due.Store(true)
	s.submit.done, s.submit.ctx, s.submit.why, s.submit.state = nil, nil, nil, notSubmitted
	l.recycle(s)
}

// ended is the end of a Call that was submitted.
type ended struct {
	done func(*Reply, error)
	call *Call
	end  *CallEnd
	err  error
}

// slotLine is a list of slots, first come, first served.
type slotLine struct{ first, last *slot }

// has reports whether a slot is in the line. Every slot is in one line at most.
func (l *slotLine) has(s *slot) bool { return s.prev != nil || l.first == s }

// push appends a slot.
func (l *slotLine) push(s *slot) {
	s.prev, s.next = l.last, nil
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
}

// remove removes a slot from any place.
func (l *slotLine) remove(s *slot) {
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}
