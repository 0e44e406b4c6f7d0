package stream

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func openTurn() *turn {
	t := newTurn()
	return &t
}

// Callers get the turn when they have asked in quick succession, and no second Call came between.
func TestTurnAsk(t *testing.T) {
	const soon, late = moment / 2, 2 * moment
	for _, c := range []struct {
		name  string
		steps []time.Duration // between calls of ask; 0 is a resume
		want  bool
	}{
		{"one", []time.Duration{late}, false},
		{"in quick succession", []time.Duration{late, soon, soon, soon, soon}, true},
		{"too few", []time.Duration{late, soon, soon, soon}, false},
		{"with a pause", []time.Duration{late, soon, soon, late, soon, soon}, false},
		{"others come between", []time.Duration{late, soon, soon, soon, 0, soon}, false},
		{"others come after", []time.Duration{late, soon, soon, soon, soon, 0}, false},
	} {
		turn, now := openTurn(), time.Duration(0)
		for _, d := range c.steps {
			if now += d; d == 0 {
				turn.resume()
			} else {
				turn.ask(now)
			}
		}
		if got := turn.isWanted(); got != c.want {
			t.Errorf("%s: wanted is %v, want %v", c.name, got, c.want)
		}
	}
}

// A turn that was handed back is not offered again soon.
func TestTurnBackOff(t *testing.T) {
	turn := openTurn()
	turn.state.Store(turnFree)
	if !turn.take() {
		t.Fatal("a free turn is not given")
	}
	turn.handBack(nil)
	n := 0
	for now := time.Duration(0); !turn.isWanted(); n++ {
		turn.ask(now)
		now += moment / 2
	}
	if n < backOff+wantStreak {
		t.Errorf("wanted after %d calls, want at least %d", n, backOff+wantStreak)
	}
}

// offering is a reader in offer.
type offering struct {
	*turn
	ended      chan struct{}
	back       chan error // offer has returned
	interrupts atomic.Int32
}

func newOffering() *offering {
	o := &offering{turn: openTurn(), ended: make(chan struct{}), back: make(chan error, 1)}
	go func() { o.back <- o.offer(o.ended, func() { o.interrupts.Add(1) }) }()
	synctest.Wait()
	return o
}

func (o *offering) isBack() bool {
	synctest.Wait()
	return len(o.back) == 1
}

// The reader gets the turn back when no caller comes for a moment, when it is resumed, and when
// the connection closes; from a caller when that hands it back, or has it too long.
func TestTurnReturns(t *testing.T) {
	fault := errors.New("fault")
	for _, c := range []struct {
		name string
		run  func(t *testing.T, o *offering) (want error)
	}{
		{"no caller comes", func(t *testing.T, o *offering) error {
			time.Sleep(moment)
			return nil
		}},
		{"resume", func(t *testing.T, o *offering) error {
			o.resume()
			o.resume() // has no effect
			return nil
		}},
		{"the end", func(t *testing.T, o *offering) error {
			close(o.ended)
			return nil
		}},
		{"the end while a caller has it", func(t *testing.T, o *offering) error {
			o.take()
			close(o.ended)
			if o.isBack() {
				t.Error("two have the turn")
			}
			o.handBack(fault)
			return fault
		}},
		{"the end, and the caller leaves", func(t *testing.T, o *offering) error {
			o.take()
			close(o.ended)
			o.leave()
			time.Sleep(2 * moment)
			return nil
		}},
		{"callers come and go", func(t *testing.T, o *offering) error {
			for range 20 {
				if !o.take() {
					t.Fatal("the turn is not given")
				}
				if o.take() {
					t.Fatal("two have the turn")
				}
				o.resume() // has no effect: a caller has it
				time.Sleep(moment / 2)
				o.leave()
			}
			if o.isBack() || o.interrupts.Load() > 0 {
				t.Errorf("the reader is back, or has interrupted %d times", o.interrupts.Load())
			}
			time.Sleep(2 * moment)
			return nil
		}},
		{"a caller has it too long", func(t *testing.T, o *offering) error {
			o.take()
			o.await()
			time.Sleep(10 * moment)
			if !o.recalled.Load() || o.interrupts.Load() != 1 {
				t.Errorf("recalled is %v, after %d interrupts, want one", o.recalled.Load(), o.interrupts.Load())
			}
			if o.isBack() {
				t.Error("two have the turn")
			}
			o.awaited()
			o.handBack(fault)
			return fault
		}},
		{"an earlier recall", func(t *testing.T, o *offering) error {
			o.recalled.Store(true)
			o.take()
			if o.recalled.Load() {
				t.Error("a caller is recalled because of one before it")
			}
			o.leave()
			time.Sleep(2 * moment)
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffering()
				want := c.run(t, o)
				if !o.isBack() {
					t.Fatal("the reader does not have the turn back")
				}
				if err := <-o.back; err != want {
					t.Errorf("it continues with %v, want %v", err, want)
				}
				if o.state.Load() != turnReader || len(o.turn.back) != 0 || o.take() {
					t.Errorf("state %d with %d signals", o.state.Load(), len(o.turn.back))
				}
			})
		})
	}
}

// One goroutine has the turn at any time, and the reader always gets it back.
func TestTurnRace(t *testing.T) {
	turn := openTurn()
	var holder atomic.Int32
	hold := func() {
		if holder.Add(1) != 1 {
			t.Error("two have the turn")
		}
		runtime.Gosched()
		holder.Add(-1)
	}
	ended, stop := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if !turn.take() {
					runtime.Gosched()
					continue
				}
				hold()
				if n%3 == 0 || turn.recalled.Load() {
					turn.handBack(nil)
				} else {
					turn.leave()
				}
			}
		})
	}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				turn.resume()
				runtime.Gosched()
			}
		}
	})
	offers := 2000
	if testing.Short() {
		offers = 200
	}
	for range offers {
		hold()
		if err := turn.offer(ended, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if turn.takes.Load() == 0 {
		t.Error("no caller had the turn")
	}
}
