package stream

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// receiveStaged reads the rest of a frame and checks its checksum, unless that was summed before,
// then places the payload.
func (q *queuePair) receiveStaged(c *Conn, f *Frame, summed bool) error {
	end := f.Head + f.Payload + f.Pad
	b, err := q.need(c, end+trailerSize)
	if err != nil {
		return unexpected(err)
	}
	if c.sum != nil && !summed {
		if err := c.checkSum(f, c.sum(0, b[:end]), b[end:]); err != nil {
			return err
		}
	}
	c.skip(len(b))
	behind := c.readAhead < inputSize // few short frames ago there was a long one
	c.lookAhead()
	if f.Observe {
		c.framer.Observe(f, q.Num())
	}
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	q.noteArrival()
	c.noWait = c.noWait || behind && c.w > c.r // most of the next long one has probably arrived
	if q.corked || c.noWait || c.frameBuffered() {
		q.cork(0)
	}
	if n := f.Payload; n > 0 {
		if !q.in.target.Pin() {
			return q.targetGone(f)
		}
		q.in.target.CopyFrom(b[f.Head:f.Head+n], f.Offset)
		copy(q.in.lent(f), b[f.Head:f.Head+n])
		q.in.target.Unpin()
		q.dev.stats.receivedStaged.Add(int64(n))
	}
	return q.commit(c, f)
}

// lookAhead sets the read-ahead after a staged frame: up to inputSize soon, and longInput when such
// frames come faster than they are read.
func (c *Conn) lookAhead() {
	switch {
	case c.readAhead < inputSize:
		c.readAhead = min(inputSize, max(2*c.readAhead, aheadBehind))
	case c.filled && c.raw != nil:
		c.readAhead = longInput
	}
}

// receiveDirect reads the payload of a frame into its target and computes the checksum at the same
// time. If the checksum is wrong, the connection is closed and the content of the target is
// undefined.
func (q *queuePair) receiveDirect(c *Conn, f *Frame) error {
	b, err := q.need(c, f.Head)
	if err != nil {
		return err
	}
	sum := uint32(0)
	if c.sum != nil {
		sum = c.sum(0, b)
	}
	c.skip(f.Head)
	c.readAhead = padding + trailerSize + q.dev.cfg.Shape.Header
	if f.End {
		c.readAhead = aheadBehind
	}
	if sum, err = q.place(c, f, sum); err != nil {
		return err
	}
	if b, err = q.need(c, f.Pad+trailerSize); err != nil {
		return err
	}
	if c.sum != nil {
		err = c.checkSum(f, c.sum(sum, b[:f.Pad]), b[f.Pad:])
	}
	c.skip(len(b))
	return err
}

// place reads the payload into its target and returns the updated checksum.
func (q *queuePair) place(c *Conn, f *Frame, sum uint32) (uint32, error) {
	if err := q.pinTarget(c, f, 0); err != nil {
		return 0, err
	}
	staged, direct := 0, 0
	for i, done := 0, 0; done < f.Payload; {
		to := q.in.pieces[i]
		room := 0
		if i == len(q.in.pieces)-1 {
			room = c.readAhead // the same call reads the trailer and what follows it
		}
		n := c.copyAhead(to)
		if staged += n; n == 0 {
			var err error
			n, err = c.read(to, room, true)
			if err != nil {
				q.unpinTarget(c)
			}
			if err == errIdle {
				q.flush(c)
			}
			if err == errIdle || err == errInterrupted {
				if err = q.pinTarget(c, f, done); err == nil {
					i = 0
					continue
				}
			}
			if err != nil {
				return 0, err
			}
			direct += n
		}
		if c.sum != nil {
			sum = c.sum(sum, to[:n])
		}
		done += n
		if q.in.pieces[i] = to[n:]; n == len(to) {
			i++
		}
	}
	q.unpinTarget(c)
	clear(q.in.pieces)
	if c.tcp == nil {
		staged, direct = staged+direct, 0
	}
	q.dev.stats.receivedStaged.Add(int64(staged))
	q.dev.stats.receivedDirect.Add(int64(direct))
	return sum, nil
}

// pinTarget pins the target of a frame for as long as its payload is read, and sets
// pieces to the memory for the payload from byte done on. The pieces are valid until
// unpinTarget: a region may then be redirected to other memory (verbs.Redirector; R289).
func (q *queuePair) pinTarget(c *Conn, f *Frame, done int) error {
	q.mu.Lock()
	if q.ending {
		q.mu.Unlock()
		return errClosing
	}
	q.ioCount++
	q.mu.Unlock()
	c.placing.Store(true)
	if q.in.target.Pin() {
		q.in.pieces = q.in.target.Pieces(q.in.pieces[:0], f.Offset+done, f.Payload-done)
		if lent := q.in.lent(f); lent != nil {
			q.in.pieces = append(q.in.pieces, lent[done:f.Payload])
		}
		return nil
	}
	c.placing.Store(false)
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	err := q.targetGone(f)
	q.ioDone()
	return err
}

// unpinTarget releases what pinTarget has pinned.
func (q *queuePair) unpinTarget(c *Conn) {
	q.in.target.Unpin()
	c.placing.Store(false)
	q.mu.Lock()
	q.ioDone()
	q.unlock()
}

// targetGone breaks the connection because the target of a frame is no longer a valid region. q.mu
// must be held.
func (q *queuePair) targetGone(f *Frame) error {
	if q.ending {
		return errClosing
	}
	switch f.Kind {
	case KindWrite:
		return q.refuseAccess(f, soft.Invalidated)
	case KindSend:
		r := q.messages.at(q.in.recv)
		r.done, r.wc = true, verbs.WC{Status: verbs.StatusLocalProtection}
		return q.refuse(Report{Reason: ReasonFailed, AtHand: true, Number: f.Number}, "region of the Receive was invalidated after the post")
	}
	r := q.oldestRead()
	r.done, r.status = true, verbs.StatusLocalProtection
	return q.refuse(Report{Reason: ReasonFailed, AtHand: true, Number: f.Number}, "region of the Read was invalidated after the post")
}

// checkSum compares the computed checksum with the frame's.
func (c *Conn) checkSum(f *Frame, sum uint32, field []byte) error {
	if found := binary.LittleEndian.Uint32(field); found != sum {
		return &breach{c.framer.BadSum(f, found, sum)}
	}
	return nil
}
