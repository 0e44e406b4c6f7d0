package admission_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// reader has the handlers of one connection, and records what its Inline does.
type reader struct {
	admission.Inline
	mu       sync.Mutex
	warned   []uint32 // procedures
	replaced int
}

func newReader(b *admission.Blockers) *reader {
	r := new(reader)
	r.Blockers = b
	r.Warn = func(program, version, procedure uint32) {
		if program != 1 || version != 2 {
			panic("a warning of another program")
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.warned = append(r.warned, procedure)
	}
	r.Replace = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.replaced++
	}
	return r
}

// expect checks the calls of Warn and Replace.
func (r *reader) expect(t *testing.T, when string, replaced int, warned ...uint32) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced != replaced || !slices.Equal(r.warned, warned) {
		t.Errorf("%s: replaced %d times, and warned of %d; want %d and %d", when, r.replaced, r.warned, replaced, warned)
	}
}

// A handler that runs for two seconds blocks: it is reported once, and another goroutine reads.
// Handlers that come and go are not, however long that takes.
func TestHandlerThatBlocksIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b admission.Blockers
		r := newReader(&b)
		defer r.Forget()
		for range 10 {
			run := r.Begin(1, 2, 3)
			time.Sleep(900 * time.Millisecond)
			if !r.End(run) {
				t.Error("a handler of 0.9 s was replaced")
			}
		}
		time.Sleep(time.Minute)
		r.expect(t, "after short ones", 0)
		run := r.Begin(1, 2, 4)
		time.Sleep(999 * time.Millisecond)
		r.expect(t, "before a second is over", 0)
		time.Sleep(1100 * time.Millisecond)
		r.expect(t, "after two seconds", 1, 4)
		if !b.Has(1, 2, 4) || b.Has(1, 2, 3) || b.Has(1, 3, 4) || b.Has(2, 2, 4) {
			t.Error("the wrong procedures block")
		}
		next := r.Begin(1, 2, 5) // of the goroutine that reads now
		if r.End(run) {
			t.Error("the goroutine that was replaced continues")
		}
		if !r.End(next) {
			t.Error("the goroutine that reads does not continue")
		}
		again := r.Begin(1, 2, 4)
		time.Sleep(2100 * time.Millisecond)
		r.expect(t, "when it blocks again", 2, 4)
		if r.End(again) {
			t.Error("the goroutine that was replaced continues, the second time")
		}
	})
}

// A handler that begins just when the timer stops is looked at, too.
func TestEveryHandlerIsLookedAt(t *testing.T) {
	for at := 1800 * time.Millisecond; at < 2200*time.Millisecond; at += 10 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			var b admission.Blockers
			r := newReader(&b)
			defer r.Forget()
			r.End(r.Begin(1, 2, 3))
			time.Sleep(at)
			r.Begin(1, 2, 4)
			time.Sleep(2100 * time.Millisecond)
			r.expect(t, at.String(), 1, 4)
		})
	}
}

// A handler that has to wait is replaced once, and only while it runs where the Call was read.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b admission.Blockers
		r := newReader(&b)
		defer r.Forget()
		run := r.Begin(1, 2, 3)
		r.HandOver(run)
		r.HandOver(run)
		r.expect(t, "while it runs", 1)
		next := r.Begin(1, 2, 3)
		r.HandOver(run)
		if r.End(run) || !r.End(next) {
			t.Error("the wrong goroutine continues")
		}
		r.HandOver(next)
		r.expect(t, "after it has returned", 1)
		if b.Has(1, 2, 3) {
			t.Error("a procedure that has waited for the carrier blocks")
		}
	})
}

// Without Replace nothing else reads, and the procedure is reported.
func TestConnectionWithoutReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b admission.Blockers
		r := newReader(&b)
		defer r.Forget()
		r.Replace = nil
		run := r.Begin(1, 2, 3)
		time.Sleep(5 * time.Second)
		r.expect(t, "after five seconds", 0, 3)
		if !r.End(run) {
			t.Error("the goroutine does not continue")
		}
	})
}

// 64 handlers of a connection run in a row, and then others are read.
func TestOthersAreReadInTurn(t *testing.T) {
	var i admission.Inline
	for k := range 200 {
		if got, want := i.Turn(), k%64 == 63; got != want {
			t.Errorf("handler %d: the turn is over %t, want %t", k, got, want)
		}
	}
}
