package rdmaio

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// row runs the marked procedures of a connection (oncrpc.NonBlocker) one after the other, on a
// goroutine that has one of the server's places:
//
//	deliver ──add──> row ──> a place ──> runs ──next──> runs ──next──> empty: the place is free
//	                                      │
//	                                      └─ waits or blocks ──> the rest has another place
//
// They do not run where their Calls are read, as they do over TCP: that goroutine is the
// provider's, or of a caller that holds locks while it posts.
type row struct {
	answerer *answerer
	inline   admission.Inline
	waiting  atomic.Int32 // Requests in the list

	mu    sync.Mutex
	first *request // linked by inRow
	last  *request
	runs  bool // a Request that was in the list runs, or waits for a place
}

// enrow appends a Request to the row, which the first one makes. The runner of the engine calls
// it.
func (a *answerer) enrow(r *request) {
	w := a.row.Load()
	if w == nil {
		w = &row{answerer: a}
		w.inline.Blockers, w.inline.Warn = &a.shared.blocks, a.set.warnBlocked
		w.inline.Replace = w.pass
		a.row.Store(w)
	}
	w.add(r)
}

// warnBlocked logs that a procedure blocks that must not.
func (s *settings) warnBlocked(program, version, procedure uint32) {
	of := &oncrpc.Program{Number: program, Version: version}
	s.faults.Warn("rdmaio: a procedure blocks although it is marked as one that does not (oncrpc.NonBlocker): from now on it has a goroutine for each Call",
		"call", of.Describe(procedure))
}

// takes reports whether a Request is for the row: its procedure is marked, and has not blocked, and
// no earlier Request waits for a place.
func (a *answerer) takes(r *request) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // the handler panics again where that is served
		}
	}()
	if a.set.NonBlocking || a.requests.Waiting() {
		return false
	}
	prog, vers, proc, _ := oncrpc.Procedure(r.Message)
	return oncrpc.NonBlocking(r.handler, prog, vers, proc) && !a.shared.blocks.Has(prog, vers, proc)
}

// add appends a Request.
func (w *row) add(r *request) {
	w.mu.Lock()
	if w.last == nil {
		w.first = r
	} else {
		w.last.inRow = r
	}
	w.last = r
	w.waiting.Add(1)
	idle := !w.runs
	w.mu.Unlock()
	if idle {
		w.pass()
	}
}

// next removes and returns the first Request. In an empty row nothing runs any more.
func (w *row) next() *request {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.first
	if w.runs = r != nil; !w.runs {
		return nil
	}
	if w.first = r.inRow; w.first == nil {
		w.last = nil
	}
	r.inRow = nil
	w.waiting.Add(-1)
	return r
}

// pass lets the next Request, and those after it, run at a place.
func (w *row) pass() {
	if r := w.next(); r != nil {
		r.marked = true
		w.answerer.start(r)
	}
}

// run runs a Request, and those after it.
func (w *row) run(r *request) {
	var run admission.Run
	done := false
	defer func() {
		if !done && w.inline.End(run) { // the handler has exited the goroutine
			w.pass()
		}
	}()
	for ; r != nil; r = w.next() {
		prog, vers, proc, _ := oncrpc.Procedure(r.Message)
		run = w.inline.Begin(prog, vers, proc)
		r.here = run
		w.answerer.handle(r, true)
		if !w.inline.End(run) {
			break // another goroutine runs the others
		}
		if w.inline.Turn() {
			runtime.Gosched()
		}
	}
	done = true
}

// drop drops the Requests that have no place, because the connection is down.
func (w *row) drop() {
	for r := w.next(); r != nil; r = w.next() {
		r.Request.Drop(nil)
	}
}
