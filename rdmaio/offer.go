package rdmaio

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// prepare chooses the shape of a Call's message and registers the memory that it offers.
//
// The whole message goes inline if it fits. Otherwise the items are read chunks and the rest goes
// inline. If that does not fit either, the rest is a chunk at position zero (RFC 8166 §3.5,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.1, §4.5.4; R35, R75, R91). In version 2 a message,
// or its rest, of at most Config.Continue bytes goes inline in several Sends instead
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.2; R163).
func (c *Conn) prepare(ctx context.Context, s *slot, call *Call) error {
	e := &s.call
	e.Lists.Reset()
	e.Long, e.NamedKey = false, 0
	e.Payload = e.Payload[:0]
	e.ReplyTo = call.ReplyBuf[:0:len(call.ReplyBuf)]
	terms := c.agreed.Load()
	s.segment = c.segmentSize(terms, &s.shape)
	// RFC 8167 §5.3; R275
	chunks := c.role == engine.Requester || c.set.ReverseChunks && terms.Reverse == header.ReverseGeneral
	if chunks {
		if err := c.offer(ctx, s, call); err != nil {
			return err
		}
	}
	if err := c.prepareMessage(s, call, terms, chunks); err != nil {
		return err
	}
	if terms.RemoteInvalidate && terms.CallNamesKey && c.role == engine.Requester && len(s.regions) > 0 {
		e.NamedKey = s.regions[0].RKey() // R259
	}
	return c.checkSegments(&e.Lists, terms)
}

// prepareMessage chooses how the bytes of a Call's message go.
func (c *Conn) prepareMessage(s *slot, call *Call, terms *agreed, chunks bool) error {
	e := &s.call
	chunks = chunks && !terms.NoReadChunks
	room, parts := terms.sendRoom(&e.Lists), c.continued(terms)
	if parts > 0 && !chunks {
		parts = c.set.MaxContinued // there is no other way
	}
	size := call.Size(nil)
	switch {
	case s.shape.long:
		return c.offerWhole(s, call, size)
	case size <= room, size <= parts && room > 0:
		e.Payload = call.Gather(e.Payload, nil)
		return nil
	case !chunks:
		return c.tooLong(terms, max(parts, room), terms.Send-room+size)
	}
	need, items, count := len(call.Inline), 0, 0
	for i := range call.Items {
		if n := s.segments(len(call.Items[i].Data)); n > 0 {
			items += 24 * n
			count++
		}
	}
	long := need+items > room && (need > parts || items >= room)
	if long {
		need = 24 * s.segments(len(call.Inline))
		count++
	}
	if long && need+items > room {
		return &SizeError{
			What: "header of the Call", Need: terms.Send - room + need + items, Limit: terms.Send,
			Hint: "use fewer items and results, or a larger Config.InlineSend here and InlineRecv at the peer",
		}
	}
	if err := c.set.checkChunks("read chunks of the Call", count); err != nil {
		return err
	}
	if long {
		e.Long = true
		// RFC 8166 §3.5.3: eligible or not; R46
		if err := c.offerRead(s, 0, call.Inline); err != nil {
			return err
		}
	} else {
		e.Payload = call.Gather(e.Payload, none)
	}
	// RFC 8166 §6.1, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.2 and §A.1: only what the
	// upper layer made eligible; R45
	for i := range call.Items {
		it := &call.Items[i]
		if len(it.Data) == 0 {
			continue
		}
		if err := checkPosition(&call.Message, i); err != nil {
			return err
		}
		// RFC 8166 §3.4.4.4, §3.4.5.2: one item, without roundup; R51, R69
		if err := c.offerRead(s, uint32(it.Position), it.Data); err != nil {
			return err
		}
	}
	return nil
}

// offerWhole offers the whole message as the chunk at position zero, its items too (R201).
func (c *Conn) offerWhole(s *slot, call *Call, size int) error {
	whole := make([]byte, 0, size)
	for _, p := range call.Gather(nil, nil) {
		whole = append(whole, p...)
	}
	s.call.Long = true
	return c.offerRead(s, 0, whole)
}

// tooLong returns the error for a Call that cannot have chunks.
func (c *Conn) tooLong(terms *agreed, limit, need int) error {
	e := &SizeError{What: "Call", Need: need, Limit: max(limit, terms.Send)}
	// R297
	e.Hint = "the peer makes no RDMA Reads (Terms.NoReadChunks), so a Call has to fit inline"
	if c.role == engine.Responder && !terms.NoReadChunks || c.role == engine.Responder && !c.set.ReverseChunks {
		// R276
		e.What, e.Hint = "reverse Call", "set Config.ReverseChunks at both ends, so that it can have chunks"
	}
	return e
}

// continued returns the length in bytes of the longest message of this side that goes in several
// Sends, or 0 if none does. A reverse Call to a peer with inline support is one Send (R276).
func (c *Conn) continued(terms *agreed) int {
	if !terms.version.Continues() || c.role == engine.Responder && terms.Reverse != header.ReverseGeneral {
		return 0
	}
	return c.set.Continue
}

// checkSegments returns an error for more segments than the peer takes in a header
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.4; R217).
func (c *Conn) checkSegments(l *header.Lists, terms *agreed) error {
	n := len(l.Reads) + len(l.Reply)
	for _, w := range l.Writes {
		n += len(w)
	}
	if terms.Segments == 0 || n <= terms.Segments {
		return nil
	}
	return &SizeError{
		What: "header of the Call", Need: n, Limit: terms.Segments, Unit: "segments",
		Hint: "the peer takes no more (Terms.MaxSegments): use fewer items and results, or a larger Config.SegmentSize",
	}
}

// offer registers the memory for results and the reply.
func (c *Conn) offer(ctx context.Context, s *slot, call *Call) error {
	l := &s.call.Lists
	last := len(call.Results)
	for last > 0 && len(call.Results[last-1]) == 0 {
		last-- // no chunk means the same as an empty one, and every peer understands it (R86)
	}
	last = min(last, s.shape.mostResults())
	if err := c.set.checkChunks("write chunks for Results", last); err != nil {
		return err
	}
	for i, buf := range call.Results[:last] {
		chunk := l.AddWrite(s.segments(len(buf)))
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
	for _, buf := range call.Results[last:] {
		n += xdr.Padded(len(buf)) // it goes with the rest
	}
	if call.MaxReply > 0 && c.pool.InPlace() {
		n = s.guessReply(c, call, n)
	}
	n = max(n, s.shape.reply)
	if n <= c.agreed.Load().recvRoom(l) || s.shape.reply == 0 && n <= c.continued(c.agreed.Load()) {
		return nil
	}
	l.HasReply = true
	for range s.segments(n) {
		l.Reply = append(l.Reply, header.Segment{})
	}
	if call.MaxReply > 0 || n > len(call.ReplyBuf) {
		s.ownsBuf = true
		return c.registerOwn(ctx, s, l.Reply[:0], n)
	}
	s.call.ReplyTo = nil // the peer can write there until the key is invalid
	return c.register(s, l.Reply[:0], call.ReplyBuf, replyChunk)
}

// registerOwn registers n bytes of the connection's memory for the reply and appends its segments
// to to. Where the memory must be in place it may wait for other Calls.
func (c *Conn) registerOwn(ctx context.Context, s *slot, to []header.Segment, n int) error {
	access := c.access(s, verbs.AccessLocalWrite|verbs.AccessRemoteWrite) // R304
	mr, err := c.pool.RegisterOnDemand(n, access)
	if errors.Is(err, verbs.ErrNotSupported) {
		if err = s.takeReplyMemory(ctx, c, n); err != nil {
			return err
		}
		if mr, err = c.pool.RegisterOwn(n, access); err != nil {
			s.returnReplyMemory(c)
		}
	}
	if err != nil {
		return unregistered(n, err)
	}
	s.regions = append(s.regions, callRegion{mr, ownReplyChunk})
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), n, uint32(s.segment))
	return nil
}

// checkChunks returns an error for more chunks than the peer is likely to accept. It has the same
// limit by default, and would answer with ERR_CHUNK, which does not say why.
func (s *settings) checkChunks(what string, n int) error {
	if n <= s.MaxChunks {
		return nil
	}
	return &SizeError{
		What: "the number of " + what, Need: n, Limit: s.MaxChunks, Unit: "chunks",
		Hint: "use fewer items and results, or a larger Config.MaxChunks here and at the peer",
	}
}

// segments returns the number of segments of a chunk of n bytes.
func (s *slot) segments(n int) int { return segments(n, s.segment) }

// segments returns the number of segments of at most longest bytes in a chunk of n bytes.
func segments(n, longest int) int { return (n + longest - 1) / longest }

// segmentSize returns the size in bytes of the longest segment that this side offers.
func (c *Conn) segmentSize(terms *agreed, sh *shape) int {
	n := max(c.set.SegmentSize, sh.segment)
	if terms.SegmentSize > 0 { // draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.3; R216
		n = min(n, terms.SegmentSize)
	}
	return n
}

// access adds the right to invalidate a key to the rights of the next region, if the peer may
// invalidate its key: any key in version 1, because the peer cannot know which are meant
// (RFC 8797 §3.2), and the first one, which the Call names, in version 2.
func (c *Conn) access(s *slot, a verbs.Access) verbs.Access {
	t := c.agreed.Load()
	if t.RemoteInvalidate && c.role == engine.Requester && (!t.CallNamesKey || len(s.regions) == 0) {
		a |= verbs.AccessRemoteInvalidate
	}
	return a
}

// region registers memory of a Call with the given rights for the peer, until the Call ends (RFC
// 8166 §8.1.3, draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.2; R302).
func (c *Conn) region(s *slot, buf []byte, access verbs.Access, chunk int) (verbs.MemoryRegion, error) {
	mr, err := c.pool.Register(buf, c.access(s, access))
	if err != nil {
		return nil, unregistered(len(buf), err)
	}
	s.regions = append(s.regions, callRegion{mr, chunk})
	return mr.MemoryRegion, nil
}

// unregistered returns the error of a Call whose memory could not be registered.
func unregistered(n int, why error) error {
	return fmt.Errorf("rdmaio: %d bytes of memory for the Call could not be registered: %w", n, why)
}

// register registers buf for the peer to write and appends its segments to to.
func (c *Conn) register(s *slot, to []header.Segment, buf []byte, number int) error {
	mr, err := c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, number) // R304
	if err != nil {
		return err
	}
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), len(buf), uint32(s.segment))
	return nil
}

// offerRead registers data for the peer to read and adds its segments to the read list.
func (c *Conn) offerRead(s *slot, position uint32, data []byte) error {
	mr, err := c.region(s, data, verbs.AccessRemoteRead, readChunk) // R304
	if err == nil {
		s.call.Lists.Reads = readSegments(s.call.Lists.Reads, position, mr, len(data), s.segment)
	}
	return err
}

// readSegments appends the segments of a read chunk of n bytes to to. longest is the length of the
// longest segment.
func readSegments(to []header.ReadSegment, position uint32, mr verbs.MemoryRegion, n, longest int) []header.ReadSegment {
	var few [4]header.Segment
	for _, seg := range chunk.Layout(few[:0], mr.RKey(), mr.RemoteAddr(), n, uint32(longest)) {
		to = append(to, header.ReadSegment{Position: position, Segment: seg})
	}
	return to
}
