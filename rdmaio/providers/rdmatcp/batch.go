package rdmatcp

import (
	"io"
	"net"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
)

const (
	batchArena    = 16 << 10
	batchSegments = 128
	batchBytes    = 256 << 10 // of payload that is not copied
	arenaRoom     = segment.LongHeader + segment.MaxControl + StageLimit + 3 + segment.TrailerSize
)

// batch is a run of segments that one write sends.
type batch struct {
	arena  []byte         // headers, copied payload, padding, CRCs, in order
	segs   []part         //
	pay    [][]byte       // payload that is not copied, in order
	pins   []*soft.Region // where it lies
	direct int            // bytes of it
	staged int            // bytes copied

	bufs   net.Buffers // what is still to be written
	sealed bool
	iov    net.Buffers // memory for bufs

	first               uint64 // number of the first request in it
	requests, responses uint64 // those before these numbers are in it as a whole
}

// part is a segment in a batch: bytes start to body of the arena, its share of
// pay, bytes body to crc of the arena and the CRC.
type part struct{ start, body, crc, pay, payEnd int }

// batches are those that no connection is filling: one that rests has none.
var batches = sync.Pool{New: func() any { return &batch{arena: make([]byte, 0, batchArena)} }}

func (b *batch) reset() {
	clear(b.pay)
	clear(b.pins)
	clear(b.iov[:cap(b.iov)])
	*b = batch{arena: b.arena[:0], segs: b.segs[:0], pay: b.pay[:0], pins: b.pins[:0], iov: b.iov[:0]}
}

// full reports whether another segment might not fit.
func (b *batch) full() bool {
	return len(b.segs) >= batchSegments || cap(b.arena)-len(b.arena) < arenaRoom || b.direct >= batchBytes
}

func (b *batch) empty() bool { return len(b.segs) == 0 }

// add adds a segment with bytes off to off+n of a list, which is pinned; it
// stays so as long as the answer is true.
func (b *batch) add(h *segment.Header, control []byte, sgl soft.List, off, n int) (holds bool) {
	h.CLEN = uint8(len(control) / 4)
	h.SetPayload(n)
	p := part{start: len(b.arena), pay: len(b.pay)}
	p.body = p.start + h.Type.HeaderSize()
	b.arena = b.arena[:p.body]
	h.Put(b.arena[p.start:])
	b.arena = append(b.arena, control...)
	b.pay = sgl.Pieces(b.pay, off, n)
	if holds = n > StageLimit; holds {
		b.direct += n
	} else {
		for _, s := range b.pay[p.pay:] {
			b.arena = append(b.arena, s...)
		}
		clear(b.pay[p.pay:])
		b.pay = b.pay[:p.pay]
		b.staged += n
	}
	p.payEnd = len(b.pay)
	p.body = len(b.arena)
	for range h.Padding() {
		b.arena = append(b.arena, 0) // §3.4 Padding
	}
	p.crc = len(b.arena)
	b.arena = b.arena[:p.crc+segment.TrailerSize]
	b.segs = append(b.segs, p)
	return holds
}

// seal computes the CRCs and lays the batch out for writing.
func (b *batch) seal() {
	b.sealed = true
	run := 0
	iov := b.iov[:0]
	for i := range b.segs {
		p := &b.segs[i]
		sum := crc.Checksum(b.arena[p.start:p.body])
		if p.pay < p.payEnd {
			iov = append(iov, b.arena[run:p.body])
			run = p.body
			for _, s := range b.pay[p.pay:p.payEnd] {
				sum = crc.Update(sum, s)
				iov = append(iov, s)
			}
		}
		sum = crc.Update(sum, b.arena[p.body:p.crc])
		crc.Put(b.arena[p.crc:], sum)
	}
	b.iov = append(iov, b.arena[run:])
	b.bufs = b.iov
}

// advance takes n bytes of a batch that is all in the arena off what is still to
// be written, and reports whether that was all.
func (b *batch) advance(n int) bool {
	b.bufs[0] = b.bufs[0][n:]
	if len(b.bufs[0]) == 0 {
		b.bufs = b.bufs[1:]
	}
	return len(b.bufs) == 0
}

// copyRest copies what is still to be written, so that the registered memory in it
// can be let go of.
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

// writeEach writes to a stream that knows no gather lists.
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

// unpin lets go of the registered memory in the batch.
func (b *batch) unpin() {
	for _, mr := range b.pins {
		mr.Unpin()
	}
	clear(b.pins)
	b.pins = b.pins[:0]
}
