package admission

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// quickBudget has 16 parts, four quick ones at most, and as much for shares.
func quickBudget() *Budget { return &Budget{Most: 32 * leastQuick, Reply: leastQuick} }

// from returns the Share of the source with a number.
func from(b *Budget, n byte) *Share {
	return b.Join(SourceAt(netip.AddrFrom4([4]byte{192, 0, 2, n})))
}

// A handler without a bound whose reply is short takes no lock: a quarter of the parts is for such
// handlers, until another one finds no part.
func TestAQuarterOfThePartsIsQuick(t *testing.T) {
	b := quickBudget()
	all := make([]Ticket, 20)
	for i := range all {
		all[i] = from(b, byte(i)).Ticket(0)
		has := all[i].Admit(-1, nil)
		quick, listed := all[i].quick, all[i].place.in != nil
		switch {
		case i < 4 && (!has || !quick || listed), i >= 4 && i < 16 && (!has || quick || !listed), i >= 16 && has:
			t.Errorf("Ticket %d: has a part %t, quick %t, listed %t", i, has, quick, listed)
		}
		if !all[i].Admit(-1, nil) != (i >= 16) {
			t.Errorf("Ticket %d is asked again, with another answer", i)
		}
		if b.quick.shut != (i >= 16) {
			t.Errorf("Ticket %d: shut %t", i, b.quick.shut)
		}
	}
	all[0].End()
	last := from(b, 99).Ticket(0)
	if !last.Admit(-1, nil) || last.quick || all[16].Admit(-1, nil) {
		t.Error("the part that a quick Ticket left is for one other")
	}
	for i := range all {
		all[i].End()
		if i < 15 && !b.quick.shut {
			t.Fatalf("open after the end of %d Tickets: others have parts", i)
		}
	}
	if last.End(); b.quick.shut || b.quick.state.Load() != 0 || b.Used() != 0 {
		t.Errorf("shut %t, %d Tickets are quick, %d bytes are used in the end", b.quick.shut, b.quick.state.Load(), b.Used())
	}
	if again := from(b, 1).Ticket(0); !again.Admit(-1, nil) || !again.quick {
		t.Error("no Ticket is quick any more")
	}
}

// A short reply leaves a Ticket its quick part. A longer one gives it back, and counts.
func TestALongReplyEndsAQuickPart(t *testing.T) {
	b := quickBudget()
	ticket := from(b, 1).Ticket(0)
	for n, used := range map[int]int64{0: 0, spare: 0, spare + 1: spare + 1} {
		ticket.Admit(-1, nil)
		if ticket.Reply(n); b.Used() != used || ticket.quick != (used == 0) || b.quick.state.Load() != int64(1-min(used, 1)) {
			t.Errorf("a reply of %d bytes: %d are used, quick %t, %d Tickets are", n, b.Used(), ticket.quick, b.quick.state.Load())
		}
		if ticket.End(); b.Used() != 0 || b.quick.state.Load() != 0 {
			t.Errorf("%d bytes are used in the end, %d Tickets are quick", b.Used(), b.quick.state.Load())
		}
	}
	// A Ticket with bytes keeps them until its end.
	s := from(b, 1)
	s.Take(100, nil)
	ticket = s.Ticket(100)
	ticket.Admit(-1, nil)
	if ticket.Reply(1); b.Used() != 100 {
		t.Errorf("%d bytes are used, want 100", b.Used())
	}
	if ticket.End(); b.Used() != 0 || b.quick.state.Load() != 0 {
		t.Errorf("%d bytes are used in the end, %d Tickets are quick", b.Used(), b.quick.state.Load())
	}
	// Where the largest reply is short, parts are not quick.
	b.Reply = leastQuick - 1
	if ticket = s.Ticket(0); !ticket.Admit(-1, nil) || ticket.quick {
		t.Error("a Ticket is quick, though its short reply is as long as a part")
	}
	ticket.End()
}

// A Ticket that waits for a part gets the quick part of another one, when that ends or has a long
// reply.
func TestAQuickPartGoesToOneThatWaits(t *testing.T) {
	for _, long := range []bool{false, true} {
		b := quickBudget()
		all := make([]Ticket, 16)
		for i := range all {
			all[i] = from(b, byte(i)).Ticket(0)
			all[i].Admit(-1, nil)
		}
		called := 0
		reads := from(b, 99)
		reads.reads.Store(true)
		waits := reads.Ticket(0)
		if waits.Admit(-1, &Waiter{Call: func() { called++ }}) {
			t.Fatal("there is a part too many")
		}
		if all[0].Reply(spare); called != 0 {
			t.Error("a short reply has no part more")
		}
		if long {
			all[1].Reply(spare + 1)
		} else {
			all[1].End()
		}
		if called != 1 || !waits.Admit(-1, nil) {
			t.Errorf("called %d times, want once", called)
		}
		for i := range all {
			all[i].End()
		}
		if waits.End(); b.Used() != 0 || b.quick.shut || b.quick.state.Load() != 0 {
			t.Errorf("%d bytes are used in the end, shut %t", b.Used(), b.quick.shut)
		}
	}
}

// No bytes of quick parts are taken, and bytes that are taken leave no part for a further Ticket.
func TestBytesOfTheReserveLeaveQuickPartsAlone(t *testing.T) {
	b := quickBudget()
	s := from(b, 1)
	s.Take(b.Most/4, nil) // all of its share
	quick, second, takes := s.Ticket(0), s.Ticket(0), s.Ticket(0)
	quick.Admit(-1, nil)
	second.Admit(-1, nil)
	if taken, _ := takes.Take(14*leastQuick+1, nil); taken {
		t.Error("the bytes of a quick part are taken")
	}
	if taken, _ := takes.Take(14*leastQuick, nil); !taken {
		t.Error("14 parts are left")
	}
	if further := s.Ticket(0); further.Admit(-1, nil) {
		t.Error("a further one has a part")
	}
	takes.End()
	second.End()
	if taken, _ := quick.Take(15*leastQuick, nil); !taken {
		t.Error("a Ticket may take what its own part leaves")
	}
	if quick.End(); b.excess != 0 || b.quick.state.Load() != 0 || b.quick.shut {
		t.Errorf("%d bytes of the reserve are used in the end, shut %t", b.excess, b.quick.shut)
	}
	reply := s.Ticket(0)
	if reply.Reply(10); !b.quick.shut {
		t.Error("a reply in the reserve leaves quick parts")
	}
	if reply.End(); b.quick.shut {
		t.Error("no Ticket is quick any more")
	}
}

// However Tickets of many goroutines come and go, no more have parts than there are, each that
// waits gets one, and nothing is left in the end.
func TestQuickPartsAreNotExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := quickBudget()
		var mu sync.Mutex
		var wg sync.WaitGroup
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		for i := range 32 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				share := from(b, byte(i%8))
				for range 100 {
					ticket := share.Ticket(0)
					if !ticket.Await(-1, "owner", nil) {
						t.Error("no part")
						return
					}
					count(1)
					time.Sleep(time.Duration(random.IntN(1000)))
					count(-1)
					ticket.Reply(random.IntN(2 * spare))
					time.Sleep(time.Duration(random.IntN(1000)))
					ticket.End()
				}
			})
		}
		wg.Wait()
		if most != 16 || b.Used() != 0 || b.quick.state.Load() != 0 || b.quick.shut || b.running.n != 0 {
			t.Errorf("%d had parts at a time, want 16; %d bytes are used in the end", most, b.Used())
		}
	})
}
