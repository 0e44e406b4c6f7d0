package stream

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
)

const (
	batchArena  = 64 << 10  // bytes of the arena
	batchFrames = 128       // frames at most
	batchBytes  = 256 << 10 // direct payload of a full batch
)

// batch is a sequence of frames that are sent by one write: filled by add, sealed by
// seal, then written.
type batch struct {
	arena  []byte // headers, staged payload, padding and checksums, in order
	frames []part
	pay    [][]byte       // direct payload, in order
	pins   []*soft.Region // the regions of pay, pinned
	direct int            // bytes of direct payload
	staged int            // bytes of staged payload

	bufs   net.Buffers // what remains to be written
	sealed bool
	iov    net.Buffers // memory for bufs

	first               uint64 // number of the first request in the batch
	requests, responses uint64 // those with smaller numbers are in this batch or earlier ones
}

// part is a frame in a batch. It consists of bytes start to body of the arena,
// elements pay to payEnd of batch.pay, bytes body to sum of the arena, and the checksum.
type part struct{ start, body, sum, pay, payEnd int }

// zeros are the padding and the trailer of a frame, before its checksum is known.
var zeros [padding + trailerSize]byte

// batches are the batches that no connection has borrowed.
var batches = sync.Pool{New: func() any { return &batch{arena: make([]byte, 0, batchArena)} }}

func (b *batch) reset() {
	clear(b.pay)
	clear(b.pins)
	clear(b.iov[:cap(b.iov)])
	*b = batch{arena: b.arena[:0], frames: b.frames[:0], pay: b.pay[:0], pins: b.pins[:0], iov: b.iov[:0]}
}

// full reports whether another frame might not fit.
func (b *batch) full(s *Shape) bool {
	room := s.MaxHead + s.StageSend + padding + trailerSize
	return len(b.frames) >= batchFrames || cap(b.arena)-len(b.arena) < room || b.direct >= batchBytes
}

func (b *batch) empty() bool { return len(b.arena) == 0 }

// add adds the frame whose header was appended to the arena at start, with bytes off to off+n of a
// pinned list as its payload. It returns true if the payload is direct: then the list must stay
// pinned until the batch is written.
func (b *batch) add(start int, sgl soft.List, off, n, stageLimit int) (holds bool) {
	p := part{start: start, pay: len(b.pay)}
	size := len(b.arena) - start + n
	if holds = n > stageLimit; holds {
		b.pay = sgl.Pieces(b.pay, off, n)
		b.direct += n
	} else {
		b.arena = sgl.AppendTo(b.arena, off, n)
		b.staged += n
	}
	p.payEnd = len(b.pay)
	p.body = len(b.arena)
	p.sum = p.body + -size&padding
	b.arena = append(b.arena, zeros[:p.sum-p.body+trailerSize]...)
	b.frames = append(b.frames, p)
	return holds
}

// seal computes the checksums, unless update is nil, and sets bufs.
func (b *batch) seal(update func(sum uint32, b []byte) uint32) {
	b.sealed = true
	run := 0
	iov := b.iov[:0]
	for i := range b.frames {
		p := &b.frames[i]
		pay := b.pay[p.pay:p.payEnd]
		if len(pay) > 0 {
			iov = append(iov, b.arena[run:p.body])
			run = p.body
			iov = append(iov, pay...)
		}
		if update != nil {
			sum := update(0, b.arena[p.start:p.body])
			for _, s := range pay {
				sum = update(sum, s)
			}
			if p.body < p.sum {
				sum = update(sum, b.arena[p.body:p.sum])
			}
			binary.LittleEndian.PutUint32(b.arena[p.sum:], sum)
		}
	}
	b.iov = append(iov, b.arena[run:])
	b.bufs = b.iov
}

// advance removes n written bytes from bufs, of a batch without direct payload. It
// reports whether all is written.
func (b *batch) advance(n int) bool {
	b.bufs[0] = b.bufs[0][n:]
	if len(b.bufs[0]) == 0 {
		b.bufs = b.bufs[1:]
	}
	return len(b.bufs) == 0
}

// copyRest copies what remains to be written, so that its regions can be unpinned.
func (b *batch) copyRest() {
	if len(b.pay) == 0 {
		return
	}
	n := 0
	for _, s := range b.bufs {
		n += len(s)
	}
	all := make([]byte, 0, n)
	for _, s := range b.bufs {
		all = append(all, s...)
	}
	b.staged += b.direct
	b.direct = 0
	clear(b.pay)
	b.pay = b.pay[:0]
	b.bufs = append(b.iov[:0], all)
}

// writeEach writes bufs to a stream that has no gathering write.
func (b *batch) writeEach(to io.Writer) error {
	for len(b.bufs) > 0 {
		n, err := to.Write(b.bufs[0])
		if b.bufs[0] = b.bufs[0][n:]; err != nil {
			return err
		}
		b.bufs = b.bufs[1:]
	}
	return nil
}

// unpin unpins the regions of the batch.
func (b *batch) unpin() {
	for _, mr := range b.pins {
		mr.Unpin()
	}
	clear(b.pins)
	b.pins = b.pins[:0]
}
