package rdmatcp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Sending has one token, queuePair.sending. Who finds it free and has something
// to send takes it, sends small segments by himself as long as the socket takes
// them at once, and hands the token to the writer goroutine when payload is to go
// without a copy, the socket is full, or it is no plain socket. What others post
// meanwhile is gathered into the next write. So nobody but the writer ever waits
// for the peer.
//
// Two things make messages share a write, where each write costs more than all
// else. While the reader has whole messages before it, or answers to our Reads, or
// long messages with small ones between, come without a pause, completions are not
// notified of, and what is posted waits, until it has seen them all (cork). And who
// posts again before anything came from the peer, or did so the time before, leaves
// it to the writer, which runs when he waits or another processor is free: so a
// message and its answer never wait for a goroutine, and a stream of them is
// gathered.

const (
	inlineRounds = 4       // writes that one who posts does for others
	corkSegments = 64      // segments that the reader looks at before it sends
	corkShare    = 4 << 10 // bytes of payload that count as one more
)

// kick makes sure that what can be sent is. mu is held, and may be free for a
// while.
func (q *queuePair) kick() {
	if !q.corked {
		q.push(q.inlineWrites == 0 && !q.streaming)
	}
}

// push does so, without the writer if now is set and it need not wait.
func (q *queuePair) push(now bool) {
	w := q.wire.Load()
	if w == nil || q.sending || q.ending || !q.ready(w) {
		return
	}
	q.sending = true
	if q.out == nil {
		q.out = batches.Get().(*batch)
	}
	if w.raw != nil && now {
		if q.inlineWrites++; q.pump(w) {
			return
		}
	}
	if !q.writing {
		q.writing = true
		q.dev.goroutines.Go(q.writeLoop)
	}
	q.handoff <- struct{}{}
}

// uncork ends what the reader held back: first the notifications, then what was
// posted since, much of it in answer to them. mu is held, and is free for a while.
func (q *queuePair) uncork() {
	if q.in.cork > 0 {
		q.mu.UnlockNotify()
		q.mu.Lock()
		q.in.cork, q.corked = 0, false
		q.push(true)
	}
}

// cork holds back what is posted, and notifications, as the reader has more before
// it. n is the payload that it has just placed. mu is held.
func (q *queuePair) cork(n int) {
	q.corked = true
	q.in.cork += 1 + n/corkShare
}

// unlock unlocks mu. While the reader holds back what is posted it holds back notifications too.
func (q *queuePair) unlock() {
	if q.corked && !q.ending {
		q.mu.Unlock()
	} else {
		q.mu.UnlockNotify()
	}
}

// noteArrival notes that something came from the peer. mu is held.
func (q *queuePair) noteArrival() {
	if q.posts > 0 {
		q.streaming = q.posts > 1
	}
	q.posts, q.inlineWrites = 0, 0
}

// releaseToken gives the token back.
func (q *queuePair) releaseToken() {
	q.sending = false
	q.wake()
	if !q.ending { // else lastBytes has a look at it
		q.out.reset()
		batches.Put(q.out)
		q.out = nil
	}
}

// ready reports whether there may be something to send. Without profile a
// server learns the Connection ID from its client (§3.4 Connection ID).
func (q *queuePair) ready(w *wire) bool {
	return w.stream.Known && (q.sqNext < q.sq.tail || q.rspNext < q.resp.tail)
}

// pump sends what goes without waiting and reports whether the token is free
// again; otherwise the writer must have it.
func (q *queuePair) pump(w *wire) bool {
	for range inlineRounds {
		q.out.reset()
		more := q.fill(w, true)
		if q.ending || q.out.empty() && !more {
			q.releaseToken()
			return true
		}
		if q.out.empty() {
			return false
		}
		q.ioCount++
		q.mu.Unlock()
		q.out.seal()
		n, err := w.try(q.out.bufs[0])
		q.mu.Lock()
		switch whole := q.out.advance(n); {
		case err != nil:
			w.truncated = true
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

// writeLoop is the writer: it sends what has to wait for the peer.
func (q *queuePair) writeLoop() {
	w := q.wire.Load()
	for {
		select {
		case <-q.endStarted:
			return
		case <-q.handoff:
		}
		q.mu.Lock()
		for q.write(w) {
			q.mu.UnlockNotify() // lets notifications out
			q.mu.Lock()
		}
		q.releaseToken()
		q.mu.UnlockNotify()
	}
}

// write does one write and reports whether there may be more to do.
func (q *queuePair) write(w *wire) bool {
	if q.ending {
		return false
	}
	w.sending.Store(true) // before anything is pinned
	defer w.sending.Store(false)
	if len(q.out.bufs) == 0 { // else the rest of what somebody else tried
		q.out.reset()
		q.fill(w, false)
		if q.ending || q.out.empty() {
			q.out.unpin()
			return false
		}
	}
	q.ioCount++
	q.mu.Unlock()
	if !q.out.sealed {
		q.out.seal()
	}
	whole, err := false, error(nil)
	if w.raw != nil && len(q.out.bufs) == 1 { // nothing pinned: mostly no need to wait
		var n int
		n, err = w.try(q.out.bufs[0])
		whole = q.out.advance(n)
		w.truncated = w.truncated || err != nil
	}
	if err == nil && !whole {
		err = w.send(q.out, q.out.unpin)
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

// sent completes what the batch just written had as a whole.
func (q *queuePair) sent() {
	s := &q.dev.stats
	s.sentDirect.Add(int64(q.out.direct))
	s.sentStaged.Add(int64(q.out.staged))
	for i := max(q.out.first, q.sq.head); i < q.out.requests; i++ {
		if r := q.sq.at(i); r.opcode != verbs.RDMARead {
			r.done = true
		}
	}
	q.completeSends()
	if q.resp.head < q.out.responses {
		for q.resp.head < q.out.responses {
			q.resp.pop()
		}
		q.completeRecvs() // those that had to wait for it
		q.wake()
	}
	q.out.bufs = nil
}

// writeFailed ends the connection for an error of the stream.
func (q *queuePair) writeFailed(err error) {
	if err = q.dev.vanished(err); err == errSlow {
		err = fmt.Errorf("the peer took nothing for %v: %w", q.dev.cfg.SendTimeout, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	}
	q.end(fmt.Errorf("%w: queue pair %d: write: %w", verbs.ErrConnectionBroken, q.Num(), err), report{reason: reasonSlow})
}
