package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// offerReadChunks makes a reply that fits nowhere else one with read chunks: one for each item, and
// if the rest does not fit inline, one at position zero for the rest (draft-ietf-nfsv4-rpcrdma-08
// §3.4; R104). The keys are invalidated when the peer has sent RDMA_DONE, or with the connection.
func (r *request) offerReadChunks(m *Message) error {
	c := r.host
	count, total := 0, 0
	for i := range m.Items {
		if n := segments(len(m.Items[i].Data), c.set.SegmentSize); n > 0 {
			count++
			total += n
		}
	}
	room := c.agreed.Load().sendRoom(r.req.Offered())
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
	if err := c.set.checkChunks("read chunks of the reply", count); err != nil {
		return err
	}
	a := &r.req.Answer
	offer := func(position uint32, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		mr, err := r.region(data, verbs.AccessRemoteRead) // R304
		if err == nil {
			res := a.WithResults()
			res.Reads = readSegments(res.Reads, position, mr.MemoryRegion, len(data), c.set.SegmentSize)
		}
		return err
	}
	if long {
		if err := offer(0, m.Inline); err != nil {
			return err
		}
	} else {
		a.Payload = m.Gather(a.Payload, none)
	}
	for i := range m.Items {
		if err := checkPosition(m, i); err != nil {
			return err
		}
		if err := offer(uint32(m.Items[i].Position), m.Items[i].Data); err != nil {
			return err
		}
	}
	return nil
}
