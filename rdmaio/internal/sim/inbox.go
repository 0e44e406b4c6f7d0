package sim

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// inbox takes work from the product's goroutines, such as a Call that the reply cache has held
// back. Only the loop of the simulation does the work: the goroutines are in one bubble with it,
// have the same clock, and the loop runs when all of them wait. Work of one instant is ordered by
// its number, so that the same seed gives the same run.
//
//	goroutine ──put──> inbox ──collect──> queue ──next──> done by the loop
//	                     └──knock──> sleep returns early
type inbox struct {
	knock chan struct{} // has an element while there may be work

	mu   sync.Mutex
	work []parcel
}

// parcel is work for the loop.
type parcel struct {
	number uint64
	name   string
	do     func()
}

func newInbox() inbox { return inbox{knock: make(chan struct{}, 1)} }

// put adds work. Any goroutine may call it.
func (b *inbox) put(number uint64, name string, do func()) {
	b.mu.Lock()
	b.work = append(b.work, parcel{number, name, do})
	b.mu.Unlock()
	select {
	case b.knock <- struct{}{}:
	default:
	}
}

// collect waits until all goroutines wait, and schedules the work that they have put for now.
func (b *inbox) collect(c *clock) {
	synctest.Wait()
	b.mu.Lock()
	work := b.work
	b.work = nil
	b.mu.Unlock()
	select {
	case <-b.knock:
	default:
	}
	slices.SortStableFunc(work, func(x, y parcel) int { return cmp.Compare(x.number, y.number) })
	for _, p := range work {
		c.after(0, p.name, p.do)
	}
}

// sleep lets the time pass until at, or until a goroutine has put something: then it returns true.
func (b *inbox) sleep(c *clock, at time.Duration) (early bool) {
	if at <= c.now {
		return false
	}
	timer := time.NewTimer(at - c.now)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.knock:
		early = true
	}
	c.now = time.Since(c.start)
	return early
}
