package admission

import (
	"sync"
	"sync/atomic"
	"time"
)

// Inline watches the handlers that run on the goroutine that reads a connection, one at a time. One
// that runs for longer than a second or two blocks, although it must not. Then the procedure is
// reported once, and runs at a place from then on (Blockers), and another goroutine reads:
//
//	rests ──Begin──> runs ──End──> rests          the goroutine reads on
//	                  │
//	                  └─HandOver, or a look──> replaced ──End──> false: another goroutine reads
//
// A timer looks once a second, as long as handlers run now and then. So a handler costs no timer.
// One that runs when it looks is looked at ten more times within the next second, or later: looks
// are the clock for it. So a process that gets no processor for a time, in which the handler does
// not run either, has one look for all of it, and blames no procedure.
// Begin and Turn belong to the goroutine that reads. Begin's result belongs to the handler. The
// zero Inline needs Blockers and Warn.
type Inline struct {
	Blockers *Blockers

	// Warn is called for a procedure that blocks, once for each of Blockers.
	Warn func(program, version, procedure uint32)

	// Replace makes another goroutine read. It must not block. If nil, nothing reads the connection
	// while a handler blocks.
	Replace func()
	// None of these is changed after the first use.

	begun Run // by the goroutine that reads
	row   int // handlers since the last Turn that returned true

	state     atomic.Uint64 // the last Run, and stateRuns or stateReplaced
	number    atomic.Uint64 // of the program, and the procedure
	version   atomic.Uint32
	watched   atomic.Bool // the timer runs
	mu        sync.Mutex
	timer     *time.Timer // nil before the first handler
	seen      uint64      // state at the last look
	looks     int         // further ones at seen
	forgotten bool        // Forget was called
}

// Run identifies the run of a handler. It is never 0.
type Run uint64

const (
	stateRuns     = 1
	stateReplaced = 2
	stateBits     = 2
)

// inlineLook is the time between two looks. A handler that runs during one of them, and during
// blockLooks more with a tenth of that time in between, blocks.
const (
	inlineLook = time.Second
	blockLooks = 10
)

// inRow is the number of handlers that a connection runs before others are read.
const inRow = 64

// Begin is called before a handler runs.
func (i *Inline) Begin(program, version, procedure uint32) Run {
	i.begun++
	run := i.begun
	i.number.Store(uint64(program)<<32 | uint64(procedure))
	i.version.Store(version)
	i.state.Store(uint64(run)<<stateBits | stateRuns)
	if !i.watched.Load() && i.watched.CompareAndSwap(false, true) {
		i.watch(inlineLook)
	}
	return run
}

// End is called when the handler has returned. It returns false if another goroutine reads the
// connection by now: then this one must not.
func (i *Inline) End(run Run) bool {
	at := uint64(run) << stateBits
	return i.state.CompareAndSwap(at|stateRuns, at)
}

// HandOver is called when a handler has to wait: another goroutine reads from now on, if the
// handler still runs where the connection was read.
func (i *Inline) HandOver(run Run) {
	at := uint64(run) << stateBits
	if i.Replace != nil && i.state.CompareAndSwap(at|stateRuns, at|stateReplaced) {
		i.Replace()
	}
}

// Turn is called after a handler, and reports whether so many have run in a row that others must be
// read: then the goroutine sends the replies that it has, and lets other goroutines run.
func (i *Inline) Turn() bool {
	if i.row++; i.row < inRow {
		return false
	}
	i.row = 0
	return true
}

// watch starts the timer.
func (i *Inline) watch(next time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.forgotten:
	case i.timer == nil:
		i.timer = time.AfterFunc(next, i.look)
	default:
		i.timer.Reset(next)
	}
}

// look is called by the timer.
func (i *Inline) look() {
	// Before state: a handler that begins now is seen, or starts the timer.
	i.watched.Store(false)
	now := i.state.Load()
	i.mu.Lock()
	again := now != i.seen
	if i.looks++; again {
		i.seen, i.looks = now, 0
	}
	blocks := i.looks == blockLooks
	i.mu.Unlock()
	next := inlineLook
	if now&stateRuns != 0 {
		again, next = !blocks, inlineLook/blockLooks
	}
	if !again && now&stateRuns != 0 {
		number := i.number.Load()
		program, version, procedure := uint32(number>>32), i.version.Load(), uint32(number)
		if again = i.state.Load() != now; !again {
			if i.Blockers.add(program, version, procedure) {
				i.Warn(program, version, procedure)
			}
			i.HandOver(Run(now >> stateBits))
		}
	}
	if again && i.watched.CompareAndSwap(false, true) {
		i.watch(next)
	}
}

// Forget stops the timer. The connection is down, and no handler runs where it was read.
func (i *Inline) Forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgotten = true
	if i.timer != nil {
		i.timer.Stop()
	}
}

// Blockers are the procedures of a server that have blocked although they must not.
type Blockers struct {
	some  atomic.Bool
	mu    sync.Mutex
	found map[procedure]bool
}

type procedure struct{ program, version, number uint32 }

// mostBlockers is the number of procedures that are remembered at most.
const mostBlockers = 1024

// Has reports whether a procedure has blocked.
func (b *Blockers) Has(program, version, number uint32) bool {
	if !b.some.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.found[procedure{program, version, number}] || len(b.found) >= mostBlockers
}

// add adds a procedure that blocks now, and reports whether it was not known.
func (b *Blockers) add(program, version, number uint32) bool {
	p := procedure{program, version, number}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found[p] || len(b.found) >= mostBlockers {
		return false
	}
	if b.found == nil {
		b.found = make(map[procedure]bool)
	}
	b.found[p] = true
	b.some.Store(true)
	return true
}
