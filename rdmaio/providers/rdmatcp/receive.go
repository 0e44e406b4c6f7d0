package rdmatcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// incoming is the reader's view of the open message of group 1 and of the
// segment at hand.
type incoming struct {
	res        uint8                 // of its first segment
	control    [4 * reportWords]byte // the first bytes of its control data
	controlLen int                   // how many
	message    uint64                // number of the Receive that a Send goes to
	report     bool                  // it is one
	cork       int                   // segments since others were told to hold back
	rawControl [2]controlData        // of the open messages of both groups, for a raw user
	write      [1]soft.Element       // target of a Write
	sendLen    int                   // of a Send

	target soft.List // where the payload of the segment goes
	off    int       // and from which byte on
	pieces [][]byte
}

// readLoop is the reader: it owns what arrives, and in the end the stream.
func (q *queuePair) readLoop(w *wire) {
	for {
		err := q.readSegment(w)
		if err == nil {
			continue
		}
		q.mu.Lock()
		q.readFailed(w, err)
		q.mu.UnlockNotify()
		break
	}
	<-q.ended
	q.logEnd(w)
	q.mu.Lock()
	last := q.lastBytes(w)
	q.out, q.in = nil, incoming{} // nobody sends or places any more
	q.mu.Unlock()
	w.returnInput()
	w.hangup(last)
}

// lastBytes is what we still send when all is over: the rest of a write that the
// socket did not take at once, and why it ends, if a message can begin here.
func (q *queuePair) lastBytes(w *wire) (b []byte) {
	if w.truncated {
		return nil
	}
	if q.out != nil {
		for _, rest := range q.out.bufs {
			b = append(b, rest...)
		}
	}
	if q.dev.cfg.Raw != nil || q.last.reason == 0 || !w.stream.Known || q.begun && q.sqSent > 0 {
		return b
	}
	number := w.number
	if q.begun { // it has this number and was not sent
		number--
	}
	if whole, err := q.last.append(b, w.stream.ConnID, number); err == nil {
		return whole
	}
	return b
}

// readFailed ends the connection for an error of the reader's, unless it has ended.
func (q *queuePair) readFailed(w *wire, err error) {
	var format *segment.Error
	last := report{}
	switch {
	case err == io.EOF && !w.stream.Open() && q.reads.len() == 0:
		// The system reports an error once. If a write got it, that is the reason.
		q.await(func() bool { return !q.sending }, lingerWrite)
		// It may still be reading what it asked for; the writer knows how long.
		q.await(func() bool { return q.resp.len() == 0 }, math.MaxInt64)
		q.end(verbs.ErrPeerDisconnected, last)
		return
	case err == io.EOF:
		err = fmt.Errorf("stream ended inside a message or before the answer to a Read: %w", io.ErrUnexpectedEOF)
	case err == errSlow:
		last.reason = reasonSlow
		err = fmt.Errorf("a segment took longer than %v, or an open message went without for %v: %w",
			q.dev.cfg.SegmentTimeout, q.dev.cfg.MessageTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	case errors.As(err, &format):
		last.reason = reasonFormat
	default:
		err = q.dev.vanished(err)
	}
	q.end(fmt.Errorf("%w: queue pair %d: %w", verbs.ErrConnectionBroken, q.Num(), err), last)
}

// refuse ends the connection for what the peer did, and tells it so.
func (q *queuePair) refuse(why reason, number, buffer uint32, what string) error {
	err := fmt.Errorf("%w: queue pair %d: peer's message %#x: %s", verbs.ErrConnectionBroken, q.Num(), number, what)
	q.end(err, report{reason: why, number: number, buffer: buffer})
	return err
}

// readSegment takes the next segment off the stream.
func (q *queuePair) readSegment(w *wire) error {
	if c := q.in.cork; c >= corkSegments || c > 0 && !w.noWait && !w.segmentBuffered() {
		q.flush(w)
	}
	w.setLimit(w.nextLimit())
	if _, err := q.need(w, 1); err != nil {
		return err
	}
	if !w.segmentBuffered() {
		w.setLimit(time.Now().Add(q.dev.cfg.SegmentTimeout))
	}
	b, err := q.need(w, segment.PrefixSize)
	if err != nil {
		return unexpected(err)
	}
	size, err := segment.Prefix(b)
	if err != nil {
		return err
	}
	if b, err = q.need(w, size); err != nil {
		return unexpected(err)
	}
	var h segment.Header
	if err := w.stream.Decode(&h, b); err != nil {
		return err
	}
	if err := q.checkSegment(w, &h); err != nil {
		return err
	}
	w.openBytes += int64(h.Payload())
	size += h.Control()
	if b, err = q.need(w, size); err != nil {
		return unexpected(err)
	}
	if err := q.recordControl(&h, b[size-h.Control():]); err != nil {
		return err
	}
	if h.Payload() <= StageLimit {
		return q.receiveStaged(w, &h)
	}
	if err := q.receiveDirect(w, &h, size); err != nil {
		return unexpected(err)
	}
	q.deliverControl(&h)
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	q.noteArrival()
	if err := q.commit(&h); err != nil {
		return err
	}
	if q.corked || h.End && q.reads.len() > 0 { // another answer is on its way, or here
		w.noWait = true
		q.cork(h.Payload())
	}
	return nil
}

// need is wire's, which waits for bytes only when nobody else waits for what came
// before them.
func (q *queuePair) need(w *wire, n int) ([]byte, error) {
	b, err := w.need(n)
	if err == errIdle {
		q.flush(w)
		b, err = w.need(n)
	}
	return b, err
}

// flush ends what the reader held back.
func (q *queuePair) flush(w *wire) {
	w.noWait = false
	q.mu.Lock()
	q.uncork()
	q.mu.UnlockNotify()
}

// leastRate is what an open message must bring, in bytes a second (RFC 5042
// §6.4.3.1): a segment of no bytes now and then keeps none open for ever.
const leastRate = 1 << 10

// nextLimit is by when the next segment must begin: any time, unless a message is open.
func (w *wire) nextLimit() time.Time {
	if !w.stream.Open() {
		w.openSince = time.Time{}
		return time.Time{}
	}
	now, patience := time.Now(), w.dev.cfg.MessageTimeout
	if w.openSince.IsZero() {
		w.openSince, w.openBytes = now, 0
	}
	last := w.openSince.Add(patience + time.Duration(min(w.openBytes, 1<<40))*(time.Second/leastRate))
	if next := now.Add(patience); next.Before(last) {
		return next
	}
	return last
}

// segmentBuffered guesses whether a whole segment was read ahead, from a length that was
// not checked: it decides about time limits and writes, not about bytes.
func (w *wire) segmentBuffered() bool {
	n := w.w - w.r
	if n < segment.PrefixSize {
		return false
	}
	h := segment.Header{Length: binary.BigEndian.Uint16(w.buf[w.r+2:])}
	return h.Wire() <= n
}

// unexpected turns the end of a stream inside a segment into what it is.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
