package sim

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// This file has the parts of draft-ietf-nfsv4-rpcrdma-08 that RFC 8166 withdrew: servers offer
// replies that do not fit otherwise as read chunks, clients acknowledge them by RDMA_DONE, and
// messages have padding. The engines send read chunks and RDMA_DONE themselves. They never send
// padding, so the network adds it to messages.

// doneTimeout is the engine.Config.DoneTimeout of both ends.
const doneTimeout = 8 * chainTimeout

// mayOfferReadChunks reports whether the reply to p may have read chunks if it does not fit
// otherwise.
func (d *draw) mayOfferReadChunks(p *rpc) bool { return d.legacy && p.from == 0 && len(p.places) == 0 }

// offerReadChunks plans a reply with a read chunk for each span of p.back, and one at position zero
// for the rest if that does not fit inline.
func (e *end) offerReadChunks(q *engine.Request, p *rpc, reply []byte) (a engine.Answer) {
	p.byReadChunks = true
	give := func(position int, data []byte) {
		r := e.mem.register(e.mem.give(q, data), verbs.AccessRemoteRead)
		e.mem.reads[q] = append(e.mem.reads[q], r)
		e.split(r, 1+e.w.rng.IntN(min(3, len(data))), func(s header.Segment) {
			res := a.WithResults()
			res.Reads = append(res.Reads, header.ReadSegment{Position: uint32(position), Segment: s})
		})
	}
	rest := without(reply, p.back)
	if header.PrefixSize+q.Offered().Size()+24*3*len(p.back)+len(rest) > e.link.inline[e.i] {
		give(0, rest)
	} else {
		a.Payload = [][]byte{rest}
	}
	for _, c := range p.back {
		give(c.at, reply[c.at:c.at+c.n])
	}
	return a
}

// pad sometimes adds padding to a message whose RPC message begins at offset payload (draft §3.9),
// if the result fits into room bytes. It treats all bytes after the RPC's head as one item.
func (w *world) pad(b []byte, payload, room int) []byte {
	align := 4 << w.rng.IntN(6)
	item := len(b) - payload - headSize
	if item < 0 {
		return b // it was sabotaged
	}
	threshold := 1 + w.rng.IntN(2*item+2)
	skip := 0
	if item >= threshold {
		skip = -(payload + 8 + headSize) & (align - 1)
	}
	if len(b)+8+skip > room || !w.chance(Pad) {
		return b
	}
	out := append([]byte(nil), b[:16]...)
	out[15] = 2 // RDMA_MSGP
	out = binary.BigEndian.AppendUint32(out, uint32(align))
	out = binary.BigEndian.AppendUint32(out, uint32(threshold))
	out = append(out, b[16:payload+headSize]...)
	for range skip {
		out = append(out, 0x5a)
	}
	return append(out, b[payload+headSize:]...)
}

// strip removes the padding from an RPC message that has n bytes without it.
func strip(b []byte, p engine.Padding, n int) []byte {
	if p.Align == 0 || n-headSize < int(p.Threshold) {
		return b
	}
	skip := -(p.Start + headSize) & int(p.Align-1)
	if len(b) < headSize+skip {
		return b
	}
	return append(b[:headSize:headSize], b[headSize+skip:]...)
}
