package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Padding describes the alignment of the opaque items in a message that came as RDMA_MSGP. All
// other messages have the zero Padding. Only the code that decodes the RPC message can skip the
// padding, because it knows where the opaque items are.
type Padding struct {
	// Align is the alignment in bytes, and Threshold the size in bytes of the smallest item that
	// has it. If Align is zero, there is no padding.
	Align, Threshold uint32

	// Start is the offset of the RPC message in the whole message, header included.
	Start int
}

// Skip returns the number of bytes of padding between the length word of an opaque item of n bytes
// and its data. at is the offset in the message behind the length word, earlier padding included.
// Items of Threshold bytes or more are aligned from the start of the RPC-over-RDMA header, as they
// are in the memory of the Receive (draft-ietf-nfsv4-rpcrdma-08 §3.9, which says both "at or above"
// and "exceeds"; R111, A20).
func (p *Padding) Skip(at, n int) int {
	if p.Align == 0 || uint64(n) < uint64(p.Threshold) {
		return 0
	}
	return -(p.Start + at) & int(p.Align-1)
}

// offerReadChunks makes a reply that fits nowhere else one with read chunks: one for each item, and
// if the rest does not fit inline, one at position zero for the rest (draft-ietf-nfsv4-rpcrdma-08
// §3.4; R104). The keys are invalidated when the peer has sent RDMA_DONE, or with the connection.
func (r *Request) offerReadChunks(m *Message) error {
	c := r.conn
	count, total := 0, 0
	for i := range m.Items {
		if n := segments(len(m.Items[i].Data), c.set.SegmentSize); n > 0 {
			count++
			total += n
		}
	}
	room := c.sendRoom(&r.req.Lists)
	need := 24*total + len(m.Inline)
	long := need > room
	if long {
		count++
		need = 24 * (total + segments(len(m.Inline), c.set.SegmentSize))
	}
	if need > room {
		most := c.agreed.Load().Send
		return &SizeError{What: "header of the reply", Need: most - room + need, Limit: most, Hint: "use fewer items, or a larger Config.InlineSend here and InlineRecv at the peer"}
	}
	if err := c.checkChunks("read chunks of the reply", count); err != nil {
		return err
	}
	a := &r.req.Answer
	offer := func(position uint32, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		mr, err := r.region(data, verbs.AccessRemoteRead) // R304
		if err == nil {
			a.Reads = readSegments(a.Reads, position, mr.MemoryRegion, len(data), c.set.SegmentSize)
		}
		return err
	}
	if long {
		if err := offer(0, m.Inline); err != nil {
			return err
		}
	} else {
		a.Payload = m.pieces(a.Payload, none)
	}
	for i := range m.Items {
		if err := m.checkPosition(i); err != nil {
			return err
		}
		if err := offer(uint32(m.Items[i].Position), m.Items[i].Data); err != nil {
			return err
		}
	}
	return nil
}
