package nfs4

import (
	"context"
	"math/bits"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
)

// slots is the slot table of a session's fore channel (RFC 8881 §2.10.6.1). A slot has one COMPOUND
// at a time:
//
//	free ──take──> busy ──give, with its next sequence ID──> free
//
// A COMPOUND takes the lowest free slot, so that the highest one in use says how many are needed.
type slots struct {
	mu      sync.Mutex
	seq     []nfs42.SequenceID // by slot: of its next COMPOUND
	busy    []uint64           // a bit for each slot
	used    int                // bits that are set
	limit   int                // slots that the server wants to be used, at most len(seq)
	waiting []chan struct{}    // callers of take, first come first
	changed chan struct{}      // closed by the next give, for quiet; nil if no callback waits
	ended   chan struct{}      // closed by end: the session is lost
}

// newSlots returns a table of n slots, whose sequence IDs begin with 1.
func newSlots(n int) *slots {
	t := &slots{seq: make([]nfs42.SequenceID, n), busy: make([]uint64, (n+63)/64), limit: n, ended: make(chan struct{})}
	for i := range t.seq {
		t.seq[i] = 1
	}
	return t
}

// take returns a free slot, its sequence ID, and the highest slot in use. It blocks until there is
// one, ctx is done, or the session is lost; then ok is false.
func (t *slots) take(ctx context.Context) (slot nfs42.SlotID, seq nfs42.SequenceID, highest nfs42.SlotID, ok bool) {
	for queued := false; ; queued = true {
		t.mu.Lock()
		if queued || len(t.waiting) == 0 {
			if slot, seq, highest, ok = t.free(); ok {
				t.mu.Unlock()
				return slot, seq, highest, true
			}
		}
		turn := make(chan struct{})
		if queued { // it was its turn, and the limit fell
			t.waiting = append([]chan struct{}{turn}, t.waiting...)
		} else {
			t.waiting = append(t.waiting, turn)
		}
		t.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			t.forget(turn)
			return 0, 0, 0, false
		case <-t.ended:
			return 0, 0, 0, false
		}
	}
}

// try is take for a caller that does not wait.
func (t *slots) try() (slot nfs42.SlotID, seq nfs42.SequenceID, highest nfs42.SlotID, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) > 0 {
		return 0, 0, 0, false
	}
	return t.free()
}

// free takes the lowest free slot, if there is one. t.mu must be held.
func (t *slots) free() (slot nfs42.SlotID, seq nfs42.SequenceID, highest nfs42.SlotID, ok bool) {
	if t.used >= t.limit {
		return 0, 0, 0, false
	}
	i := t.lowest()
	if i >= t.limit {
		return 0, 0, 0, false
	}
	t.busy[i/64] |= 1 << (i % 64)
	t.used++
	return nfs42.SlotID(i), t.seq[i], t.highest(), true
}

// lowest returns the lowest free slot. t.mu must be held.
func (t *slots) lowest() int {
	for w, word := range t.busy {
		if free := bits.TrailingZeros64(^word); free < 64 {
			return w*64 + free
		}
	}
	return len(t.seq)
}

// highest returns the highest busy slot. t.mu must be held.
func (t *slots) highest() nfs42.SlotID {
	for w := len(t.busy) - 1; w >= 0; w-- {
		if t.busy[w] != 0 {
			return nfs42.SlotID(w*64 + bits.Len64(t.busy[w]) - 1)
		}
	}
	return 0
}

// give frees a slot. consumed says that the server has taken its sequence ID.
func (t *slots) give(slot nfs42.SlotID, consumed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if consumed {
		t.seq[slot]++ // it wraps around to 0 (RFC 8881 §2.10.6.1)
	}
	t.busy[slot/64] &^= 1 << (slot % 64)
	t.used--
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	t.wake()
}

// wake lets callers of take try again, one for each slot that may be free. t.mu must be held.
func (t *slots) wake() {
	for n := t.limit - t.used; n > 0 && len(t.waiting) > 0; n-- {
		close(t.waiting[0])
		t.waiting = t.waiting[1:]
	}
}

// forget removes a caller of take. If it was its turn, the next one has it.
func (t *slots) forget(turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, w := range t.waiting {
		if w == turn {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			return
		}
	}
	t.wake()
}

// target sets the highest slot that the server wants to be used.
func (t *slots) target(highest nfs42.SlotID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = int(min(uint64(highest)+1, uint64(len(t.seq))))
	t.wake()
}

// quiet blocks until a COMPOUND is not in flight. It reports false if ctx was done before.
func (t *slots) quiet(ctx context.Context, slot nfs42.SlotID, seq nfs42.SequenceID) bool {
	for {
		t.mu.Lock()
		if uint64(slot) >= uint64(len(t.seq)) || t.busy[slot/64]&(1<<(slot%64)) == 0 || t.seq[slot] != seq {
			t.mu.Unlock()
			return true
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// drained blocks until no COMPOUND is in flight, or ctx is done.
func (t *slots) drained(ctx context.Context) {
	for {
		t.mu.Lock()
		if t.used == 0 {
			t.mu.Unlock()
			return
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// end makes all callers of take return. It is called once.
func (t *slots) end() { close(t.ended) }
