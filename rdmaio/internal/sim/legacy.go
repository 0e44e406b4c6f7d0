package sim

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// What ends of connections do that follow draft-ietf-nfsv4-rpcrdma-08 where RFC 8166 took something back: servers put replies
// that fit nowhere into memory for the client to read, clients say RDMA_DONE, and messages have padding. The engines
// do the first two by themselves; they never send padding, so the network puts some into messages on their way.

// doneTimeout is how long an engine waits for RDMA_DONE.
const doneTimeout = 8 * chainTimeout

// lends reports whether a reply to an RPC goes by read chunks if it fits nowhere.
func (d *draw) lends(p *rpc) bool { return d.legacy && p.from == 0 && len(p.places) == 0 }

// lendReply shapes a reply that goes by read chunks: the spans that may, and the rest if that does not fit.
func (e *end) lendReply(q *engine.Request, p *rpc) (a engine.Answer) {
	p.lent = true
	give := func(position int, data []byte) {
		r := e.register(e.give(q, data), verbs.AccessRemoteRead)
		e.reads[q] = append(e.reads[q], r)
		e.split(r, 1+e.w.rng.IntN(min(3, len(data))), func(s header.Segment) {
			a.Reads = append(a.Reads, header.ReadSegment{Position: uint32(position), Segment: s})
		})
	}
	rest := without(p.want, p.back)
	if header.PrefixSize+q.Lists.Size()+24*3*len(p.back)+len(rest) > e.link.inline[e.i] {
		give(0, rest)
	} else {
		a.Payload = [][]byte{rest}
	}
	for _, c := range p.back {
		give(c.at, p.want[c.at:c.at+c.n])
	}
	return a
}

// released ends the keys of a reply, and fills what the handler gave with what must never be seen.
func (e *end) released(q *engine.Request) {
	for _, r := range e.reads[q] {
		r.live = false
	}
	for _, b := range e.given[q] {
		copy(b, poisoned(len(b)))
	}
	delete(e.reads, q)
	delete(e.given, q)
}

// pad makes a message that begins its RPC message at payload one with padding (§3.9 of the draft), now and then, if
// that fits in so much room. All that is behind the RPC's head is taken for one item.
func (w *world) pad(b []byte, payload, room int) []byte {
	align := 4 << w.rng.IntN(6)
	item := len(b) - payload - headSize
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

// strip takes padding out again, as the decoder of an RPC message that is known to have n bytes would.
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
