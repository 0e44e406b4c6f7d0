package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// prepare chooses the shape of a Call's message and registers the memory that it offers.
//
// The whole message goes inline if it fits. Otherwise the items are read chunks and the rest goes
// inline. If that does not fit either, the rest is a chunk at position zero (RFC 8166 §3.5; R35,
// R75, R91).
func (c *Conn) prepare(s *slot, call *Call) error {
	e := &s.call
	e.Lists.Reset()
	e.Long = false
	e.Payload = e.Payload[:0]
	e.ReplyTo = call.ReplyBuf[:0:len(call.ReplyBuf)]
	chunks := c.role == engine.Requester || c.set.ReverseChunks // RFC 8167 §5.3; R275
	if chunks {
		if err := c.offer(s, call); err != nil {
			return err
		}
	}

	terms := c.terms.Load()
	room := c.sendRoom(&e.Lists)
	if call.size(all) <= room {
		e.Payload = call.pieces(e.Payload, all)
		return nil
	}
	if !chunks || terms.NoReadChunks {
		e := &SizeError{What: "Call", Need: terms.Send - room + call.size(all), Limit: terms.Send}
		e.Hint = "the peer makes no RDMA Reads (Terms.NoReadChunks), so a Call has to fit inline" // R297
		if !chunks {                                                                              // R276
			e.What, e.Hint = "reverse Call", "set Config.ReverseChunks at both ends, so that it can have chunks"
		}
		return e
	}
	need, items, count := len(call.Inline), 0, 0
	for i := range call.Items {
		if n := c.segments(len(call.Items[i].Data)); n > 0 {
			items += 24 * n
			count++
		}
	}
	long := need+items > room
	if long {
		need = 24 * c.segments(len(call.Inline))
		count++
	}
	if need+items > room {
		return &SizeError{
			What: "header of the Call", Need: terms.Send - room + need + items, Limit: terms.Send,
			Hint: "use fewer items and results, or a larger Config.InlineSend here and InlineRecv at the peer",
		}
	}
	if err := c.checkChunks("read chunks of the Call", count); err != nil {
		return err
	}
	if long {
		e.Long = true
		// RFC 8166 §3.5.3: eligible or not; R46
		if err := c.offerRead(s, 0, call.Inline); err != nil {
			return err
		}
	} else {
		e.Payload = call.pieces(e.Payload, none)
	}
	for i := range call.Items { // RFC 8166 §6.1: only what the upper layer made eligible; R45
		it := &call.Items[i]
		if len(it.Data) == 0 {
			continue
		}
		if err := call.checkPosition(i); err != nil {
			return err
		}
		// RFC 8166 §3.4.4.4, §3.4.5.2: one item, without roundup; R51, R69
		if err := c.offerRead(s, uint32(it.Position), it.Data); err != nil {
			return err
		}
	}
	return nil
}

// offer registers the memory for results and the reply.
func (c *Conn) offer(s *slot, call *Call) error {
	l := &s.call.Lists
	last := len(call.Results)
	for last > 0 && len(call.Results[last-1]) == 0 {
		last-- // no chunk means the same as an empty one, and every peer understands it (R86)
	}
	if err := c.checkChunks("write chunks for Results", last); err != nil {
		return err
	}
	for i, buf := range call.Results[:last] {
		chunk := l.AddWrite(c.segments(len(buf)))
		if len(buf) == 0 {
			continue
		}
		if err := c.register(s, chunk[:0], buf, i); err != nil {
			return err
		}
	}
	// RFC 8166 §4.3.3: a reply chunk is needed if the largest reply does not fit inline behind the
	// lists that it returns; R96
	n := call.MaxReply
	if n == 0 {
		n = len(call.ReplyBuf)
	}
	if n <= c.recvRoom(l) {
		return nil
	}
	l.HasReply = true
	for range c.segments(n) {
		l.Reply = append(l.Reply, header.Segment{})
	}
	if call.MaxReply > 0 {
		s.ownsBuf = true
		return c.registerOwn(s, l.Reply[:0], n)
	}
	s.call.ReplyTo = nil // the peer can write there until the key is invalid
	return c.register(s, l.Reply[:0], call.ReplyBuf, replyChunk)
}

// registerOwn registers n bytes of the connection's memory for the reply and appends its segments
// to to.
func (c *Conn) registerOwn(s *slot, to []header.Segment, n int) error {
	mr, err := c.pool.RegisterOwn(n, c.access(verbs.AccessLocalWrite|verbs.AccessRemoteWrite)) // R304
	if err != nil {
		return err
	}
	s.regions = append(s.regions, callRegion{mr, ownReplyChunk})
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), n, uint32(c.set.SegmentSize))
	return nil
}

// checkChunks returns an error for more chunks than the peer is likely to accept. It has the same
// limit by default, and would answer with ERR_CHUNK, which does not say why.
func (c *Conn) checkChunks(what string, n int) error {
	if n <= c.set.MaxChunks {
		return nil
	}
	return &SizeError{
		What: "the number of " + what, Need: n, Limit: c.set.MaxChunks, Unit: "chunks",
		Hint: "use fewer items and results, or a larger Config.MaxChunks here and at the peer",
	}
}

// segments returns the number of segments of a chunk of n bytes.
func (c *Conn) segments(n int) int { return (n + c.set.SegmentSize - 1) / c.set.SegmentSize }

// access adds the right to invalidate a key to the rights of a region, if the peer may invalidate
// keys. It then may invalidate any of them, because it cannot know which are meant (RFC 8797 §3.2).
func (c *Conn) access(a verbs.Access) verbs.Access {
	if c.terms.Load().RemoteInvalidate && c.role == engine.Requester {
		a |= verbs.AccessRemoteInvalidate
	}
	return a
}

// region registers memory of a Call with the given rights for the peer, until the Call ends (RFC
// 8166 §8.1.3; R302).
func (c *Conn) region(s *slot, buf []byte, access verbs.Access, chunk int) (verbs.MemoryRegion, error) {
	mr, err := c.pool.Register(buf, c.access(access))
	if err == nil {
		s.regions = append(s.regions, callRegion{mr, chunk})
	}
	return mr.MemoryRegion, err
}

// register registers buf for the peer to write and appends its segments to to.
func (c *Conn) register(s *slot, to []header.Segment, buf []byte, number int) error {
	mr, err := c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, number) // R304
	if err != nil {
		return err
	}
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), len(buf), uint32(c.set.SegmentSize))
	return nil
}

// offerRead registers data for the peer to read and adds its segments to the read list.
func (c *Conn) offerRead(s *slot, position uint32, data []byte) error {
	mr, err := c.region(s, data, verbs.AccessRemoteRead, readChunk) // R304
	if err == nil {
		s.call.Lists.Reads = c.readSegments(s.call.Lists.Reads, position, mr, len(data))
	}
	return err
}

// readSegments appends the segments of a read chunk of n bytes to to.
func (c *Conn) readSegments(to []header.ReadSegment, position uint32, mr verbs.MemoryRegion, n int) []header.ReadSegment {
	var few [4]header.Segment
	for _, seg := range chunk.Layout(few[:0], mr.RKey(), mr.RemoteAddr(), n, uint32(c.set.SegmentSize)) {
		to = append(to, header.ReadSegment{Position: position, Segment: seg})
	}
	return to
}
