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

// reader handles what arrives. Its goroutine, or a caller of Progress in its place, is the only one
// that uses these fields: the one that has the turn.
//
//	         ┌──────────────────────────────────────────────────────────────────┐
//	         ▼                                                                  │
//	waits: readFrame ──> check ──> receiveStaged ───────────────┬──> commit ────┤
//	         │             │       receiveDirect: place ────────┘               │
//	         │             └─ await: no Receive is posted, or a Read is served ─┘
//	         │ an error, or the end
//	         ▼
//	stopReading: readFailed ──> hangup
type reader struct {
	q    *queues
	s    *sender
	in   incoming
	turn turn // the goroutine that receives
}

// incoming has the open messages and the frame at hand.
type incoming struct {
	frame   Frame
	recv    uint64          // number of the open Send's Receive
	sendLen int             // bytes of the open Send that have arrived
	lend    int             // bytes to lend for it, or 0 if its Receive has memory
	loan    *soft.Loan      // these, once there is a byte to place; else nil
	write   [1]soft.Element // target of the open Write
	read    [1]soft.Element // source of a Read Request

	target soft.List // target of the frame's payload
	pieces [][]byte  // memory of the target, while it is pinned
}

// readLoop is the reader goroutine. At the end it closes the stream. At rest it waits in
// readFrame, where 4 KiB of stack are enough, because the frames up to there are small (ADR 0083).
// A notification that exits it breaks the connection.
func (rd *reader) readLoop(c *Conn) {
	stopped := false
	defer func() {
		if !stopped {
			rd.stopReading(c, errExited)
		}
	}()
	for {
		wanted := rd.turn.isWanted() // the frame at hand is probably what that caller waits for
		err := rd.readFrame(c)
		if err == nil && wanted && rd.mayOffer(c) {
			err = rd.turn.offer(rd.q.endStarted, rd.interruptCaller)
		}
		if err != nil {
			rd.stopReading(c, err)
			stopped = true
			return
		}
	}
}

// errExited is the error of a reader whose goroutine a notification has exited.
var errExited = errors.New("a notification has exited the goroutine that reads")

// stopReading breaks the connection because the reader failed, unless it is broken already, and
// closes the stream at the end.
func (rd *reader) stopReading(c *Conn, err error) {
	rd.breakOff(err)
	<-rd.q.ended
	rd.q.logEnd(c)
	rd.q.mu.Lock()
	last := rd.s.lastBytes(c)
	rd.s.out, rd.in = nil, incoming{} // nothing is sent or placed any more
	rd.q.mu.Unlock()
	c.input.giveBack()
	c.hangup(last)
}

// breakOff breaks the connection because the reader failed, unless it is broken already.
func (rd *reader) breakOff(err error) {
	rd.q.mu.Lock()
	defer rd.q.mu.UnlockNotify()
	rd.readFailed(err)
}

// breach is an error of the Framer: the peer broke a rule.
type breach struct{ error }

func (b *breach) Unwrap() error { return b.error }

// readFailed is breakOff with q.mu held.
func (rd *reader) readFailed(err error) {
	var broken *breach
	var refusal *Refusal
	last := Report{}
	switch {
	case err == io.EOF && !rd.in.frame.Open && rd.q.reads.len() == 0:
		// The system reports an error once. If a write got it, that one is the reason.
		rd.await(func() bool { return !rd.s.sending }, lingerWrite)
		// The peer may still read responses to its Reads. The writer limits the time.
		rd.await(func() bool { return rd.q.resp.len() == 0 }, math.MaxInt64)
		rd.q.end(verbs.ErrPeerDisconnected, last)
		return
	case err == io.EOF:
		err = fmt.Errorf("the peer closed the stream inside a message or before its response to a Read: %w", io.ErrUnexpectedEOF)
	case err == errSlow:
		last.Reason = ReasonSlow
		err = fmt.Errorf("the peer was too slow: a segment took longer than %v (Config.SegmentTimeout), or no segment of an open message came for %v (Config.MessageTimeout): %w",
			rd.q.dev.cfg.SegmentTimeout, rd.q.dev.cfg.MessageTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	case errors.As(err, &refusal):
		rd.q.refuse(Report{Reason: refusal.Reason, AtHand: true, Number: refusal.Number, Key: refusal.Key}, refusal.What)
		return
	case errors.As(err, &broken):
		err = broken.error
		last = Report{Reason: ReasonFormat, Err: err, AtHand: true}
	default:
		err = rd.q.dev.vanished(err)
	}
	rd.q.end(fmt.Errorf("%w: queue pair %d: %w", verbs.ErrConnectionBroken, rd.q.Num(), err), last)
}

// readFrame reads and handles the next frame: see the package documentation.
func (rd *reader) readFrame(c *Conn) error {
	if n := rd.s.held; n >= corkFrames || n > 0 && !c.noWait && !c.frameBuffered() {
		rd.flush(c)
	}
	f, prefix := &rd.in.frame, rd.q.dev.cfg.Shape.Prefix
	c.setLimit(c.open.nextLimit(f.Open, rd.q.dev.cfg.MessageTimeout))
	if _, err := rd.need(c, 1); err != nil {
		return err
	}
	if !c.frameBuffered() {
		c.setLimit(time.Now().Add(rd.q.dev.cfg.SegmentTimeout))
	}
	b, err := rd.need(c, prefix)
	if err != nil {
		return unexpected(err)
	}
	*f = Frame{}
	summed := false
	if shape := &rd.q.dev.cfg.Shape; shape.SumFirst && c.sum != nil {
		wire := c.framer.Wire(b)
		if summed = wire <= shape.Header+shape.StageReceive; summed {
			if b, err = rd.need(c, wire); err != nil {
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
	if b, err = rd.need(c, size); err != nil {
		return unexpected(err)
	}
	if err := c.framer.Decode(f, b); err != nil {
		return &breach{err}
	}
	if rd.leavesToReader(c, f) {
		return errLeave
	}
	if err := rd.check(c, f); err != nil {
		return err
	}
	c.open.bytes += int64(f.Payload)
	if f.Head > size {
		if b, err = rd.need(c, f.Head); err != nil {
			return unexpected(err)
		}
		if err := c.framer.Control(f, b[size:]); err != nil {
			return &breach{err}
		}
	}
	if f.Payload <= rd.q.dev.cfg.Shape.StageReceive {
		return rd.receiveStaged(c, f, summed)
	}
	if err := rd.receiveDirect(c, f); err != nil {
		return unexpected(err)
	}
	if f.Observe {
		c.framer.Observe(f, rd.q.Num())
	}
	rd.q.mu.Lock()
	defer rd.s.unlock()
	if rd.q.ending {
		return errClosing
	}
	rd.s.noteArrival()
	if err := rd.commit(c, f); err != nil {
		return err
	}
	if rd.s.corked || f.End && rd.q.reads.len() > 0 { // more input is at hand or expected
		c.noWait = true
		rd.s.cork(f.Payload)
	}
	return nil
}

// need is Conn.need, which waits for bytes only after what the reader held back was
// released.
func (rd *reader) need(c *Conn, n int) ([]byte, error) {
	b, err := c.need(n)
	if err == errIdle {
		rd.flush(c)
		b, err = c.need(n)
	}
	return b, err
}

// flush releases what the reader held back.
func (rd *reader) flush(c *Conn) {
	c.noWait = false
	rd.q.mu.Lock()
	defer rd.q.mu.UnlockNotify()
	rd.s.uncork()
}

// frameBuffered reports whether a whole frame seems to have been read ahead. Its
// length is not checked yet, so the result may only decide about time limits and writes.
func (c *Conn) frameBuffered() bool {
	in := &c.input
	n := in.w - in.r
	if in.next == 0 {
		if n < c.dev.cfg.Shape.Prefix {
			return false
		}
		in.next = c.framer.Wire(in.buf[in.r:in.w])
	}
	return in.next <= n
}

// unexpected turns io.EOF inside a frame into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
