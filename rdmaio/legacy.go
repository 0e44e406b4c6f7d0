package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Padding tells where a message that came as RDMA_MSGP has bytes that belong to no item. The zero Padding is that of
// all other messages. Only who decodes the RPC message can skip them, since only there
// it is known where opaque items are.
type Padding struct {
	Align, Threshold uint32
	Start            int // offset of the RPC message in the whole one, header included
}

// Skip is how many bytes of padding stand between the length word of an opaque item of n bytes and its data, where
// at is the offset in the message behind that word, padding before it included. Items of Threshold bytes or more
// are aligned, counted from the start of the RPC-over-RDMA header: so they are in the memory of the Receive
// (draft-ietf-nfsv4-rpcrdma-08 §3.9, which says both "at or above" and "exceeds"; R111, A20).
func (p *Padding) Skip(at, n int) int {
	if p.Align == 0 || uint64(n) < uint64(p.Threshold) {
		return 0
	}
	return -(p.Start + at) & int(p.Align-1)
}

// lend makes a reply that fits nowhere one with read chunks: its items, and if the rest does not fit either the whole
// of that at position zero (draft-ietf-nfsv4-rpcrdma-08 §3.4; R104). The keys end when the
// peer has said RDMA_DONE, or with the connection.
func (r *Request) lend(m *Message) error {
	c := r.conn
	most := c.terms.Load().Send
	count, segments := 0, 0
	for i := range m.Items {
		if n := c.segments(len(m.Items[i].Data)); n > 0 {
			count++
			segments += n
		}
	}
	room := most - header.PrefixSize - r.req.Lists.Size()
	need := 24*segments + len(m.Inline)
	long := need > room
	if long {
		count++
		need = 24 * (segments + c.segments(len(m.Inline)))
	}
	if need > room {
		return &SizeError{What: "header of the reply", Need: most - room + need, Limit: most, Hint: "use fewer items, or a larger Config.InlineSend here and InlineRecv at the peer"}
	}
	if err := c.few("read chunks of the reply", count); err != nil {
		return err
	}
	a := &r.req.Answer
	lend := func(position uint32, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		mr, err := r.region(data, verbs.AccessRemoteRead) // R304
		if err == nil {
			a.Reads = c.readSegments(a.Reads, position, mr.MemoryRegion, len(data))
		}
		return err
	}
	if long {
		if err := lend(0, m.Inline); err != nil {
			return err
		}
	} else {
		a.Payload = m.pieces(a.Payload, none)
	}
	for i := range m.Items {
		if err := m.reachable(i); err != nil {
			return err
		}
		if err := lend(uint32(m.Items[i].Position), m.Items[i].Data); err != nil {
			return err
		}
	}
	return nil
}
