package admission

// Waiter is the wish of a connection for memory. It waits for one thing at a time.
type Waiter struct {
	// Call is called when there may be enough memory. It must not block, and not use the Budget.
	Call func()

	// Owner is the connection, for Budget.Relief.
	Owner any

	// Guarded by Budget.mu.
	share  *Share  // the Waiter needs room for need bytes in it, unless need is negative
	need   int     // bytes
	ticket *Ticket // or a part of the reserve for it
	more   bool    // or need bytes of the reserve for it
	line   *line   // nil: it does not wait
	turn   element[Waiter]
}

// Forget removes a Waiter. It may be called once more, by a call in progress.
func (b *Budget) Forget(w *Waiter) {
	b.mu.Lock()
	w.leave()
	b.wake() // it may have been called, and leave what there is to others
}

// leave takes a Waiter out of its line. Budget.mu must be held.
func (w *Waiter) leave() {
	if l := w.line; l != nil {
		w.line = nil
		w.turn.remove()
		l.queue.n--
		if l.waiters.n == 0 {
			l.turn.remove()
		}
	}
}

// queue has the lines in which Waiters wait, one for each source. The lines take turns.
type queue struct {
	lines list[line]
	n     int // Waiters in all
}

// line has the Waiters of one source.
type line struct {
	queue   *queue
	waiters list[Waiter]
	turn    element[line]
}

// push appends a Waiter to a line, unless it waits already.
func (q *queue) push(l *line, w *Waiter) {
	if w.line != nil {
		return
	}
	w.line, l.queue = l, q
	l.waiters.push(&w.turn, w)
	q.lines.push(&l.turn, l)
	q.n++
}

// front returns the first Waiter of the line whose turn it is, or nil.
func (q *queue) front() *Waiter {
	if q.lines.first == nil {
		return nil
	}
	return q.lines.first.value.waiters.first.value
}

// pass moves the line in front behind all others.
func (q *queue) pass() {
	l := q.lines.pop()
	q.lines.push(&l.turn, l)
}

// pop removes and returns the Waiter in front, and moves its line behind all others.
func (q *queue) pop() *Waiter {
	w := q.front()
	q.pass()
	w.leave()
	return w
}

// each calls f for n Waiters at most, by their lines. f may remove the Waiter.
func (q *queue) each(n int, f func(w *Waiter)) {
	for l := q.lines.first; l != nil; {
		of := l.value
		l = l.next
		for w := of.waiters.first; w != nil; {
			if n--; n < 0 {
				return
			}
			next := w.next
			f(w.value)
			w = next
		}
	}
}
