package tcp

import (
	"bytes"
	"sync"
)

// holding says which messages in the queue wait for flush.
type holding uint8

const (
	open      holding = iota // none
	heldLater                // all from the time on at which the queue is empty
	held                     // all
)

// hold is called by the goroutine that reads when it has records at hand: messages that are queued
// wait for flush, and leave together. Those that a flush before has left to a goroutine do not.
func (w *writer) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != open {
		return
	}
	w.held = held
	if w.writes && w.queue.first != nil {
		w.held = heldLater
	}
}

// flush is called before the goroutine that reads may wait. It runs the functions of Calls that are
// finished, and writes the messages that were held. If the system does not take all of them at
// once, a goroutine that can wait writes the rest: this one must read, or both ends could wait for
// each other to read.
func (w *writer) flush() {
	w.returned()
	w.mu.Lock()
	w.held = open
	mine := !w.writes && w.queue.first != nil
	w.writes = w.writes || mine
	w.mu.Unlock()
	if !mine {
		return
	}
	for w.take() {
		if !w.writeNow() {
			w.together = false
			w.wg.Add(1)
			go w.run()
			return
		}
		w.written(nil)
	}
}

// busy reports whether there are messages that are not written. mu must be held.
func (w *writer) busy() bool { return w.writes || w.queue.first != nil }

// writeNow writes a copy of the batch if it is short and the system takes it without a wait.
// Otherwise it returns false, and the batch has the bytes that remain.
func (w *writer) writeNow() bool {
	size := lengths(w.bufs)
	if !w.direct.ok() || size > directBytes {
		return false
	}
	copied := copies.Get().(*[]byte)
	defer copies.Put(copied)
	b := (*copied)[:0]
	for _, part := range w.bufs {
		b = append(b, part...)
	}
	n := w.direct.write(b)
	clear(w.bufs)
	w.bufs = w.bufs[:0]
	if n == size {
		return true
	}
	w.bufs = append(w.bufs, bytes.Clone(b[n:]))
	w.returnCalls()
	return false
}

// copies has memory for writeNow, which a connection that rests does not keep.
var copies = sync.Pool{New: func() any {
	b := make([]byte, 0, directBytes)
	return &b
}}

// directBytes is the size of the largest batch that is copied for a write without a wait.
const directBytes = 64 << 10
