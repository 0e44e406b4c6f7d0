package stream

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// receiveStaged reads the rest of a frame and checks its checksum, unless that was summed before,
// then places the payload.
func (rd *reader) receiveStaged(c *Conn, f *Frame, summed bool) error {
	end := f.Head + f.Payload + f.Pad
	b, err := rd.need(c, end+trailerSize)
	if err != nil {
		return unexpected(err)
	}
	if c.sum != nil && !summed {
		if err := c.checkSum(f, c.sum(0, b[:end]), b[end:]); err != nil {
			return err
		}
	}
	c.input.skip(len(b))
	behind := c.input.readAhead < inputSize // few short frames ago there was a long one
	c.lookAhead()
	if f.Observe {
		c.framer.Observe(f, rd.q.Num())
	}
	rd.q.mu.Lock()
	defer rd.s.unlock()
	if rd.q.ending {
		return errClosing
	}
	rd.s.noteArrival()
	// With a part of the next long one at hand, most of it has probably arrived.
	c.noWait = c.noWait || behind && c.input.w > c.input.r
	if rd.s.corked || c.noWait || c.frameBuffered() {
		rd.s.cork(0)
	}
	if n := f.Payload; n > 0 {
		if !rd.in.target.Pin() {
			return rd.targetGone(f)
		}
		rd.in.target.CopyFrom(b[f.Head:f.Head+n], f.Offset)
		copy(rd.in.lent(f), b[f.Head:f.Head+n])
		rd.in.target.Unpin()
		rd.q.dev.stats.receivedStaged.Add(int64(n))
	}
	return rd.commit(c, f)
}

// lookAhead sets the read-ahead after a staged frame: up to inputSize soon, and longInput when such
// frames come faster than they are read.
func (c *Conn) lookAhead() {
	in := &c.input
	switch {
	case in.readAhead < inputSize:
		in.readAhead = min(inputSize, max(2*in.readAhead, aheadBehind))
	case in.filled && c.raw != nil:
		in.readAhead = longInput
	}
}

// receiveDirect reads the payload of a frame into its target and computes the checksum at the same
// time. If the checksum is wrong, the connection is closed and the content of the target is
// undefined.
func (rd *reader) receiveDirect(c *Conn, f *Frame) error {
	b, err := rd.need(c, f.Head)
	if err != nil {
		return err
	}
	sum := uint32(0)
	if c.sum != nil {
		sum = c.sum(0, b)
	}
	c.input.skip(f.Head)
	c.input.readAhead = padding + trailerSize + rd.q.dev.cfg.Shape.Header
	if f.End {
		c.input.readAhead = aheadBehind
	}
	if sum, err = rd.place(c, f, sum); err != nil {
		return err
	}
	if b, err = rd.need(c, f.Pad+trailerSize); err != nil {
		return err
	}
	if c.sum != nil {
		err = c.checkSum(f, c.sum(sum, b[:f.Pad]), b[f.Pad:])
	}
	c.input.skip(len(b))
	return err
}

// place reads the payload into its target and returns the updated checksum.
func (rd *reader) place(c *Conn, f *Frame, sum uint32) (uint32, error) {
	if err := rd.pinTarget(c, f, 0); err != nil {
		return 0, err
	}
	staged, direct := 0, 0
	for i, done := 0, 0; done < f.Payload; {
		to := rd.in.pieces[i]
		room := 0
		if i == len(rd.in.pieces)-1 {
			room = c.input.readAhead // the same call reads the trailer and what follows it
		}
		n := c.input.copyAhead(to)
		if staged += n; n == 0 {
			var err error
			n, err = c.read(to, room, true)
			if err != nil {
				rd.unpinTarget(c)
			}
			if err == errIdle {
				rd.flush(c)
			}
			if err == errIdle || err == errInterrupted {
				if err = rd.pinTarget(c, f, done); err == nil {
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
		if rd.in.pieces[i] = to[n:]; n == len(to) {
			i++
		}
	}
	rd.unpinTarget(c)
	clear(rd.in.pieces)
	if c.tcp == nil {
		staged, direct = staged+direct, 0
	}
	rd.q.dev.stats.receivedStaged.Add(int64(staged))
	rd.q.dev.stats.receivedDirect.Add(int64(direct))
	return sum, nil
}

// pinTarget pins the target of a frame for as long as its payload is read, and sets
// pieces to the memory for the payload from byte done on. The pieces are valid until
// unpinTarget: a region may then be redirected to other memory (verbs.Redirector; R289).
func (rd *reader) pinTarget(c *Conn, f *Frame, done int) error {
	rd.q.mu.Lock()
	if rd.q.ending {
		rd.q.mu.Unlock()
		return errClosing
	}
	rd.q.ioCount++
	rd.q.mu.Unlock()
	c.placing.Store(true)
	if rd.in.target.Pin() {
		rd.in.pieces = rd.in.target.Pieces(rd.in.pieces[:0], f.Offset+done, f.Payload-done)
		if lent := rd.in.lent(f); lent != nil {
			rd.in.pieces = append(rd.in.pieces, lent[done:f.Payload])
		}
		return nil
	}
	c.placing.Store(false)
	rd.q.mu.Lock()
	defer rd.q.mu.UnlockNotify()
	err := rd.targetGone(f)
	rd.q.ioDone()
	return err
}

// unpinTarget releases what pinTarget has pinned.
func (rd *reader) unpinTarget(c *Conn) {
	rd.in.target.Unpin()
	c.placing.Store(false)
	rd.q.mu.Lock()
	rd.q.ioDone()
	rd.s.unlock()
}

// targetGone breaks the connection because the target of a frame is no longer a valid region. q.mu
// must be held.
func (rd *reader) targetGone(f *Frame) error {
	if rd.q.ending {
		return errClosing
	}
	switch f.Kind {
	case KindWrite:
		return rd.refuseAccess(f, soft.Invalidated)
	case KindSend:
		r := rd.q.messages.at(rd.in.recv)
		r.done, r.wc = true, verbs.WC{Status: verbs.StatusLocalProtection}
		return rd.q.refuse(Report{Reason: ReasonFailed, AtHand: true, Number: f.Number}, "region of the Receive was invalidated after the post")
	}
	r := rd.q.oldestRead()
	r.done, r.status = true, verbs.StatusLocalProtection
	return rd.q.refuse(Report{Reason: ReasonFailed, AtHand: true, Number: f.Number}, "region of the Read was invalidated after the post")
}

// checkSum compares the computed checksum with the frame's.
func (c *Conn) checkSum(f *Frame, sum uint32, field []byte) error {
	if found := binary.LittleEndian.Uint32(field); found != sum {
		return &breach{c.framer.BadSum(f, found, sum)}
	}
	return nil
}
