package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Only the holder of a token, queuePair.sending, sends. A goroutine that has posted and
// finds the token free takes it. It sends staged frames itself, as long as the socket
// takes them at once. It hands the token to the writer goroutine (handoff) if payload is
// direct, the socket is full, or the stream is not plain TCP. Requests that others post during the
// write go into the next one. So only the writer ever waits for the peer.
//
// A write costs more than all other work on a short message. Two rules let messages
// share one:
//
//   - Cork: while the reader has further input at hand, it holds back notifications and
//     posted requests, until it has handled that input. Input at hand is whole messages
//     that were read ahead, responses to our Reads, or long messages that short ones
//     follow without a pause.
//   - Streaming: a caller that posts twice without hearing from the peer, now or before
//     the last arrival, is streaming. Its posts go to the writer, which runs when the
//     caller waits or another processor is free, and sends all that was posted by then
//     in one batch. A single request and its response never wait for a goroutine.

const (
	inlineRounds = 4       // writes of a posting goroutine before it hands over
	corkFrames   = 64      // frames that the reader handles before it uncorks
	corkShare    = 4 << 10 // bytes of payload that count as one more frame
)

// kick sends what can be sent, or makes the writer do it, unless the reader has corked. q.mu must
// be held; kick may release it for a time.
func (q *queuePair) kick() {
	if !q.corked {
		q.push(q.inlineWrites == 0 && !q.streaming)
	}
}

// push does the same even if corked. If now is set, it sends without the writer
// until it would have to wait.
func (q *queuePair) push(now bool) {
	c := q.conn.Load()
	if c == nil || q.sending || q.ending || !q.ready() {
		return
	}
	q.sending = true
	if q.out == nil {
		q.out = batches.Get().(*batch)
	}
	if c.raw != nil && now {
		if q.inlineWrites++; q.pump(c) {
			return
		}
	}
	if !q.writing {
		q.writing = true
		q.dev.goroutines.Go(q.writeLoop)
	}
	q.handoff <- struct{}{}
}

// uncork runs the notifications that the reader held back, then sends the requests that were posted
// since, many in response. q.mu must be held; uncork releases it for a time.
func (q *queuePair) uncork() {
	if q.in.cork > 0 {
		q.mu.UnlockNotify()
		q.mu.Lock()
		q.in.cork, q.corked = 0, false
		q.push(true)
	}
}

// cork holds back notifications and posted requests, because the reader has further input at hand.
// n is the number of payload bytes that it has just placed. q.mu must be held.
func (q *queuePair) cork(n int) {
	q.corked = true
	q.in.cork += 1 + n/corkShare
}

// unlock unlocks mu and runs the notifications that are due, unless they are corked.
func (q *queuePair) unlock() {
	if q.corked && !q.ending {
		q.mu.Unlock()
	} else {
		q.mu.UnlockNotify()
	}
}

// noteArrival records that a frame of the peer has arrived. q.mu must be held.
func (q *queuePair) noteArrival() {
	if q.posts > 0 {
		q.streaming = q.posts > 1
	}
	q.posts, q.inlineWrites, q.heard = 0, 0, true
}

// releaseToken releases the token. q.mu must be held.
func (q *queuePair) releaseToken() {
	q.sending = false
	q.wake()
	if !q.ending { // else lastBytes needs the batch
		q.out.reset()
		batches.Put(q.out)
		q.out = nil
	}
}

// ready reports whether there may be something to send. A framing may have to hear from the peer
// first (Sender.Ready).
func (q *queuePair) ready() bool {
	return q.mayWrite && !q.paused && (q.sqNext < q.sq.tail || q.rspNext < q.resp.tail || q.nudgeDue)
}

// pump sends what can be sent without waiting. It returns true if it has released the token, and
// false if the caller must hand it to the writer. q.mu must be held.
func (q *queuePair) pump(c *Conn) bool {
	for range inlineRounds {
		q.out.reset()
		more := q.fill(c, true)
		if q.ending || q.out.empty() && !more {
			q.releaseToken()
			return true
		}
		if q.out.empty() {
			return false
		}
		q.ioCount++
		q.mu.Unlock()
		q.out.seal(c.sum)
		n, err := c.try(q.out.bufs[0])
		q.mu.Lock()
		switch whole := q.out.advance(n); {
		case err != nil:
			c.truncated = true
			q.writeFailed(err)
			q.releaseToken()
			q.ioDone()
			return true
		case !whole:
			q.ioDone()
			return false
		}
		q.sent()
		q.ioDone()
	}
	return false
}

// writeLoop is the writer goroutine. It sends whenever it is handed the token.
func (q *queuePair) writeLoop() {
	c := q.conn.Load()
	for {
		select {
		case <-q.endStarted:
			return
		case <-q.handoff:
		}
		q.mu.Lock()
		for q.write(c) {
			q.mu.UnlockNotify()
			q.mu.Lock()
		}
		q.releaseToken()
		q.mu.UnlockNotify()
	}
}

// write writes one batch and reports whether there may be another. q.mu must be held.
func (q *queuePair) write(c *Conn) bool {
	if q.ending {
		return false
	}
	c.sending.Store(true) // before anything is pinned
	defer c.sending.Store(false)
	if len(q.out.bufs) == 0 { // else the rest of a batch that pump has begun to write
		q.out.reset()
		q.fill(c, false)
		if q.ending || q.out.empty() {
			q.out.unpin()
			return false
		}
	}
	q.ioCount++
	q.mu.Unlock()
	if !q.out.sealed {
		q.out.seal(c.sum)
	}
	whole, err := false, error(nil)
	if c.raw != nil && len(q.out.bufs) == 1 { // staged: the socket often takes it at once
		var n int
		n, err = c.try(q.out.bufs[0])
		whole = q.out.advance(n)
		c.truncated = c.truncated || err != nil
	}
	if err == nil && !whole {
		err = c.send(q.out, q.out.unpin)
	}
	q.out.unpin()
	q.mu.Lock()
	if err != nil {
		q.writeFailed(err)
	} else {
		q.sent()
	}
	q.ioDone()
	return err == nil
}

// sent marks the requests and responses whose last frame was in the batch just written as done, and
// completes what can be. q.mu must be held.
func (q *queuePair) sent() {
	s := &q.dev.stats
	s.sentDirect.Add(int64(q.out.direct))
	s.sentStaged.Add(int64(q.out.staged))
	for i := max(q.out.first, q.sq.head); i < q.out.requests; i++ {
		if r := q.sq.at(i); r.Opcode != verbs.RDMARead {
			r.done = true
		}
	}
	q.completeSends()
	if q.resp.head < q.out.responses {
		for q.resp.head < q.out.responses {
			q.resp.pop()
		}
		q.completeRecvs() // a Receive may have waited for the response
		q.wake()
	}
	q.out.bufs = nil
}

// vanished adds the cause to an error by which the system gave up a peer that does not answer.
func (d *Device) vanished(err error) error {
	if !deadpeer.Gone(err) {
		return err
	}
	return fmt.Errorf("the peer, or the network to it, has not answered for %v (Config.PeerTimeout): %w: %w",
		d.cfg.PeerTimeout, err, verbs.StatusError{Status: verbs.StatusRetryExceeded})
}

// writeFailed breaks the connection because a write failed.
func (q *queuePair) writeFailed(err error) {
	if err = q.dev.vanished(err); err == errSlow {
		err = fmt.Errorf("the peer took no data for %v (Config.SendTimeout): %w", q.dev.cfg.SendTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	}
	q.end(fmt.Errorf("%w: queue pair %d: write: %w", verbs.ErrConnectionBroken, q.Num(), err), Report{Reason: ReasonSlow})
}
