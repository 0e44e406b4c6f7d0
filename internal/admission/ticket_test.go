package admission_test

import (
	"slices"
	"testing"

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
	if ticket.Reply(300_000); b.Used() != 302_000 || s.Left() != 0 || b.Left() != 0 {
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
	b := admission.Budget{Most: 2000, Reply: 333} // 1000 for shares, and three replies
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
