package stream

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// incoming is the reader's state: of open messages, and of the frame at hand.
type incoming struct {
	frame   Frame
	recv    uint64          // number of the Receive of the open Send
	sendLen int             // bytes of it that have arrived
	lend    int             // bytes to lend for it, or 0 if its Receive has memory
	loan    *soft.Loan      // these, once there is a byte to place; else nil
	write   [1]soft.Element // target of the open Write
	read    [1]soft.Element // source of a Read Request
	cork    int             // frames since queuePair.corked was set

	target soft.List // target of the frame's payload
	pieces [][]byte  // memory of the target, while it is pinned
}

// readLoop is the reader goroutine. At the end it closes the stream. At rest it waits in
// readFrame, where 4 KiB of stack are enough, because the frames up to there are small (ADR 0083).
func (q *queuePair) readLoop(c *Conn) {
	for {
		wanted := q.turn.isWanted() // the frame at hand is probably what that caller waits for
		err := q.readFrame(c)
		if err == nil && wanted && q.mayOffer(c) {
			err = q.turn.offer(q.endStarted, q.interruptCaller)
		}
		if err != nil {
			q.stopReading(c, err)
			return
		}
	}
}

// stopReading breaks the connection because the reader failed, unless it is broken already, and
// closes the stream at the end.
func (q *queuePair) stopReading(c *Conn, err error) {
	q.mu.Lock()
	q.readFailed(err)
	q.mu.UnlockNotify()
	<-q.ended
	q.logEnd(c)
	q.mu.Lock()
	last := q.lastBytes(c)
	q.out, q.in = nil, incoming{} // nothing is sent or placed any more
	q.mu.Unlock()
	c.returnInput()
	c.hangup(last)
}

// lastBytes returns what to send before the stream is closed: the rest of a write that
// the socket did not take at once and, if a frame can begin here, the report.
func (q *queuePair) lastBytes(c *Conn) (b []byte) {
	if c.truncated {
		return nil
	}
	if q.out != nil {
		for _, rest := range q.out.bufs {
			b = append(b, rest...)
		}
	}
	if q.last.Reason == ReasonNone || !q.mayWrite && !q.last.AtHand {
		return b
	}
	sent := NotBegun
	switch {
	case q.begun && q.sqSent > 0:
		sent = SentPart
	case q.begun:
		sent = BegunOnly
	}
	return c.framer.LastBytes(b, &q.last, sent)
}

// breach is an error of the Framer: the peer broke a rule.
type breach struct{ error }

func (b *breach) Unwrap() error { return b.error }

// readFailed breaks the connection because the reader failed, unless it is broken already.
func (q *queuePair) readFailed(err error) {
	var broken *breach
	var refusal *Refusal
	last := Report{}
	switch {
	case err == io.EOF && !q.in.frame.Open && q.reads.len() == 0:
		// The system reports an error once. If a write got it, that one is the reason.
		q.await(func() bool { return !q.sending }, lingerWrite)
		// The peer may still read responses to its Reads. The writer limits the time.
		q.await(func() bool { return q.resp.len() == 0 }, math.MaxInt64)
		q.end(verbs.ErrPeerDisconnected, last)
		return
	case err == io.EOF:
		err = fmt.Errorf("the peer closed the stream inside a message or before its response to a Read: %w", io.ErrUnexpectedEOF)
	case err == errSlow:
		last.Reason = ReasonSlow
		err = fmt.Errorf("the peer was too slow: a segment took longer than %v (Config.SegmentTimeout), or an open message had none for %v (Config.MessageTimeout): %w",
			q.dev.cfg.SegmentTimeout, q.dev.cfg.MessageTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	case errors.As(err, &refusal):
		q.refuse(Report{Reason: refusal.Reason, AtHand: true, Number: refusal.Number, Key: refusal.Key}, refusal.What)
		return
	case errors.As(err, &broken):
		err = broken.error
		last = Report{Reason: ReasonFormat, Err: err, AtHand: true}
	default:
		err = q.dev.vanished(err)
	}
	q.end(fmt.Errorf("%w: queue pair %d: %w", verbs.ErrConnectionBroken, q.Num(), err), last)
}

// refuse breaks the connection because the peer sent a wrong message, and reports the reason to the
// peer. q.mu must be held.
func (q *queuePair) refuse(why Report, what string) error {
	err := fmt.Errorf("%w: queue pair %d: peer's message %#x: %s", verbs.ErrConnectionBroken, q.Num(), why.Number, what)
	q.end(err, why)
	return err
}

// readFrame reads and handles the next frame: see the package documentation.
func (q *queuePair) readFrame(c *Conn) error {
	if n := q.in.cork; n >= corkFrames || n > 0 && !c.noWait && !c.frameBuffered() {
		q.flush(c)
	}
	f, prefix := &q.in.frame, q.dev.cfg.Shape.Prefix
	c.setLimit(c.nextLimit(f.Open))
	if _, err := q.need(c, 1); err != nil {
		return err
	}
	if !c.frameBuffered() {
		c.setLimit(time.Now().Add(q.dev.cfg.SegmentTimeout))
	}
	b, err := q.need(c, prefix)
	if err != nil {
		return unexpected(err)
	}
	*f = Frame{}
	summed := false
	if shape := &q.dev.cfg.Shape; shape.SumFirst && c.sum != nil {
		wire := c.framer.Wire(b)
		if summed = wire <= shape.Header+shape.StageReceive; summed {
			if b, err = q.need(c, wire); err != nil {
				return unexpected(err)
			}
			if err := c.checkSum(f, c.sum(0, b[:wire-trailerSize]), b[wire-trailerSize:]); err != nil {
				return err
			}
		}
	}
	size, err := c.framer.HeaderSize(b)
	if err != nil {
		return &breach{err}
	}
	if b, err = q.need(c, size); err != nil {
		return unexpected(err)
	}
	if err := c.framer.Decode(f, b); err != nil {
		return &breach{err}
	}
	if q.leavesToReader(c, f) {
		return errLeave
	}
	if err := q.check(c, f); err != nil {
		return err
	}
	c.openBytes += int64(f.Payload)
	if f.Head > size {
		if b, err = q.need(c, f.Head); err != nil {
			return unexpected(err)
		}
		if err := c.framer.Control(f, b[size:]); err != nil {
			return &breach{err}
		}
	}
	if f.Payload <= q.dev.cfg.Shape.StageReceive {
		return q.receiveStaged(c, f, summed)
	}
	if err := q.receiveDirect(c, f); err != nil {
		return unexpected(err)
	}
	if f.Observe {
		c.framer.Observe(f, q.Num())
	}
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	q.noteArrival()
	if err := q.commit(c, f); err != nil {
		return err
	}
	if q.corked || f.End && q.reads.len() > 0 { // more input is at hand or expected
		c.noWait = true
		q.cork(f.Payload)
	}
	return nil
}

// need is Conn.need, which waits for bytes only after what the reader held back was
// released.
func (q *queuePair) need(c *Conn, n int) ([]byte, error) {
	b, err := c.need(n)
	if err == errIdle {
		q.flush(c)
		b, err = c.need(n)
	}
	return b, err
}

// flush releases what the reader held back.
func (q *queuePair) flush(c *Conn) {
	c.noWait = false
	q.mu.Lock()
	q.uncork()
	q.mu.UnlockNotify()
}

// leastRate is the slowest rate of an open message, in bytes of payload a second (RFC
// 5042 §6.4.3.1). Empty frames cannot keep a message open without limit.
const leastRate = 1 << 10

// nextLimit returns the time by which the next frame must begin: no limit, unless a
// message is open.
func (c *Conn) nextLimit(open bool) time.Time {
	if !open {
		c.openSince = time.Time{}
		return time.Time{}
	}
	now, patience := time.Now(), c.dev.cfg.MessageTimeout
	if c.openSince.IsZero() {
		c.openSince, c.openBytes = now, 0
	}
	last := c.openSince.Add(patience + time.Duration(min(c.openBytes, 1<<40))*(time.Second/leastRate))
	if next := now.Add(patience); next.Before(last) {
		return next
	}
	return last
}

// frameBuffered reports whether a whole frame seems to have been read ahead. Its
// length is not checked yet, so the result may only decide about time limits and writes.
func (c *Conn) frameBuffered() bool {
	n := c.w - c.r
	if c.next == 0 {
		if n < c.dev.cfg.Shape.Prefix {
			return false
		}
		c.next = c.framer.Wire(c.buf[c.r:c.w])
	}
	return c.next <= n
}

// unexpected turns io.EOF inside a frame into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
