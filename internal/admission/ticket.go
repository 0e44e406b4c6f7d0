package admission

// Ticket is the memory that one Request has of a Budget: its own bytes, and from before its handler
// starts until the reply is written, memory for the reply. That is a bound for the reply, in bytes
// of its source's share, or a part of the reserve, which is enough for any reply.
//
//	           Admit                         Reply: its size
//	Request ──┬──────> bound ──────────────────────────────> size ──End──> nothing
//	          │                                               ▲
//	          │ no bound, or                                  │ the share has room
//	          └─ no room ──> part of the reserve ─────────────┤
//	                                                          │ no room
//	                                                          └──> part of the reserve
//
// One goroutine at a time uses a Ticket.
type Ticket struct {
	share    *Share
	own      int  // bytes of the Request
	reply    int  // the bound of the reply, or its size
	admitted bool // Admit has taken memory; guarded by Budget.mu
	reserve  bool // it has a part of the reserve; guarded by Budget.mu
}

// Ticket returns the Ticket of a Request that has taken n bytes.
func (s *Share) Ticket(n int) Ticket { return Ticket{share: s, own: n} }

// Admit takes memory for a reply of at most n bytes, or of any size if n is negative, and reports
// whether it has, now or before. If it has not and w is not nil, w is called when it has.
func (t *Ticket) Admit(n int, w *Waiter) bool {
	b := t.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case t.admitted:
	case n >= 0 && t.share.take(n):
		t.admitted, t.reply = true, n
	case b.free() > 0: // so none waits for it
		t.enter()
	default:
		if w != nil {
			w.ticket = t
			b.reserve.push(w)
		}
		return false
	}
	return true
}

// enter gives a Ticket a part of the reserve. Budget.mu must be held.
func (t *Ticket) enter() {
	t.admitted, t.reserve = true, true
	t.share.budget.running++
}

// drop gives it back. Budget.mu must be held.
func (t *Ticket) drop() {
	if t.reserve {
		t.reserve = false
		t.share.budget.running--
	}
}

// spare is the number of bytes that a Ticket may keep in addition to the reply, which saves a lock.
const spare = 4 << 10

// Reply is called with the size of the reply, before it is queued. It gives back what the Ticket
// has beyond that, unless it is little. Where Admit was not called, or with too low a bound, it
// takes what lacks without asking.
func (t *Ticket) Reply(n int) {
	if more := t.reply - n; !t.reserve && more >= 0 && more <= spare {
		return
	}
	b := t.share.budget
	b.mu.Lock()
	if lack := n - t.reply; lack <= 0 || t.share.take(lack) {
		if lack < 0 {
			t.share.give(-lack)
		}
		t.drop()
	} else if t.reserve {
		b.excess += int64(n)
	} else {
		t.share.give(-lack)
	}
	t.reply = n
	b.wake()
}

// End gives everything back.
func (t *Ticket) End() {
	b := t.share.budget
	b.mu.Lock()
	if t.reserve {
		b.excess -= int64(t.reply)
	} else {
		t.own += t.reply
	}
	t.share.give(t.own)
	t.drop()
	*t = Ticket{share: t.share}
	b.wake()
}
