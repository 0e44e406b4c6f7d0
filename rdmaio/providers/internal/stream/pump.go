package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Only the holder of a token, sender.sending, sends. A goroutine that has posted and
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
func (s *sender) kick() {
	if !s.corked {
		s.push(s.inlineWrites == 0 && !s.streaming)
	}
}

// posted notes a post, and sends what it can. q.mu must be held.
func (s *sender) posted() {
	s.posts++
	s.kick()
}

// allow lets this side send as soon as the framing does. q.mu must be held.
func (s *sender) allow(c *Conn) {
	if !s.mayWrite && c.framer.Ready() {
		s.mayWrite = true
		s.kick()
	}
}

// push does the same even if corked. If now is set, it sends without the writer
// until it would have to wait.
func (s *sender) push(now bool) {
	c := s.q.conn.Load()
	if c == nil || s.sending || s.q.ending || !s.ready() {
		return
	}
	s.sending = true
	if s.out == nil {
		s.out = batches.Get().(*batch)
	}
	if c.raw != nil && now {
		if s.inlineWrites++; s.pump(c) {
			return
		}
	}
	if !s.writing {
		s.writing = true
		s.q.dev.goroutines.Go(s.writeLoop)
	}
	s.handoff <- struct{}{}
}

// uncork runs the notifications that the reader held back, then sends the requests that were posted
// since, many in response. q.mu must be held; uncork releases it for a time.
func (s *sender) uncork() {
	if s.held > 0 {
		s.q.mu.NotifyLocked()
		s.held, s.corked = 0, false
		s.push(true)
	}
}

// cork holds back notifications and posted requests, because the reader has further input at hand.
// n is the number of payload bytes that it has just placed. q.mu must be held.
func (s *sender) cork(n int) {
	s.corked = true
	s.held += 1 + n/corkShare
}

// unlock unlocks mu and runs the notifications that are due, unless they are corked.
func (s *sender) unlock() {
	if s.corked && !s.q.ending {
		s.q.mu.Unlock()
	} else {
		s.q.mu.UnlockNotify()
	}
}

// noteArrival records that a frame of the peer has arrived. q.mu must be held.
func (s *sender) noteArrival() {
	if s.posts > 0 {
		s.streaming = s.posts > 1
	}
	s.posts, s.inlineWrites, s.heard = 0, 0, true
}

// releaseToken releases the token. q.mu must be held.
func (s *sender) releaseToken() {
	s.sending = false
	s.q.wake()
	if !s.q.ending { // else lastBytes needs the batch
		s.out.reset()
		batches.Put(s.out)
		s.out = nil
	}
}

// ready reports whether there may be something to send. A framing may have to hear from the peer
// first (Sender.Ready).
func (s *sender) ready() bool {
	return s.mayWrite && !s.paused && (s.sqNext < s.q.sq.tail || s.rspNext < s.q.resp.tail || s.nudgeDue)
}

// pump sends what can be sent without waiting. It returns true if it has released the token, and
// false if the caller must hand it to the writer. q.mu must be held.
func (s *sender) pump(c *Conn) bool {
	for range inlineRounds {
		s.out.reset()
		more := s.fill(c, true)
		if s.q.ending || s.out.empty() && !more {
			s.releaseToken()
			return true
		}
		if s.out.empty() {
			return false
		}
		s.q.ioCount++
		s.q.mu.Unlock()
		s.out.seal(c.sum)
		n, err := c.try(s.out.bufs[0])
		s.q.mu.Lock()
		switch whole := s.out.advance(n); {
		case err != nil:
			c.truncated = true
			s.writeFailed(err)
			s.releaseToken()
			s.q.ioDone()
			return true
		case !whole:
			s.q.ioDone()
			return false
		}
		s.sent()
		s.q.ioDone()
	}
	return false
}

// writeLoop is the writer goroutine. It sends whenever it is handed the token.
// If a notification exits it, another one continues.
func (s *sender) writeLoop() {
	returned := false
	defer func() {
		if !returned {
			s.q.dev.goroutines.Go(s.writeLoop)
		}
	}()
	for c := s.q.conn.Load(); ; {
		select {
		case <-s.q.endStarted:
			returned = true
			return
		case <-s.handoff:
		}
		s.writeAll(c)
	}
}

// writeAll sends what there is, and releases the token.
func (s *sender) writeAll(c *Conn) {
	s.q.mu.Lock()
	defer s.q.mu.UnlockNotify()
	defer s.releaseToken()
	for s.write(c) {
		s.q.mu.NotifyLocked()
	}
}

// write writes one batch and reports whether there may be another. q.mu must be held.
func (s *sender) write(c *Conn) bool {
	if s.q.ending {
		return false
	}
	c.sending.Store(true) // before anything is pinned
	defer c.sending.Store(false)
	if len(s.out.bufs) == 0 { // else the rest of a batch that pump has begun to write
		s.out.reset()
		s.fill(c, false)
		if s.q.ending || s.out.empty() {
			s.out.unpin()
			return false
		}
	}
	s.q.ioCount++
	s.q.mu.Unlock()
	if !s.out.sealed {
		s.out.seal(c.sum)
	}
	whole, err := false, error(nil)
	if c.raw != nil && len(s.out.bufs) == 1 { // staged: the socket often takes it at once
		var n int
		n, err = c.try(s.out.bufs[0])
		whole = s.out.advance(n)
		c.truncated = c.truncated || err != nil
	}
	if err == nil && !whole {
		err = c.send(s.out, s.out.unpin)
	}
	s.out.unpin()
	s.q.mu.Lock()
	if err != nil {
		s.writeFailed(err)
	} else {
		s.sent()
	}
	s.q.ioDone()
	return err == nil
}

// sent marks the requests and responses whose last frame was in the batch just written as done, and
// completes what can be. q.mu must be held.
func (s *sender) sent() {
	stats := &s.q.dev.stats
	stats.sentDirect.Add(int64(s.out.direct))
	stats.sentStaged.Add(int64(s.out.staged))
	for i := max(s.out.first, s.q.sq.head); i < s.out.requests; i++ {
		if r := s.q.sq.at(i); r.Opcode != verbs.RDMARead {
			r.done = true
		}
	}
	s.q.completeSends()
	if s.q.resp.head < s.out.responses {
		for s.q.resp.head < s.out.responses {
			s.q.resp.pop()
		}
		s.q.completeRecvs() // a Receive may have waited for the response
		s.q.wake()
	}
	s.out.bufs = nil
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
func (s *sender) writeFailed(err error) {
	if err = s.q.dev.vanished(err); err == errSlow {
		err = fmt.Errorf("the peer took no data for %v (Config.SendTimeout): %w", s.q.dev.cfg.SendTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	}
	s.q.end(fmt.Errorf("%w: queue pair %d: write: %w", verbs.ErrConnectionBroken, s.q.Num(), err), Report{Reason: ReasonSlow})
}
