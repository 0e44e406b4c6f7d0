package admission_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// A Ticket with a bound takes it from its source's share, gives back what the reply does not need,
// and in the end everything.
func TestTicketHasItsBound(t *testing.T) {
	b := admission.Budget{Most: 200_000, Reply: 10_000}
	s := b.Join(at(1))
	if !s.Take(2000, nil) {
		t.Fatal("not taken")
	}
	ticket := s.Ticket(2000)
	if !ticket.Admit(40_000, nil) || !ticket.Admit(40_000, nil) || b.Used() != 42_000 {
		t.Errorf("%d bytes are used, want 42,000", b.Used())
	}
	if ticket.Reply(3000); b.Used() != 5000 || s.Left() != 45_000 {
		t.Errorf("%d bytes are used after the reply, want 5000", b.Used())
	}
	if ticket.End(); b.Used() != 0 || s.Left() != 50_000 {
		t.Errorf("%d bytes are used in the end", b.Used())
	}
	// A little may be kept until the end.
	s.Take(2000, nil)
	ticket = s.Ticket(2000)
	if ticket.Admit(4500, nil); b.Used() != 6500 {
		t.Errorf("%d bytes are used, want 6500", b.Used())
	}
	ticket.Reply(500)
	if ticket.End(); b.Used() != 0 || s.Left() != 50_000 {
		t.Errorf("%d bytes are used in the end", b.Used())
	}
	// A reply above its bound, or without Admit, counts in any case.
	s.Take(2000, nil)
	ticket = s.Ticket(2000)
	if ticket.Reply(300_000); b.Used() != 302_000 || s.Left() != 48_000 {
		t.Errorf("%d bytes are used, want 302,000", b.Used())
	}
	if ticket.End(); b.Used() != 0 || s.Left() != 50_000 {
		t.Errorf("%d bytes are used in the end", b.Used())
	}
}

// Without a bound, or where the share has no room for it, a Ticket has a part of the reserve: as
// many at a time as could all have the largest reply, or one. The others wait in their order. A
// Ticket keeps its part until it ends if the share has no room for the reply.
func TestTicketsWithoutABoundShareTheReserve(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 250} // 1000 for shares, and four replies
	s := b.Join(at(1))
	var called []int
	tickets := make([]admission.Ticket, 7)
	waiters := make([]*admission.Waiter, 7)
	admit := func(i, bound int) bool { return tickets[i].Admit(bound, waiters[i]) }
	for i := range tickets {
		tickets[i] = s.Ticket(0)
		waiters[i] = &admission.Waiter{Call: func() { called = append(called, i) }}
	}
	if !admit(0, -1) || !admit(1, 501) || !admit(2, -1) {
		t.Fatal("not admitted")
	}
	if admit(3, -1) || admit(4, 501) || admit(4, 501) || b.Used() != 0 {
		t.Fatal("a fourth is admitted")
	}
	other := b.Join(at(2)).Ticket(0)
	if !other.Admit(-1, nil) {
		t.Error("the last part is not for another source")
	}
	other.End()
	if !admit(5, 100) {
		t.Fatal("with a bound that the share has room for, none waits")
	}
	tickets[5].End()
	tickets[0].Reply(300)
	if !slices.Equal(called, []int{3}) || b.Used() != 300 || !admit(3, -1) || admit(4, -1) {
		t.Errorf("called %v, want 3: the share has room for the reply", called)
	}
	tickets[1].Reply(300)
	if !slices.Equal(called, []int{3}) || b.Used() != 600 || admit(6, -1) {
		t.Errorf("called %v: the share has no room for the reply, so none is to follow", called)
	}
	tickets[1].End()
	if !slices.Equal(called, []int{3, 4}) || b.Used() != 300 {
		t.Errorf("called %v, want 4 too", called)
	}
	b.Forget(waiters[6])
	for i := range tickets {
		tickets[i].End()
	}
	if !slices.Equal(called, []int{3, 4}) || b.Used() != 0 {
		t.Errorf("called %v, %d bytes are used in the end", called, b.Used())
	}
	// One runs in any case.
	b.Reply = 1001
	tickets[0] = s.Ticket(0)
	tickets[1] = s.Ticket(0)
	if !admit(0, -1) || admit(1, -1) {
		t.Error("one is to run at a time")
	}
	tickets[0].End()
	tickets[1].End()
}

// A short reply in the reserve leaves room for a further handler, and End gives its bytes back.
func TestShortRepliesDoNotKeepTheReserve(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 1000}
	s := b.Join(at(1))
	s.Take(500, nil) // all of its share
	one, two, three := s.Ticket(0), s.Ticket(0), s.Ticket(0)
	called := 0
	w := &admission.Waiter{Call: func() { called++ }}
	if !one.Admit(-1, nil) || two.Admit(-1, w) {
		t.Fatal("one runs at a time")
	}
	if one.Reply(499); called != 1 || b.Used() != 999 {
		t.Errorf("called %d times, %d bytes are used", called, b.Used())
	}
	if two.Reply(1); called != 1 || three.Admit(-1, w) {
		t.Error("half of the reserve is used, so none may run")
	}
	one.End()
	if two.End(); called != 2 || b.Used() != 500 {
		t.Errorf("called %d times, %d bytes are used", called, b.Used())
	}
	three.End()
}

// Recall takes the parts of the oldest handlers, as many as others wait for, and leaves
// younger ones alone. Their replies count like all others.
func TestRecallLetsOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := admission.Budget{Most: 2000, Reply: 250} // four, and the last is for others
		s := b.Join(at(1))
		all := make([]admission.Ticket, 6)
		var called []int
		for i := range all {
			all[i] = s.Ticket(0)
			w := &admission.Waiter{Call: func() { called = append(called, i) }}
			if all[i].Admit(-1, w) != (i < 3) {
				t.Fatalf("%d is admitted, or not", i)
			}
			if i < 3 {
				time.Sleep(time.Second)
			}
		}
		start := time.Now().Add(-3 * time.Second)
		if b.Recall(start); called != nil {
			t.Errorf("called %v: none began before", called)
		}
		if b.Recall(start.Add(time.Second + 1)); !slices.Equal(called, []int{3, 4}) {
			t.Errorf("called %v, want 3 and 4 in place of 0 and 1", called)
		}
		if all[5].Admit(-1, nil) {
			t.Error("three have parts already")
		}
		if all[0].Reply(400); b.Used() != 400 {
			t.Errorf("%d bytes are used, want the 400 of the reply", b.Used())
		}
		if b.Recall(time.Now().Add(time.Hour)); !slices.Equal(called, []int{3, 4, 5}) {
			t.Errorf("called %v: 5 waits", called)
		}
		if b.Recall(time.Now().Add(time.Hour)); len(called) != 3 || all[0].Admit(-1, nil) != true {
			t.Errorf("called %v: none waits", called)
		}
		if further := s.Ticket(0); further.Admit(-1, nil) {
			t.Error("handlers have lost their parts, although nothing waits")
		}
		for i := range all {
			all[i].End()
		}
		if b.Used() != 0 || s.Left() != 500 {
			t.Errorf("%d bytes are used in the end, the share has %d left", b.Used(), s.Left())
		}
	})
}

// readerOf returns the Share of a source that has read a reply.
func readerOf(b *admission.Budget, n int) *admission.Share {
	s := b.Join(at(n))
	ticket := s.Ticket(0)
	ticket.Admit(-1, nil)
	ticket.Reply(1)
	ticket.End()
	return s
}

// While replies are not read, sources that have not read one leave the last part of the reserve to
// those that do: a client that reads does not wait until many others have had their turns. If there
// is one part, all sources have it in turn.
func TestLastPartIsForASourceThatReads(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 250} // four
	has := func(s *admission.Share) *admission.Ticket {
		ticket := s.Ticket(0)
		if !ticket.Admit(-1, nil) {
			return nil
		}
		return &ticket
	}
	reads, stops := readerOf(&b, 1), readerOf(&b, 2)
	unread := has(stops)
	unread.Reply(10)
	dropped := has(b.Join(at(3)))
	dropped.Reply(10)
	dropped.Waste() // not written
	var others []*admission.Ticket
	for n := range 3 {
		others = append(others, has(b.Join(at(10+n))))
	}
	if has(b.Join(at(20))) != nil || has(b.Join(at(3))) != nil || has(stops) != nil {
		t.Error("a source that does not read has the last part")
	}
	for range 2 { // once more after a reply that was read
		last := has(reads)
		if last == nil || has(reads) != nil {
			t.Fatal("the last part is not for a source that reads, once")
		}
		last.Reply(10)
		if has(reads) != nil {
			t.Error("a source has the last part before its reply is read")
		}
		last.End()
	}
	unread.End()
	if last := has(stops); last == nil {
		t.Error("a source that reads again does not have the last part")
	} else {
		last.End()
	}
	for _, ticket := range others {
		ticket.End()
	}
	for n := range 4 {
		if has(b.Join(at(30+n))) == nil {
			t.Errorf("a new source does not get part %d, and all replies are read", n)
		}
	}
	small := admission.Budget{Most: 500, Reply: 250} // one
	waits := readerOf(&small, 1).Ticket(0)
	waits.Admit(-1, nil)
	waits.Reply(10)
	if has(small.Join(at(2))) == nil {
		t.Error("a new source does not get the only part")
	}
}

// The last part is for a source without one, also while others wait, and when that source had parts
// before.
func TestLastPartIsForASourceWithoutOne(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 250} // four
	one, two, three := b.Join(at(1)), b.Join(at(2)), b.Join(at(3))
	var called []string
	admit := func(s *admission.Share, name string) *admission.Ticket {
		ticket := s.Ticket(0)
		if ticket.Admit(-1, &admission.Waiter{Call: func() { called = append(called, name) }}) {
			called = append(called, name)
		}
		return &ticket
	}
	had := []*admission.Ticket{admit(two, "two"), admit(two, "two"), admit(two, "two")}
	for _, ticket := range had {
		ticket.End()
	}
	called = nil
	has := []*admission.Ticket{admit(one, "one"), admit(one, "one"), admit(one, "one"), admit(three, "three")}
	has = append(has, admit(one, "one waits"), admit(two, "two waits"))
	if want := []string{"one", "one", "one", "three"}; !slices.Equal(called, want) {
		t.Fatalf("%q have parts, want %q", called, want)
	}
	if has[3].End(); !slices.Equal(called[4:], []string{"two waits"}) {
		t.Errorf("%q get the last part, want two alone: one has three", called[4:])
	}
	for _, ticket := range has {
		ticket.End()
	}
	if want := []string{"two waits", "one waits"}; !slices.Equal(called[4:], want) || b.Used() != 0 {
		t.Errorf("%q get parts, want %q", called[4:], want)
	}
}

// A Request that is not alone in the reserve leaves room for the largest reply of each handler that
// runs there.
func TestBytesOfTheReserveLeaveRoomForReplies(t *testing.T) {
	b := admission.Budget{Most: 4000, Reply: 1500} // 2000 of reserve, one reply
	s := b.Join(at(1))
	s.Take(1000, nil) // all of it
	runs, takes := b.Join(at(2)).Ticket(0), s.Ticket(0)
	if !runs.Admit(-1, nil) {
		t.Fatal("not admitted")
	}
	if taken, later := takes.Take(501, nil); taken || !later {
		t.Errorf("501 bytes: taken %t, later %t: the reply may have 1500 of 2000", taken, later)
	}
	if taken, _ := takes.Take(500, nil); !taken {
		t.Error("500 bytes and a reply do not fit")
	}
	runs.End()
	takes.End()
}

// Sources take turns in the reserve, however many of their Tickets wait.
func TestSourcesTakeTurnsInTheReserve(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 1000} // one at a time
	var called []string
	var running []*admission.Ticket
	names := []string{"a0", "a1", "a2", "a3", "b1", "b2", "c1"}
	for _, name := range names {
		ticket := b.Join(at(int(name[0]))).Ticket(0)
		if ticket.Admit(-1, &admission.Waiter{Call: func() {
			called, running = append(called, name), append(running, &ticket)
		}}) {
			running = append(running, &ticket)
		}
	}
	for range names {
		running[0].End()
		running = running[1:]
	}
	if want := []string{"a1", "b1", "c1", "a2", "b2", "a3"}; !slices.Equal(called, want) || b.Used() != 0 {
		t.Errorf("called %q, want %q", called, want)
	}
}

// What a Request takes beyond its share is in the reserve, as much as one reply leaves there. A
// Request that has bytes there does not wait for more: two such could wait for each other.
func TestTicketTakesBytesOfTheReserve(t *testing.T) {
	b := admission.Budget{Most: 4000, Reply: 500} // 2000 for shares, four replies
	s := b.Join(at(1))
	s.Take(1000, nil) // all of it
	one, two, part := s.Ticket(1000), s.Ticket(0), s.Ticket(0)
	called := 0
	w := &admission.Waiter{Call: func() { called++ }}
	take := func(ticket *admission.Ticket, n int, taken, later bool) {
		t.Helper()
		if gotTaken, gotLater := ticket.Take(n, w); gotTaken != taken || gotLater != later {
			t.Errorf("%d bytes: taken %t, later %t; want %t, %t", n, gotTaken, gotLater, taken, later)
		}
	}
	take(&one, 1501, false, false)
	take(&one, 1000, true, false)
	take(&one, 501, false, false)
	if b.Used() != 2000 {
		t.Errorf("%d bytes are used, want 2000", b.Used())
	}
	if !part.Admit(-1, nil) {
		t.Error("there is room for a reply")
	}
	take(&two, 1501, false, false)
	take(&two, 600, false, true)
	part.Reply(0)
	if part.End(); called != 1 || b.Used() != 2600 {
		t.Errorf("called %d times, %d bytes are used; want once, for the 600 of two", called, b.Used())
	}
	take(&two, 600, true, false)
	take(&two, 401, false, false)
	if one.End(); b.Used() != 600 {
		t.Errorf("%d bytes are used, want 600", b.Used())
	}
	take(&one, 1000, true, false) // the share has room now
	if s.Left() != 0 {
		t.Errorf("the share has %d left", s.Left())
	}
	one.End()
	if two.End(); called != 1 || b.Used() != 0 || s.Left() != 1000 {
		t.Errorf("%d bytes are used in the end, the share has %d left", b.Used(), s.Left())
	}
}

// Without a reserve, what exceeds the share is refused.
func TestTicketWithoutAReserveTakesOfItsShare(t *testing.T) {
	b := admission.Budget{Most: 1000}
	ticket := b.Join(at(1)).Ticket(0)
	if taken, _ := ticket.Take(500, nil); !taken {
		t.Error("the share has 500 bytes")
	}
	if taken, later := ticket.Take(1, nil); taken || later {
		t.Errorf("taken %t, later %t beyond the share", taken, later)
	}
	ticket.End()
}

// A wait for more bytes ends with the connection, after its limit, or when there are as many.
func TestAwaitMoreHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := admission.Budget{Most: 4000, Reply: 1000}
		s := b.Join(at(1))
		s.Take(1000, nil) // all of its share
		has, waits := s.Ticket(1000), s.Ticket(0)
		if !has.AwaitMore(1000, nil, nil, time.Second) || has.AwaitMore(1, nil, nil, time.Second) {
			t.Fatal("the reserve has 1000 bytes for one Request alone")
		}
		more := s.Ticket(0)
		if !more.AwaitMore(900, nil, nil, time.Second) {
			t.Fatal("the reserve has 1000 more")
		}
		for _, tt := range []struct{ limit, closed, freed, want time.Duration }{
			{time.Second, time.Hour, time.Hour, time.Second},
			{0, 2 * time.Second, time.Hour, 2 * time.Second},
			{time.Hour, time.Hour, 200 * time.Millisecond, 200 * time.Millisecond},
		} {
			done := make(chan struct{})
			closing := time.AfterFunc(tt.closed, func() { close(done) })
			freeing := time.AfterFunc(tt.freed, func() { has.End() })
			start := time.Now()
			got := waits.AwaitMore(900, "owner", done, tt.limit)
			if took := time.Since(start); took != tt.want || got != (tt.freed == tt.want) {
				t.Errorf("%+v: %t after %v", tt, got, took)
			}
			closing.Stop()
			freeing.Stop()
		}
		waits.End()
		more.End()
		if b.Used() != 0 {
			t.Errorf("%d bytes are used in the end", b.Used())
		}
	})
}
