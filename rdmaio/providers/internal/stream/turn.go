package stream

import (
	"sync/atomic"
	"time"
)

// turn decides which goroutine handles the input of a connection: the reader goroutine, or a caller
// of Progress. Only the goroutine that has the turn uses the type reader, and the fields
// of Conn that belong to the reader.
//
//	         offer: callers have asked often
//	reader -----------------------------------> free -------------+
//	  ^  ^                                      |  ^              | take: a caller
//	  |  |  a moment without callers, the end,  |  |              v
//	  |  +----- or resume: a signal ------------+  +-- leave -- caller
//	  |                                                         |  ^  |
//	  |   handBack, with a signal: input is for the reader,     |  |  | await: no input is at hand
//	  +---- the connection closes, or the turn was recalled ----+  |  v
//	                                                             waiting
//
//	reader   The reader goroutine handles input, and waits for it.
//	free     No goroutine does. The reader is in offer, and looks after each moment.
//	caller   A caller handles input. It waits for nothing.
//	waiting  A caller waits for input, between two frames. wake and recall interrupt that.
//
// A turn that a caller has for a whole moment is recalled. So a caller waits for input for two
// moments at most, and input waits as long if no caller comes back.
//
// Every change from another state to reader, by another goroutine than the reader, comes with one
// signal, for which the reader waits.
type turn struct {
	state    atomic.Uint32 // a holder
	takes    atomic.Uint32 // calls of take that succeeded
	recalled atomic.Bool   // the reader wants the turn back

	// When callers may have the turn.
	wanted atomic.Bool   // the reader shall offer it
	streak atomic.Int32  // calls of ask, each soon after the one before
	asked  atomic.Int64  // time of the last, after start
	start  time.Time     // set once
	moment time.Duration // the same
	back   chan struct{} // capacity 1: the signals
	err    error         // of a caller that handed the turn back; for the reader
}

// holder is a state of a turn.
const (
	turnReader uint32 = iota
	turnFree
	turnCaller
	turnWaiting
)

const (
	moment     = time.Millisecond // see turn
	wantStreak = 4                // calls of ask before the reader offers the turn
	backOff    = 64               // further ones after a turn that was handed back
)

func newTurn() turn {
	return turn{back: make(chan struct{}, 1), start: time.Now(), moment: moment}
}

// take gives the turn to the caller if it is free. If not, it counts as a request for later ones.
func (t *turn) take() bool {
	if !t.state.CompareAndSwap(turnFree, turnCaller) {
		t.ask(time.Since(t.start))
		return false
	}
	t.takes.Add(1)
	t.recalled.Store(false)
	return true
}

// ask makes the reader offer the turn if callers have asked for it in quick succession. now is the
// time after start.
func (t *turn) ask(now time.Duration) {
	soon := now-time.Duration(t.asked.Swap(int64(now))) < t.moment
	switch {
	case !soon:
		t.streak.Store(min(t.streak.Load(), 0))
	case t.streak.Add(1) >= wantStreak:
		t.streak.Store(0)
		t.wanted.Store(true)
	}
}

// await and awaited enclose a wait of the caller for input. It must look for its reasons to leave
// after await.
func (t *turn) await()   { t.state.Store(turnWaiting) }
func (t *turn) awaited() { t.state.Store(turnCaller) }

// isWaiting reports whether a caller waits for input, or is about to.
func (t *turn) isWaiting() bool { return t.state.Load() == turnWaiting }

// leave frees the turn of the caller. No input must be at hand.
func (t *turn) leave() { t.state.Store(turnFree) }

// handBack gives the turn of the caller to the reader. err is the error with which the reader
// continues, or nil.
func (t *turn) handBack(err error) {
	t.err = err
	t.streak.Store(-backOff)
	t.state.Store(turnReader)
	t.back <- struct{}{}
}

// resume gives a free turn to the reader. It forgets the requests for it, too.
func (t *turn) resume() {
	if t.state.CompareAndSwap(turnFree, turnReader) {
		t.back <- struct{}{}
	}
	if t.streak.Load() > 0 || t.wanted.Load() {
		t.streak.Store(0)
		t.wanted.Store(false)
	}
}

// isWanted reports whether the reader shall offer the turn when it has no input at hand.
func (t *turn) isWanted() bool { return t.wanted.Load() }

// offer frees the turn of the reader and returns when the reader has it again. ended is closed at
// the end of the connection. interrupt interrupts a caller that waits for input. The end does so
// without it.
func (t *turn) offer(ended <-chan struct{}, interrupt func()) error {
	t.wanted.Store(false)
	t.state.Store(turnFree)
	tick := time.NewTimer(t.moment)
	defer tick.Stop()
	for takes := t.takes.Load(); ; tick.Reset(t.moment) {
		select {
		case <-t.back:
			err := t.err
			t.err = nil
			return err
		case <-ended:
			ended = nil
			if t.state.CompareAndSwap(turnFree, turnReader) {
				return nil
			}
			continue
		case <-tick.C:
		}
		switch now := t.takes.Load(); {
		case now != takes:
			takes = now
		case t.state.CompareAndSwap(turnFree, turnReader):
			return nil
		case !t.recalled.Swap(true):
			interrupt()
		}
	}
}
