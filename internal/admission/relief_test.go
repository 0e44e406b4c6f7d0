package admission_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// While something waits, Relief is called with the owners of what waits, and a handler that has its
// part of the reserve for a second without a reply loses it.
func TestBudgetLooksForMemoryWhileSomethingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []any
		b := admission.Budget{Most: 2000, Reply: 1000, Relief: func(waiting []any) { asked = waiting }}
		s := b.Join(at(1))
		hangs, waits := s.Ticket(0), s.Ticket(0)
		hangs.Admit(-1, nil)
		if time.Sleep(10 * time.Second); asked != nil {
			t.Errorf("%v wait, want nothing", asked)
		}
		start := time.Now()
		s.Take(500, nil)
		bytes := &admission.Waiter{Owner: "bytes", Call: func() { t.Error("there are no bytes") }}
		s.Take(1, bytes)
		late, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if !waits.Await(-1, "ticket", late.Done()) || time.Since(start) > time.Second {
			t.Errorf("a Ticket waits %v for a handler that hangs", time.Since(start))
		}
		if !slices.Equal(asked, []any{"bytes", "ticket"}) {
			t.Errorf("%v wait, want both", asked)
		}
		b.Forget(bytes)
		time.Sleep(time.Second)
		if asked = nil; b.Used() != 500 {
			t.Errorf("%d bytes are used, want 500", b.Used())
		}
		if time.Sleep(10 * time.Second); asked != nil {
			t.Errorf("%v wait in the end, want nothing", asked)
		}
		hangs.End()
		waits.End()
	})
}

// A Ticket with a bound that waits for a part of the reserve is admitted when its share has room,
// also behind many others whose bounds do not fit.
func TestWaitingTicketGetsItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := admission.Budget{Most: 2000, Reply: 1000}
		s := b.Join(at(1))
		s.Take(500, nil)
		keeps := s.Ticket(0)
		keeps.Admit(-1, nil)
		tickets := make([]admission.Ticket, 20)
		var called []int
		for i := range tickets {
			tickets[i] = s.Ticket(0)
			n := 400
			if i == 1 || i == 19 {
				n = 40
			}
			if tickets[i].Admit(n, &admission.Waiter{Call: func() { called = append(called, i) }}) {
				t.Fatalf("%d has memory", i)
			}
		}
		if s.Give(50); !slices.Equal(called, []int{1}) {
			t.Errorf("called %v at once, want 1", called)
		}
		s.Give(50)
		time.Sleep(125 * time.Millisecond)
		if synctest.Wait(); !slices.Equal(called, []int{1, 19}) {
			t.Errorf("called %v after a look, want 1 and 19", called)
		}
		keeps.End() // the next one has its part
		if want := []int{1, 19, 0}; !slices.Equal(called, want) {
			t.Errorf("called %v, want %v", called, want)
		}
		s.Give(400)
		for i := range tickets {
			tickets[i].End()
		}
		synctest.Wait()
		if b.Used() != 0 {
			t.Errorf("%d bytes are used in the end", b.Used())
		}
	})
}

// A wait for a Ticket ends with its connection, and the Ticket then has nothing.
func TestAwaitEndsWithItsConnection(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 1000}
	s := b.Join(at(1))
	has, waits, next := s.Ticket(0), s.Ticket(0), s.Ticket(0)
	has.Admit(-1, nil)
	done := make(chan struct{})
	close(done)
	if waits.Await(-1, nil, done) {
		t.Error("there is no memory")
	}
	waits.End()
	if has.End(); !next.Await(-1, nil, done) {
		t.Error("the Ticket that left has the memory")
	}
	next.End()
}

// A connection is stuck if much of its replies is not written and its peer takes less than 512
// KiB/s of the present write.
func TestStuckConnections(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tt := range []struct {
		kept, size int
		since      time.Time
		want       bool
	}{
		{64 << 10, 0, ago(time.Second / 2), true},
		{64<<10 - 1, 0, ago(time.Second / 2), false},
		{64 << 10, 256 << 10, ago(time.Second/2 - 1), false},
		{64 << 10, 256<<10 + 1, ago(time.Second - 1), false},
		{64 << 10, 256<<10 + 1, ago(time.Second), true},
		{1 << 30, 0, time.Time{}, false},
	} {
		if got := admission.Stuck(tt.kept, tt.size, tt.since, now); got != tt.want {
			t.Errorf("%d bytes, %d in this write for %v: %v, want %v", tt.kept, tt.size, now.Sub(tt.since), got, tt.want)
		}
	}
}

// The Budget looks as long as something waits: a handler that hangs has its part for a second.
func TestBudgetLooksUntilNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := admission.Budget{Most: 2000, Reply: 1000}
		hangs, waits := b.Join(at(1)).Ticket(0), b.Join(at(2)).Ticket(0)
		hangs.Admit(-1, nil)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		start := time.Now()
		if !waits.Await(-1, "owner", ctx.Done()) || time.Since(start) > 2*time.Second {
			t.Errorf("a Ticket waits %v for a handler that hangs", time.Since(start))
		}
		hangs.End()
		waits.End()
	})
}

// Bytes that a Ticket waited for, and that its share has by now, are taken once.
func TestBytesThatATicketWaitedForAreTakenOnce(t *testing.T) {
	b := admission.Budget{Most: 2000, Reply: 1000}
	s := b.Join(at(1))
	s.Take(400, nil)
	full := s.Ticket(0)
	full.Admit(-1, nil)
	ticket := s.Ticket(0)
	woken := 0
	if taken, later := ticket.Take(300, &admission.Waiter{Call: func() { woken++ }}); taken || !later {
		t.Fatalf("taken %t, later %t, want a wait", taken, later)
	}
	if s.Give(400); woken != 1 || b.Used() != 300 {
		t.Errorf("woken %d times, %d bytes are used, want 300", woken, b.Used())
	}
	if taken, _ := ticket.Take(300, nil); !taken || b.Used() != 300 {
		t.Errorf("taken %t, %d bytes are used, want 300", taken, b.Used())
	}
	ticket.End()
	full.End()
	if b.Used() != 0 || b.Left() != 1000 {
		t.Errorf("%d bytes are used in the end, %d are left", b.Used(), b.Left())
	}
	if s.Give(-1500); b.Left() != 0 {
		t.Errorf("%d bytes are left of 1000, and 1500 are taken", b.Left())
	}
}
