package stream

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

var _ verbs.Progresser = (*queuePair)(nil)

// Progress implements verbs.Progresser, for a stream of plain TCP. A caller that waits in the
// reader's place needs one change of goroutines less for each message: the reader would have to
// wake it. See turn for when it does.
//
// The caller handles frames that are at hand as a whole and for which the reader would not wait:
// staged ones, outside a message of several frames, with no Read in progress in either direction.
// It hands everything else back, so that no peer can make it wait inside a frame.
func (q *queuePair) Progress(done func() bool) {
	c, t := q.conn.Load(), &q.turn
	if c == nil || c.raw == nil || !t.take() {
		return
	}
	c.done = done
	left, err := q.progress(c)
	c.done = nil
	if left {
		t.leave()
		return
	}
	t.handBack(err)
}

// Wake implements verbs.Progresser.
func (q *queuePair) Wake() {
	if q.turn.isWaiting() {
		q.interruptCaller()
	}
}

// Resume implements verbs.Progresser.
func (q *queuePair) Resume() { q.turn.resume() }

// interruptCaller makes a caller that waits for input look at its reasons to leave. The next read
// sets the deadline again.
func (q *queuePair) interruptCaller() { q.conn.Load().conn.SetReadDeadline(past) }

// mayOffer reports whether the reader may wait for a caller instead of for input.
func (q *queuePair) mayOffer(c *Conn) bool {
	return q.turn.isWanted() && c.w == c.r && q.in.cork == 0 && !c.noWait && !q.in.frame.Open
}

// progress handles input until done returns true. It returns false if the reader must take over,
// with the error for the reader, or nil.
func (q *queuePair) progress(c *Conn) (left bool, err error) {
	for {
		if q.in.cork > 0 && !c.frameBuffered() {
			q.flush(c)
		}
		switch {
		case c.noWait, q.in.frame.Open, q.turn.recalled.Load():
			return false, nil
		case c.w > c.r:
			err = q.readAtHand(c)
		case c.done():
			return true, nil
		default:
			err = q.awaitInput(c)
		}
		if err == errLeave {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// awaitInput waits until input is at hand or the caller has a reason to leave.
func (q *queuePair) awaitInput(c *Conn) error {
	c.setLimit(c.nextLimit(false))
	q.turn.await()
	_, err := c.need(1)
	q.turn.awaited()
	if err == errLeave {
		return nil
	}
	return err
}

// readAtHand handles the next frame. It returns errLeave if the reader must do that.
func (q *queuePair) readAtHand(c *Conn) error {
	if !q.callerMayRead(c) {
		return errLeave
	}
	c.atHand = true
	defer func() { c.atHand = false }()
	return q.readFrame(c)
}

// callerMayRead reports whether a caller may handle the next frame, as far as that can be said
// before the frame is decoded.
func (q *queuePair) callerMayRead(c *Conn) bool {
	shape := &q.dev.cfg.Shape
	if !c.frameBuffered() || c.next > shape.Header+shape.StageReceive+padding+trailerSize {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.ending && q.messages.tail < q.rq.tail && q.reads.len() == 0 && q.resp.len() == 0
}

// leavesToReader reports whether the caller must leave a frame that was decoded, but not accepted,
// to the reader: a peer can write a wrong length in its prefix.
func (q *queuePair) leavesToReader(c *Conn, f *Frame) bool {
	return c.atHand && (f.Payload > q.dev.cfg.Shape.StageReceive || f.Head+f.Payload+f.Pad+trailerSize > c.w-c.r)
}
