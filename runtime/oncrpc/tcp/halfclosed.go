package tcp

import (
	"errors"
	"io"
	"time"
)

// halfClosed is the state of a client that has closed its direction of the stream. It may still
// read, so its Requests are answered:
//
//	open ──end of the stream──> answering ──the last answer is written──> down
//	                                │
//	                                └──reset, or no answer for PeerTimeout, ──> down
//	                                   or for resetTime where memory is short
//
// A client that has closed both directions looks the same, unless it resets the connection, as this
// package does if it has Calls in progress. The system of any other one does so when an answer is
// written. So after each answer the next one may take as long as a client may be silent. A stream
// over something else than a socket, as a pipe, usually ends in both directions without a word.
//
// The connection's mu guards it.
type halfClosed struct {
	conn   *Conn
	ended  bool
	since  time.Time // of the end, or of the last answer
	left   int       // Requests then
	probed time.Time // when a client that was probed must have shown itself; zero: it was not
}

// probe limits the time in which a client must show that it is there. The same client has called on
// another connection. conn.mu must be held.
func (h *halfClosed) probe(limit time.Duration) {
	if at := time.Now().Add(limit); h.probed.IsZero() || at.Before(h.probed) {
		h.probed = at
	}
}

// begin notes that the client has closed its direction. Its Requests get places when no others
// wait. conn.mu must be held.
func (h *halfClosed) begin() {
	if !h.ended {
		h.ended, h.since = true, time.Now()
		if h.probed.Before(h.since) { // it was there
			h.probed = time.Time{}
		}
		h.conn.shared.places.Recede(&h.conn.waiting)
	}
}

// awaitPlace waits until there may be a place for one more Request, also if the client has closed
// its direction. conn.mu must be held.
func (h *halfClosed) awaitPlace() error {
	if h.ended {
		return h.awaitAnswer()
	}
	err := h.conn.stall()
	if errors.Is(err, io.EOF) && h.conn.accepted {
		h.begin()
		return nil
	}
	return err
}

// awaitAnswers waits until the Requests of a client that has closed its direction are answered.
func (h *halfClosed) awaitAnswers() {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	h.begin()
	for c.err == nil && (c.requests > 0 || c.out.busy()) && h.awaitAnswer() == nil {
	}
}

// awaitAnswer waits until a Request of a client that has closed its direction is answered, and may
// return before. It returns an error if the client has gone. conn.mu must be held.
func (h *halfClosed) awaitAnswer() error {
	c, limit := h.conn, h.conn.set.PeerTimeout
	if _, err := rawConn(c.out.nc); err != nil {
		limit = resetTime
	}
	late := limit > 0 && time.Since(h.since) >= limit || !h.probed.IsZero() && time.Since(h.probed) >= 0
	if late || ofSystem(c.out.nc) {
		return ErrPeerClosed
	}
	h.left = c.requests
	look := time.AfterFunc(resetTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wake.Broadcast()
	})
	c.wake.Wait()
	look.Stop()
	if c.requests < h.left {
		h.since = time.Now()
	}
	return nil
}

// makeRoom closes the connection of a client that has closed its direction, although it waits for
// answers: a new client needs the place. It reports whether it does.
func (h *halfClosed) makeRoom(why error) bool {
	c := h.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !h.ended || c.err != nil {
		return false
	}
	c.wg.Go(func() { c.fail(why) }) // the reader still runs, and the caller holds the server
	return true
}

// late reports whether the client has closed its direction and had no answer for resetTime since.
func (h *halfClosed) late(now time.Time) bool {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	return h.ended && now.Sub(h.since) >= resetTime
}

// resetTime is the time between two looks for a reset, because a stream is not read after its end.
// Without a socket it is the longest time for an answer.
const resetTime = 100 * time.Millisecond
