package rdmatcp

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// receiveStaged reads the rest of a segment and checks its CRC, then places the payload.
func (q *queuePair) receiveStaged(w *wire, h *segment.Header) error {
	b, err := q.need(w, h.Wire())
	if err != nil {
		return unexpected(err)
	}
	end := len(b) - segment.TrailerSize
	if err := checkCRC(h, crc.Checksum(b[:end]), b[end:]); err != nil {
		return err
	}
	w.skip(len(b))
	behind := w.readAhead < inputSize // few short segments ago there was a long one
	w.readAhead = min(inputSize, max(2*w.readAhead, aheadBehind))
	q.deliverControl(h)
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	q.noteArrival()
	w.noWait = w.noWait || behind && w.w > w.r // most of the next long one has probably arrived
	if q.corked || w.noWait || w.segmentBuffered() {
		q.cork(0)
	}
	if n := h.Payload(); n > 0 {
		from := b[int(h.Length)-n : h.Length]
		if !q.in.target.Pin() {
			return q.targetGone(h)
		}
		q.in.pieces = q.in.target.Pieces(q.in.pieces[:0], q.in.off, n)
		for _, to := range q.in.pieces {
			from = from[copy(to, from):]
		}
		q.in.target.Unpin()
		clear(q.in.pieces)
		q.dev.stats.receivedStaged.Add(int64(n))
	}
	return q.commit(h)
}

// receiveDirect reads the payload of a segment into its target and computes the CRC
// meanwhile. If the CRC is wrong, the connection ends and the content of the target is
// undefined.
func (q *queuePair) receiveDirect(w *wire, h *segment.Header, head int) error {
	b, err := q.need(w, head)
	if err != nil {
		return err
	}
	sum := crc.Checksum(b)
	w.skip(head)
	w.readAhead = aheadInside
	if h.End {
		w.readAhead = aheadBehind
	}
	if sum, err = q.place(w, h, sum); err != nil {
		return err
	}
	pad := h.Padding()
	if b, err = q.need(w, pad+segment.TrailerSize); err != nil {
		return err
	}
	sum = crc.Update(sum, b[:pad])
	w.skip(len(b))
	return checkCRC(h, sum, b[pad:])
}

// place reads the payload into its target and returns the updated CRC.
func (q *queuePair) place(w *wire, h *segment.Header, sum uint32) (uint32, error) {
	if err := q.pinTarget(w, h, 0); err != nil {
		return 0, err
	}
	staged, direct := 0, 0
	for i, done := 0, 0; done < h.Payload(); {
		to := q.in.pieces[i]
		room := 0
		if i == len(q.in.pieces)-1 {
			room = w.readAhead // the same call reads the CRC and what follows it
		}
		n := w.copyAhead(to)
		if staged += n; n == 0 {
			var err error
			n, err = w.read(to, room, true)
			if err != nil {
				q.unpinTarget(w)
			}
			if err == errIdle {
				q.flush(w)
			}
			if err == errIdle || err == errInterrupted {
				if err = q.pinTarget(w, h, done); err == nil {
					i = 0
					continue
				}
			}
			if err != nil {
				return 0, err
			}
			direct += n
		}
		sum = crc.Update(sum, to[:n])
		done += n
		if q.in.pieces[i] = to[n:]; n == len(to) {
			i++
		}
	}
	q.unpinTarget(w)
	clear(q.in.pieces)
	if w.tcp == nil {
		staged, direct = staged+direct, 0
	}
	q.dev.stats.receivedStaged.Add(int64(staged))
	q.dev.stats.receivedDirect.Add(int64(direct))
	return sum, nil
}

// pinTarget pins the target of a segment for as long as its payload is read, and sets
// pieces to the memory for the payload from byte done on. The pieces are valid until
// unpinTarget: a region may then be redirected to other memory (verbs.Redirector; R289).
func (q *queuePair) pinTarget(w *wire, h *segment.Header, done int) error {
	q.mu.Lock()
	if q.ending {
		q.mu.Unlock()
		return errClosing
	}
	q.ioCount++
	q.mu.Unlock()
	w.placing.Store(true)
	if q.in.target.Pin() {
		q.in.pieces = q.in.target.Pieces(q.in.pieces[:0], q.in.off+done, h.Payload()-done)
		return nil
	}
	w.placing.Store(false)
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	err := q.targetGone(h)
	q.ioDone()
	return err
}

// unpinTarget releases what pinTarget has pinned.
func (q *queuePair) unpinTarget(w *wire) {
	q.in.target.Unpin()
	w.placing.Store(false)
	q.mu.Lock()
	q.ioDone()
	q.unlock()
}

// targetGone ends the connection because the target of a segment is no longer a valid
// region. mu is held.
func (q *queuePair) targetGone(h *segment.Header) error {
	if q.ending {
		return errClosing
	}
	switch h.Type {
	case segment.Write:
		return q.refuseAccess(h, "region was invalidated")
	case segment.Send:
		r := q.rq.at(q.in.recv)
		r.done, r.wc = true, verbs.WC{Status: verbs.StatusLocalProtection}
		return q.refuse(reasonFailed, h.Number, 0, "region of the Receive was invalidated after the post")
	}
	r := q.sq.at(*q.reads.at(q.reads.head))
	r.done, r.status = true, verbs.StatusLocalProtection
	return q.refuse(reasonFailed, h.Number, 0, "region of the Read was invalidated after the post")
}

// checkCRC compares the computed CRC with that of the segment.
func checkCRC(h *segment.Header, sum uint32, field []byte) error {
	if found := crc.Get(field); found != sum {
		return &segment.Error{Rule: segment.BadCRC, Type: h.Type, Got: uint64(found), Want: uint64(sum)}
	}
	return nil
}
