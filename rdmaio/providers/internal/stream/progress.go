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
	c, t := q.conn.Load(), &q.reader.turn
	if c == nil || c.raw == nil || !t.take() {
		return
	}
	c.done = done
	left, err := false, errExited // if a notification exits the goroutine
	defer func() {
		c.done = nil
		if left {
			t.leave()
			return
		}
		t.handBack(err)
	}()
	left, err = q.reader.progress(c)
}

// Wake implements verbs.Progresser.
func (q *queuePair) Wake() {
	if q.reader.turn.isWaiting() {
		q.reader.interruptCaller()
	}
}

// Resume implements verbs.Progresser.
func (q *queuePair) Resume() { q.reader.turn.resume() }

// interruptCaller makes a caller that waits for input look at its reasons to leave. The next read
// sets the deadline again.
func (rd *reader) interruptCaller() { rd.q.conn.Load().conn.SetReadDeadline(past) }

// mayOffer reports whether the reader may wait for a caller instead of for input.
func (rd *reader) mayOffer(c *Conn) bool {
	return rd.turn.isWanted() && c.input.w == c.input.r && rd.s.held == 0 && !c.noWait && !rd.in.frame.Open
}

// progress handles input until done returns true. It returns false if the reader must take over,
// with the error for the reader, or nil.
func (rd *reader) progress(c *Conn) (left bool, err error) {
	for {
		if rd.s.held > 0 && !c.frameBuffered() {
			rd.flush(c)
		}
		switch {
		case c.noWait, rd.in.frame.Open, rd.turn.recalled.Load():
			return false, nil
		case c.input.w > c.input.r:
			err = rd.readAtHand(c)
		case c.done():
			return true, nil
		default:
			err = rd.awaitInput(c)
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
func (rd *reader) awaitInput(c *Conn) error {
	c.setLimit(c.open.nextLimit(false, 0))
	rd.turn.await()
	_, err := c.need(1)
	rd.turn.awaited()
	if err == errLeave {
		return nil
	}
	return err
}

// readAtHand handles the next frame. It returns errLeave if the reader must do that.
func (rd *reader) readAtHand(c *Conn) error {
	if !rd.callerMayRead(c) {
		return errLeave
	}
	c.atHand = true
	defer func() { c.atHand = false }()
	return rd.readFrame(c)
}

// callerMayRead reports whether a caller may handle the next frame, as far as that can be said
// before the frame is decoded.
func (rd *reader) callerMayRead(c *Conn) bool {
	shape := &rd.q.dev.cfg.Shape
	if !c.frameBuffered() || c.input.next > shape.Header+shape.StageReceive+padding+trailerSize {
		return false
	}
	rd.q.mu.Lock()
	defer rd.q.mu.Unlock()
	return !rd.q.ending && rd.q.messages.tail < rd.q.rq.tail && rd.q.reads.len() == 0 && rd.q.resp.len() == 0
}

// leavesToReader reports whether the caller must leave a frame that was decoded, but not accepted,
// to the reader: a peer can write a wrong length in its prefix.
func (rd *reader) leavesToReader(c *Conn, f *Frame) bool {
	return c.atHand && (f.Payload > rd.q.dev.cfg.Shape.StageReceive || f.Head+f.Payload+f.Pad+trailerSize > c.input.w-c.input.r)
}
