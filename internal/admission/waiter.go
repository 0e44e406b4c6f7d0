package admission

// Waiter is the wish of a connection for memory. It waits for one thing at a time.
type Waiter struct {
	// Call is called when there may be enough memory. It must not block, and not use the Budget.
	Call func()

	// Owner is the connection, for Budget.Relief.
	Owner any

	// Guarded by Budget.mu.
	share      *Share // the Waiter needs room for need bytes in it, unless need is negative
	need       int
	ticket     *Ticket  // or a part of the reserve for it
	in         *waiters // nil: it does not wait
	prev, next *Waiter
}

// Forget removes a Waiter. It may be called once more, by a call in progress.
func (b *Budget) Forget(w *Waiter) {
	b.mu.Lock()
	if w.in != nil {
		w.in.remove(w)
	}
	b.wake() // it may have been called, and leave what there is to others
}

// waiters is a list of Waiters, in the order in which they came.
type waiters struct {
	first, last *Waiter
	n           int
}

// push appends a Waiter, unless it is in a list.
func (l *waiters) push(w *Waiter) {
	if w.in != nil {
		return
	}
	w.in, w.prev, w.next = l, l.last, nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.n++
}

// remove removes a Waiter from any place.
func (l *waiters) remove(w *Waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.in, w.prev, w.next = nil, nil, nil
	l.n--
}

// pop removes and returns the first Waiter.
func (l *waiters) pop() *Waiter {
	w := l.first
	l.remove(w)
	return w
}
