package tcp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
)

// Limits for a batch of messages.
const (
	batchBytes    = 256 << 10 // in one write
	batchMessages = 256
)

// writer is the sending side of a connection. Whoever puts a message into an empty queue starts a
// goroutine, which writes until the queue is empty. Messages that are queued during a write are
// written together by the next one. If there are other Calls or Requests in progress, the goroutine
// first lets others run: without that, nearly every message would need a separate write.
//
// While the goroutine that reads has records at hand, messages are held, and before it waits it
// writes them all by itself, as far as the system takes them at once (flush). What it leaves to a
// goroutine that writes is written, although further messages are held.
//
//	           start                     take: the queue is empty
//	resting ──────────> writes ────────────────────────────────────> resting
//	 │  ▲ flush:         │  ▲ the rest is copied, or made records      │  ▲
//	 v  │ nothing is     │  │                                     hold │  │ flush
//	held┘ queued         v  │ a Call of the batch is cancelled         v  │
//	                    hurry                                         held┘
//
// No goroutine writes without writes set. When broken is set, the connection fails; farewell is the
// deadline of its last write.
type writer struct {
	nc       net.Conn
	direct   direct          // of nc, if it is a socket
	tls      *tlsstream.Conn // nc, if it is one
	run      func()          // Conn.write, bound once
	returned func()          // caller.deliver: runs the functions of Calls that are over
	timeout  time.Duration   // Config.SendTimeout
	vector   bool            // nc takes a list of slices without copying

	// Others are likely to queue messages now, to go in the same write. Set before run starts.
	together bool

	// Guarded by mu.
	writes   bool    // a goroutine writes
	hurry    bool    // its write was interrupted
	held     holding // no goroutine is started: the one that reads calls flush
	queue    queue
	broken   error     // of a write that has failed
	farewell time.Time // when the last write must end; zero: the connection is up
	began    time.Time // when the write in progress began; zero: no write is

	// Of the connection.
	mu   *sync.Mutex
	wake *sync.Cond
	wg   *sync.WaitGroup

	// Only the running goroutine uses these.
	batch    []*message
	bufs     [][]byte
	size     int // of the messages
	part     [][]byte
	vec      net.Buffers
	flat     []byte
	deadline time.Time
}

// enqueue puts a message into the queue. c.mu must be held, and the connection must be up.
func (c *Conn) enqueue(m *message) {
	c.out.queue.push(m)
	if !c.out.writes && c.out.held == open {
		c.startWriter()
	}
}

// startWriter starts the goroutine that writes. c.mu must be held.
func (c *Conn) startWriter() { c.out.start(c.calls.Len()+c.requests > 1) }

// start starts the goroutine that writes. mu must be held.
func (w *writer) start(together bool) {
	w.writes, w.together = true, together
	w.wg.Add(1)
	go w.run()
}

// write writes the queue.
func (c *Conn) write() {
	defer c.wg.Done()
	if c.out.together {
		runtime.Gosched()
	}
	for len(c.out.bufs) > 0 || c.out.take() { // flush may have left bytes
		err := c.out.writeAll()
		if err != nil { // before written: a Request that waits for room must not be served
			c.mu.Lock()
			c.out.broken = err
			c.wake.Broadcast()
			c.mu.Unlock()
		}
		c.out.written(err)
		if err != nil {
			if tlsstream.Closed(err) {
				c.awaitReason()
			}
			c.fail(c.set.sendError(err))
		}
	}
}

// awaitReason waits until the goroutine that reads has found out why the peer closed the
// connection, which the last bytes of the peer may say.
func (c *Conn) awaitReason() {
	t := time.NewTimer(reasonTime)
	defer t.Stop()
	select {
	case <-c.ctx.Done():
	case <-t.C: // the goroutine waits for something else
	}
}

// reasonTime is the longest time to wait for the reason why a write failed.
const reasonTime = time.Second

// sendError returns the reason why a connection is lost after a write has failed.
func (s *settings) sendError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: it read nothing for Config.SendTimeout (%v)", ErrTimeout, s.SendTimeout)
	}
	if deadpeer.Gone(err) {
		return s.vanished(err)
	}
	return fmt.Errorf("tcp: send: %w", err)
}

// take makes the batch for the next writes. It returns false if the queue is empty, or left to
// flush; the goroutine that writes then exits.
func (w *writer) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch, w.bufs = w.batch[:0], w.bufs[:0]
	w.size = 0
	for w.queue.first != nil && w.held != held && w.size < batchBytes && len(w.batch) < batchMessages {
		m := w.queue.first
		w.queue.remove(m)
		m.state = writing
		size := m.Size(nil)
		appendMark(m.mark[:0], size)
		w.batch = append(w.batch, m)
		w.bufs = m.Gather(append(w.bufs, m.mark[:]), nil)
		w.size += size
	}
	if w.queue.first == nil && w.held == heldLater {
		w.held = held
	}
	if len(w.batch) == 0 {
		w.writes = false
		w.wake.Broadcast()
		return false
	}
	return true
}

// writeAll writes the batch. If a Call in the batch is cancelled during the write, it copies the
// rest, and the callers get their memory back.
func (w *writer) writeAll() error {
	switch {
	case w.tls != nil:
		return w.writeTLS()
	case !w.vector:
		w.copyBatch()
	}
	for left := w.bufs; len(left) > 0; {
		w.setWriteDeadline()
		var err error
		if left, err = w.writePart(left); err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !w.hurried() {
			return err
		}
		rest := make([]byte, 0, lengths(left))
		for _, b := range left {
			rest = append(rest, b...)
		}
		clear(left)
		w.written(nil)
		left = append(w.bufs[:0], rest)
	}
	return nil
}

// writePart writes at most batchBytes, and returns the slices that remain.
func (w *writer) writePart(bufs [][]byte) ([][]byte, error) {
	if w.inOne() {
		w.vec = bufs
		_, err := w.vec.WriteTo(w.nc)
		return w.vec, err
	}
	w.part = w.part[:0]
	n := 0
	for _, b := range bufs {
		b = b[:min(len(b), batchBytes-n)]
		w.part = append(w.part, b)
		if n += len(b); n == batchBytes {
			break
		}
	}
	if w.vector {
		w.vec = w.part
		written, err := w.vec.WriteTo(w.nc)
		return advance(bufs, int(written)), err
	}
	written, err := w.nc.Write(w.part[0]) // see copyBatch
	return advance(bufs, written), err
}

// inOne reports whether the batch is written by one call of the system, which forgets each slice
// that it has written.
func (w *writer) inOne() bool { return w.vector && w.size <= batchBytes }

// copyBatch copies the batch, for a stream that may be lost when a write is interrupted, as a
// *tls.Conn is. Callers get their memory back before the first write, so that a cancelled Call does
// not interrupt it.
func (w *writer) copyBatch() {
	w.flat = slices.Grow(w.flat[:0], lengths(w.bufs))
	for _, b := range w.bufs {
		w.flat = append(w.flat, b...)
	}
	clear(w.bufs)
	w.bufs = append(w.bufs[:0], w.flat)
	w.returnCalls()
}

// advance removes the first n bytes. It changes the slices in place.
func advance(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}

func lengths(bufs [][]byte) (n int) {
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

// setWriteDeadline limits the next write to SendTimeout. A limit set less than a quarter of that
// before is kept, so that small messages do not set a timer each.
func (w *writer) setWriteDeadline() {
	limit := w.timeout
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.began = now
	switch {
	case !w.farewell.IsZero():
		_ = w.nc.SetWriteDeadline(w.farewell)
		return
	case w.hurry:
		_ = w.nc.SetWriteDeadline(longAgo) // an answer of TLS may have removed it
		return
	case limit == 0:
		return
	}
	if w.deadline.Sub(now) < limit-limit/4 {
		w.deadline = now.Add(limit)
		_ = w.nc.SetWriteDeadline(w.deadline)
	}
}

// longAgo is a deadline that interrupts a write at once.
var longAgo = time.Unix(1, 0)

// interrupt stops the write in progress, because a Call in its batch was cancelled. mu must be
// held.
func (w *writer) interrupt() {
	if !w.hurry {
		w.hurry = true
		_ = w.nc.SetWriteDeadline(longAgo)
	}
}

// hurried reports whether a write was interrupted.
func (w *writer) hurried() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hurry
}

// clearWriteDeadline removes the write deadline. mu must be held.
func (w *writer) clearWriteDeadline() {
	w.hurry, w.deadline = false, time.Time{}
	_ = w.nc.SetWriteDeadline(time.Time{})
}

// returnCalls gives the memory of Calls in the batch back to their callers, and removes the Calls
// from the batch.
func (w *writer) returnCalls() {
	defer w.returned()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Time{}
	if w.hurry {
		w.clearWriteDeadline()
	}
	answers := w.batch[:0]
	for _, m := range w.batch {
		m.state = sent
		if m.call != nil {
			if s := m.call.call.Steps; s != nil {
				s.Sent = time.Now()
			}
			m.call.settle()
		} else {
			answers = append(answers, m)
		}
	}
	clear(w.batch[len(answers):])
	w.batch = answers
}

// written gives back all memory of the batch.
func (w *writer) written(err error) {
	w.returnCalls()
	releaseAll(w.batch, err)
	clear(w.batch)
	w.batch = w.batch[:0]
	// The connection may rest now, and must not keep the memory of replies.
	if err == nil && w.inOne() {
		w.bufs = w.bufs[:0]
		return
	}
	clear(w.bufs)
	clear(w.part)
	w.bufs = w.bufs[:0]
	if w.vec = nil; cap(w.flat) > keepBytes {
		w.flat = nil
	}
}
