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
	batchArena    = 16 << 10  // bytes of the arena
	batchSegments = 128       // segments at most
	batchBytes    = 256 << 10 // direct payload of a full batch

	// arenaRoom is the most that a segment needs of the arena.
	arenaRoom = segment.LongHeader + segment.MaxControl + StageLimit + 3 + segment.TrailerSize
)

// batch is a sequence of segments that are sent by one write: filled by add, sealed by
// seal, then written.
type batch struct {
	arena  []byte // headers, control data, staged payload, padding and CRCs, in order
	segs   []part
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

// part is a segment in a batch. It consists of bytes start to body of the arena,
// elements pay to payEnd of batch.pay, bytes body to crc of the arena, and the CRC.
type part struct{ start, body, crc, pay, payEnd int }

// batches are the batches that no connection has borrowed.
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

// add adds a segment with bytes off to off+n of a pinned list as its payload. It
// returns true if the payload is direct: then the list must stay pinned until the batch
// is written.
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

// seal computes the CRCs and sets bufs.
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
