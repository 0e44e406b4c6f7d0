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

// incoming is the reader's state: of the open message of group 1 (§4), and of the
// segment at hand.
type incoming struct {
	res        uint8                 // the 4 bits of the message's first segment
	control    [4 * reportWords]byte // the first bytes of its control data
	controlLen int                   // number of bytes in control
	recv       uint64                // number of the Receive of a Send
	report     bool                  // the message is a report
	cork       int                   // segments since queuePair.corked was set
	rawControl [2]controlData        // of the open messages of both groups, for RawConfig.Control
	write      [1]soft.Element       // target of a Write, or source of a Read
	sendLen    int                   // bytes of a Send that have arrived

	target soft.List // target of the segment's payload
	off    int       // offset in target
	pieces [][]byte  // memory of the target, while it is pinned
}

// readLoop is the reader goroutine. At the end it closes the stream.
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
	q.out, q.in = nil, incoming{} // nothing is sent or placed any more
	q.mu.Unlock()
	w.returnInput()
	w.hangup(last)
}

// lastBytes returns what to send before the stream is closed: the rest of a write that
// the socket did not take at once and, if a message can begin here, the report.
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
	if q.begun { // a message has the last number, and nothing of it was sent
		number--
	}
	if whole, err := q.last.append(b, w.stream.ConnID, number); err == nil {
		return whole
	}
	return b
}

// readFailed ends the connection because of an error of the reader, unless it has ended.
func (q *queuePair) readFailed(w *wire, err error) {
	var format *segment.Error
	last := report{}
	switch {
	case err == io.EOF && !w.stream.Open() && q.reads.len() == 0:
		// The system reports an error once. If a write got it, that one is the reason.
		q.await(func() bool { return !q.sending }, lingerWrite)
		// The peer may still read responses to its Reads. The writer limits the time.
		q.await(func() bool { return q.resp.len() == 0 }, math.MaxInt64)
		q.end(verbs.ErrPeerDisconnected, last)
		return
	case err == io.EOF:
		err = fmt.Errorf("the peer closed the stream inside a message or before its response to a Read: %w", io.ErrUnexpectedEOF)
	case err == errSlow:
		last.reason = reasonSlow
		err = fmt.Errorf("the peer was too slow: a segment took longer than %v (Config.SegmentTimeout), or an open message had none for %v (Config.MessageTimeout): %w",
			q.dev.cfg.SegmentTimeout, q.dev.cfg.MessageTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	case errors.As(err, &format):
		last.reason = reasonFormat
	default:
		err = q.dev.vanished(err)
	}
	q.end(fmt.Errorf("%w: queue pair %d: %w", verbs.ErrConnectionBroken, q.Num(), err), last)
}

// refuse ends the connection because of a message of the peer, and reports the reason to
// the peer.
func (q *queuePair) refuse(why reason, number, buffer uint32, what string) error {
	err := fmt.Errorf("%w: queue pair %d: peer's message %#x: %s", verbs.ErrConnectionBroken, q.Num(), number, what)
	q.end(err, report{reason: why, number: number, buffer: buffer})
	return err
}

// readSegment reads and handles the next segment. Its payload is staged or direct:
//
//	header ── Decode ── checkSegment ──┬── staged: read, CRC checked, placed ──┬── commit
//	                                   └── direct: placed, CRC checked ────────┘
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
	if q.corked || h.End && q.reads.len() > 0 { // more input is at hand or expected
		w.noWait = true
		q.cork(h.Payload())
	}
	return nil
}

// need is wire.need, which waits for bytes only after what the reader held back was
// released.
func (q *queuePair) need(w *wire, n int) ([]byte, error) {
	b, err := w.need(n)
	if err == errIdle {
		q.flush(w)
		b, err = w.need(n)
	}
	return b, err
}

// flush releases what the reader held back.
func (q *queuePair) flush(w *wire) {
	w.noWait = false
	q.mu.Lock()
	q.uncork()
	q.mu.UnlockNotify()
}

// leastRate is the slowest rate of an open message, in bytes of payload a second (RFC
// 5042 §6.4.3.1). Empty segments cannot keep a message open without limit.
const leastRate = 1 << 10

// nextLimit returns the time by which the next segment must begin: no limit, unless a
// message is open.
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

// segmentBuffered reports whether a whole segment seems to have been read ahead. Its
// length is not checked yet, so the result may only decide about time limits and writes.
func (w *wire) segmentBuffered() bool {
	n := w.w - w.r
	if n < segment.PrefixSize {
		return false
	}
	h := segment.Header{Length: binary.BigEndian.Uint16(w.buf[w.r+2:])}
	return h.Wire() <= n
}

// unexpected turns io.EOF inside a segment into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
