package admission

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shortBudget is quickBudget with room for its parts and four short replies.
func shortBudget() *Budget {
	b := quickBudget()
	b.Most += 2 * 4 * spare
	return b
}

// counts returns how many parts are quick, and how many short replies have spare bytes.
func counts(b *Budget) [2]int64 {
	v := b.quick.state.Load() &^ shutBit
	return [2]int64{v % shortUnit, v / shortUnit}
}

// crowd lets a Ticket find no quick part.
func crowd(b *Budget) {
	all := make([]Ticket, 5)
	for i := range all {
		all[i] = from(b, byte(i)).Ticket(0)
		all[i].Admit(-1, nil)
	}
	for i := range all {
		all[i].End()
	}
}

// A short reply has spare bytes without a lock, and leaves its part to others, once one has found
// no part. Where all such bytes are in use, it keeps the part.
func TestAShortReplyLeavesItsQuickPart(t *testing.T) {
	b := shortBudget()
	var first [4]Ticket
	for i := range first {
		first[i] = from(b, byte(i)).Ticket(0)
		first[i].Admit(-1, nil)
		first[i].Reply(1)
	}
	if counts(b) != [2]int64{4, 0} {
		t.Errorf("%v are quick and short, want 4 and 0: none lacks a part", counts(b))
	}
	crowd(b)
	for i := range first {
		first[i].End()
	}
	all := make([]Ticket, 6)
	for i := range all {
		all[i] = from(b, byte(i)).Ticket(0)
		if !all[i].Admit(-1, nil) || counts(b) != [2]int64{int64(max(1, i-3)), int64(min(i, 4))} {
			t.Fatalf("Ticket %d: %v are quick and short", i, counts(b))
		}
		all[i].Reply(spare)
		if want := [2]int64{int64(max(0, i-3)), int64(min(i+1, 4))}; b.Used() != 0 || counts(b) != want {
			t.Errorf("Ticket %d has replied: %d bytes are used, %v are quick and short, want %v", i, b.Used(), counts(b), want)
		}
	}
	for i := range all {
		if all[i].End(); b.Used() != 0 {
			t.Errorf("%d bytes are used after an end", b.Used())
		}
	}
	if counts(b) != [2]int64{} || b.quick.shut {
		t.Errorf("%v are quick and short in the end", counts(b))
	}
	// A Ticket with bytes keeps them until its end.
	s := from(b, 1)
	s.Take(100, nil)
	ticket := s.Ticket(100)
	ticket.Admit(-1, nil)
	if ticket.Reply(spare); b.Used() != 100 || counts(b) != [2]int64{0, 1} {
		t.Errorf("%d bytes are used, want 100; %v are quick and short", b.Used(), counts(b))
	}
	if ticket.End(); b.Used() != 0 || counts(b) != [2]int64{} {
		t.Errorf("%d bytes are used in the end, %v are quick and short", b.Used(), counts(b))
	}
}

// A handler with a low bound has such bytes from the start. A reply above its bound counts.
func TestALowBoundCostsNoLock(t *testing.T) {
	b := shortBudget()
	all := make([]Ticket, 6)
	for i := range all {
		all[i] = from(b, byte(i)).Ticket(0)
		bound := spare
		if i == 0 {
			bound++ // not low
		}
		if !all[i].Admit(bound, nil) || !all[i].Admit(bound, nil) {
			t.Fatal("there is no memory")
		}
		used := int64(spare + 1)
		if i == 5 {
			used += spare
		}
		if want := int64(min(i, 4)); counts(b) != [2]int64{0, want} || b.Used() != used {
			t.Errorf("Ticket %d: %v are quick and short, want %d; %d bytes are used, want %d", i, counts(b), want, b.Used(), used)
		}
	}
	if all[1].Reply(spare + 1); counts(b) != [2]int64{0, 3} || b.Used() != 3*spare+2 {
		t.Errorf("a reply above its bound: %v are quick and short, %d bytes are used", counts(b), b.Used())
	}
	for i := range all {
		all[i].End()
	}
	if counts(b) != [2]int64{} || b.Used() != 0 {
		t.Errorf("%v are quick and short, %d bytes are used in the end", counts(b), b.Used())
	}
	// Without a limit there are such bytes. Where the largest reply is short, there are not.
	b.Most = 0
	unlimited := from(b, 1).Ticket(0)
	if unlimited.Admit(1, nil); !unlimited.short {
		t.Error("without a limit, a Ticket costs a lock")
	}
	unlimited.End()
	b = &Budget{Most: 2*leastQuick + 4*spare, Reply: leastQuick - 1}
	if last := from(b, 1).Ticket(0); !last.Admit(1, nil) || last.short {
		t.Error("a Ticket has spare bytes, though the reserve is as short as a part")
	}
}

// Bytes of short replies are not taken by others, none are taken while others wait, and the end of
// a short reply wakes one that waits.
func TestBytesOfShortRepliesAreTheirs(t *testing.T) {
	b := shortBudget()
	s := from(b, 1)
	s.Take(b.Most/4, nil) // all of its share
	first, second, takes, alone := s.Ticket(0), s.Ticket(0), s.Ticket(0), s.Ticket(0)
	first.Admit(1, nil)
	second.Admit(-1, nil)
	if taken, _ := takes.Take(15*leastQuick+3*spare+1, nil); taken {
		t.Error("bytes of a short reply are taken")
	}
	if taken, _ := takes.Take(15*leastQuick+3*spare, nil); !taken {
		t.Error("15 parts and the bytes of three short replies are left")
	}
	if third := from(b, 2).Ticket(0); !third.Admit(1, nil) || third.short {
		t.Error("a Ticket has bytes that are taken")
	}
	second.End()
	takes.End()
	woken := 0
	n := int(b.largest())
	if taken, later := alone.Take(n, &Waiter{Call: func() { woken++ }}); taken || !later {
		t.Error("bytes of a short reply are taken")
	}
	if first.End(); woken != 1 {
		t.Errorf("woken %d times at the end of a short reply, want once", woken)
	}
	if taken, _ := alone.Take(n, nil); !taken {
		t.Error("the bytes are not taken")
	}
	if alone.End(); b.excess != 0 || b.quick.shut || counts(b) != [2]int64{} {
		t.Errorf("%d bytes of the reserve are used in the end, shut %t", b.excess, b.quick.shut)
	}
}

// However Tickets of many goroutines come and go, the reserve is not exceeded, and nothing is left
// in the end.
func TestShortRepliesAreNotTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shortBudget()
		var mu sync.Mutex
		var wg sync.WaitGroup
		running, short, shorts := 0, 0, 0
		most := 0 // bytes
		count := func(run, reply int) {
			mu.Lock()
			defer mu.Unlock()
			running, short = running+run, short+reply
			shorts = max(shorts, short)
			most = max(most, running*b.Reply+short*spare)
		}
		for i := range 12 { // few wait
			wg.Go(func() {
				random := rand.New(rand.NewPCG(2, uint64(i)))
				share := from(b, byte(i%8))
				for range 100 {
					ticket := share.Ticket(0)
					if !ticket.Await(-1, "owner", nil) {
						t.Error("no part")
						return
					}
					count(1, 0)
					time.Sleep(time.Duration(random.IntN(1000)))
					count(-1, 0)
					ticket.Reply(random.IntN(2 * spare))
					kept, has := 0, 0 // a reply that keeps its part
					switch {
					case ticket.short:
						has = 1
					case ticket.quick:
						kept = 1
					}
					count(kept, has)
					time.Sleep(time.Duration(random.IntN(1000)))
					count(-kept, -has)
					ticket.End()
				}
			})
		}
		wg.Wait()
		if most > b.Most/2 || shorts != 4 || b.Used() != 0 || b.quick.state.Load() != 0 || b.running.n != 0 {
			t.Errorf("of %d bytes of the reserve, %d were in use, %d short replies; %d bytes are used in the end", b.Most/2, most, shorts, b.Used())
		}
	})
}
