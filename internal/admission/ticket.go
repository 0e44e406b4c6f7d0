package admission

import "time"

// Ticket is the memory that one Request has of a Budget: its own bytes, and from before its handler
// starts until the reply is written, memory for the reply. That is a bound for the reply, in bytes
// of its source's share, or a part of the reserve, which is enough for any reply.
//
//	           Admit                         Reply: its size
//	Request ──┬──────> bound ──────────────────────────────> size ──End──> nothing
//	          │                                               ▲ ▲
//	          │ no bound, or                                  │ │ the share has room
//	          └─ no room ──> part of the reserve ─────────────┼─┤
//	                              │                           │ │ no room
//	                              └─ Recall ──> nothing ──────┘ └──> size, of the reserve
//
// Waste is End, and the reply counts until the garbage collector has taken it.
//
// One goroutine at a time uses a Ticket.
type Ticket struct {
	share   *Share
	own     int  // bytes of the Request, and of Take
	bounded bool // Admit has taken a bound of the share
	reply   int  // the bound of the reply, or its size
	excess  bool // the reply is in the reserve
	quick   bool // it has a quick part of the reserve
	short   bool // it has spare bytes there for a short reply
	replied bool // reply is its size
	counts  bool // in Share.replies

	// Guarded by Budget.mu. While the Ticket does not wait, its user may read them.
	admitted bool            // Admit has taken memory
	since    time.Time       // when it got its part of the reserve
	place    element[Ticket] // in Budget.running: it has a part of the reserve
	extra    int             // bytes of Take that are in the reserve
	promised bool            // those that Take waited for are taken
}

// Ticket returns the Ticket of a Request that has taken n bytes.
func (s *Share) Ticket(n int) Ticket { return Ticket{share: s, own: n} }

// Admit takes memory for a reply of at most n bytes, or of any size if n is negative, and reports
// whether it has, now or before. If it has not and w is not nil, w is called when it has: then
// Admit must not be called again before that.
func (t *Ticket) Admit(n int, w *Waiter) bool {
	b := t.share.budget
	switch {
	case t.admitted:
		return true
	case n < 0 && b.enterQuick():
		t.admitted, t.quick = true, true
		return true
	case n >= 0 && n <= spare && b.enterShort(0):
		t.admitted, t.short = true, true
		return true
	}
	b.mu.Lock()
	b.sweep()
	ok := t.bind(n)
	switch {
	case ok:
	case t.mayEnter(): // so none waits for it
		t.enter()
		ok = true
	case w != nil:
		w.share, w.need, w.ticket, w.more = t.share, n, t, false
		b.reserve.push(&t.share.parts, w)
		b.watch()
	}
	b.mu.Unlock()
	return ok
}

// Await is Admit for a goroutine that can wait. It returns false if done is closed before there is
// memory. Budget.Relief gets the owner.
func (t *Ticket) Await(n int, owner any, done <-chan struct{}) bool {
	if t.Admit(n, nil) {
		return true
	}
	woken := make(chan struct{}, 1)
	w := &Waiter{Owner: owner, Call: func() { woken <- struct{}{} }}
	if t.Admit(n, w) {
		return true
	}
	select {
	case <-woken: // it has memory
		return true
	case <-done:
		t.share.budget.Forget(w)
		return false
	}
}

// bind takes memory of the share for a reply of at most n bytes, and reports whether it did.
// Budget.mu must be held.
func (t *Ticket) bind(n int) bool {
	if n < 0 || !t.share.take(n) {
		return false
	}
	t.admitted, t.bounded, t.reply = true, true, n
	return true
}

// mayEnter reports whether a Ticket may have a part of the reserve. Budget.mu must be held.
func (t *Ticket) mayEnter() bool {
	b := t.share.budget
	if b.mayRun(t.share) {
		return true
	}
	b.shutQuick() // the quick parts that are left are for all
	return b.mayRun(t.share)
}

// enter gives a Ticket a part of the reserve. Budget.mu must be held.
func (t *Ticket) enter() {
	t.admitted, t.since = true, time.Now()
	t.share.running++
	t.share.budget.running.push(&t.place, t)
}

// leave gives it back. Budget.mu must be held.
func (t *Ticket) leave() {
	switch {
	case t.quick:
		t.quick = false
		t.share.budget.quick.state.Add(-1)
	case t.short:
		t.short = false
		t.share.budget.quick.state.Add(-shortUnit)
	case t.place.in != nil:
		t.share.running--
		t.place.remove()
	}
}

// Take takes n bytes more for the Request until it ends, such as for decoded arguments: of the
// share, or of the reserve. If it has not taken them, later reports whether a wait can help: then
// w, unless it is nil, is called when the Ticket has them, and Take must be called once more. A
// Ticket that has bytes of the reserve never waits for more, as it would keep them from those that
// wait for it.
func (t *Ticket) Take(n int, w *Waiter) (taken, later bool) {
	b := t.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	switch {
	case t.promised:
		t.promised = false
	case t.more(n):
	case b.spare(t) >= int64(n):
		t.exceed(n)
	case t.extra > 0 || b.Reply == 0 || int64(n) > b.largest():
		return false, false
	default:
		if w != nil {
			w.share, w.need, w.ticket, w.more = t.share, n, t, true
			b.reserve.push(&t.share.parts, w)
			b.watch()
		}
		return false, true
	}
	return true, false
}

// AwaitMore is Take for a goroutine that can wait. It returns false if there are no n bytes before
// done is closed, or within limit unless that is zero. Budget.Relief gets the owner.
func (t *Ticket) AwaitMore(n int, owner any, done <-chan struct{}, limit time.Duration) bool {
	if taken, later := t.Take(n, nil); !later {
		return taken
	}
	woken := make(chan struct{}, 1)
	w := &Waiter{Owner: owner, Call: func() { woken <- struct{}{} }}
	if taken, later := t.Take(n, w); !later {
		return taken
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-woken:
	case <-done:
	case <-late:
	}
	t.share.budget.Forget(w)
	taken, _ := t.Take(n, nil)
	return taken
}

// more takes n bytes of the share, and reports whether it did. Budget.mu must be held.
func (t *Ticket) more(n int) bool {
	if !t.share.take(n) {
		return false
	}
	t.own += n
	return true
}

// exceed takes n bytes of the reserve. Budget.mu must be held.
func (t *Ticket) exceed(n int) {
	t.extra += n
	t.share.budget.excess += int64(n)
}

// spare is the number of bytes that a Ticket may keep in addition to the reply, which saves a lock.
const spare = 4 << 10

// Reply is called with the size of the reply, before it is queued. It gives back what the Ticket
// has beyond that, unless it is little. Where Admit was not called, or with too low a bound, it
// takes what lacks without asking, of the reserve if the share has too little.
func (t *Ticket) Reply(n int) {
	t.replied = true
	b, more := t.share.budget, t.reply-n
	switch {
	case t.bounded && more >= 0 && more <= spare, t.short && n <= spare:
		return
	case t.quick && n <= spare:
		if b.quick.crowded.Load() && b.enterShort(1) {
			t.quick, t.short = false, true
		}
		return
	}
	b.mu.Lock()
	t.leave()
	if !t.counts {
		t.counts = true
		t.share.replies++
		b.replies++
	}
	switch {
	case more >= 0:
		t.share.give(more)
	case t.share.take(-more):
	default:
		t.share.give(t.reply)
		b.shutQuick()
		t.excess = true
		b.excess += int64(n)
	}
	t.reply = n
	b.wake()
}

// End gives everything back, when the reply is written. So the source reads its replies.
func (t *Ticket) End() {
	if t.replied && !t.share.reads.Load() {
		t.share.reads.Store(true)
	}
	t.end()
}

// end gives everything back.
func (t *Ticket) end() {
	b := t.share.budget
	if (t.quick || t.short) && t.own == 0 && t.extra == 0 {
		unit := int64(1)
		if t.short {
			unit = shortUnit
		}
		t.quick, t.short, t.admitted, t.replied = false, false, false, false
		if b.quick.state.Add(-unit) >= shutBit {
			b.mu.Lock()
			b.wake()
		}
		return
	}
	b.mu.Lock()
	b.excess -= int64(t.extra)
	if t.excess {
		b.excess -= int64(t.reply)
	} else {
		t.own += t.reply
	}
	t.share.give(t.own)
	t.leave()
	if t.counts {
		t.counts = false
		t.share.replies--
		b.replies--
	}
	t.own, t.reply, t.extra = 0, 0, 0
	t.bounded, t.excess, t.replied, t.admitted, t.promised = false, false, false, false, false
	b.wake()
}
