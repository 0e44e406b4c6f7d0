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

// offering prepares one message of a Call: its inline part, and the memory that it offers. terms
// are the terms at its beginning.
type offering struct {
	*caller
	slot  *slot
	call  *Call
	terms *agreed
	turn  bool // it is the Call's turn at memory windows
	now   bool // it must not wait: errWaits instead

	segment int // length of the longest segment offered, bytes
}

// errWaits is the error of an offering that must not wait.
var errWaits = errors.New("rdmaio: the Call has to wait for memory")

// prepare chooses the shape of a Call's message and registers the memory that it offers.
//
// The whole message goes inline if it fits. Otherwise the items are read chunks and the rest goes
// inline. If that does not fit either, the rest is a chunk at position zero (RFC 8166 §3.5,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.1, §4.5.4; R35, R75, R91). In version 2 a message,
// or its rest, of at most Config.Continue bytes goes inline in several Sends instead
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.2; R163).
func (o *offering) prepare(ctx context.Context) error {
	s, terms := o.slot, o.terms
	e := &s.call
	if e.Offer != nil {
		e.Lists.Reset()
	}
	e.Long, e.NamedKey = false, 0
	e.Payload = e.Payload[:0]
	e.ReplyTo = o.call.ReplyBuf[:0:len(o.call.ReplyBuf)]
	o.segment = o.segmentSize()
	// RFC 8167 §5.3; R275
	chunks := o.role == engine.Requester || o.set.ReverseChunks && terms.Reverse == header.ReverseGeneral
	if chunks {
		if err := o.results(ctx); err != nil {
			return err
		}
	}
	if err := o.message(chunks); err != nil {
		return err
	}
	if terms.RemoteInvalidate && terms.CallNamesKey && o.role == engine.Requester && s.hasRegions() {
		e.NamedKey = s.regions[0].RKey() // R259
	}
	return o.checkSegments()
}

// message decides which parts of a Call's message travel inline and which by chunk.
func (o *offering) message(chunks bool) error {
	s, call, terms := o.slot, o.call, o.terms
	e := &s.call
	chunks = chunks && !terms.NoReadChunks
	room, parts := terms.sendRoom(e.Offered()), o.continued()
	if parts > 0 && !chunks {
		parts = o.set.MaxContinued // there is no other way
	}
	size := call.Size(nil)
	switch {
	case s.shape.long:
		return o.whole(size)
	case size <= room, size <= parts && room > 0:
		e.Payload = call.Gather(e.Payload, nil)
		return nil
	case !chunks:
		return o.tooLong(max(parts, room), terms.Send-room+size)
	}
	need, items, count := len(call.Inline), 0, 0
	for i := range call.Items {
		if n := o.segments(len(call.Items[i].Data)); n > 0 {
			items += 24 * n
			count++
		}
	}
	long := need+items > room && (need > parts || items >= room)
	if long {
		need = 24 * o.segments(len(call.Inline))
		count++
	}
	if long && need+items > room {
		return &SizeError{
			What: "header of the Call", Need: terms.Send - room + need + items, Limit: terms.Send,
			Hint: "use fewer items and results, or a larger Config.InlineSend here and InlineRecv at the peer",
		}
	}
	if err := o.set.checkChunks("read chunks of the Call", count); err != nil {
		return err
	}
	if long {
		e.Long = true
		// RFC 8166 §3.5.3: eligible or not; R46
		if err := o.read(0, call.Inline); err != nil {
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
		if err := o.read(uint32(it.Position), it.Data); err != nil {
			return err
		}
	}
	return nil
}

// whole offers the whole message as the chunk at position zero, including its items (R201).
func (o *offering) whole(size int) error {
	whole := make([]byte, 0, size)
	for _, p := range o.call.Gather(nil, nil) {
		whole = append(whole, p...)
	}
	o.slot.call.Long = true
	return o.read(0, whole)
}

// tooLong returns the error for a Call that cannot have chunks.
func (o *offering) tooLong(limit, need int) error {
	terms := o.terms
	e := &SizeError{What: "Call", Need: need, Limit: max(limit, terms.Send)}
	// R297
	e.Hint = "the peer makes no RDMA Reads (Terms.NoReadChunks), so a Call has to fit inline"
	if o.role == engine.Responder && !terms.NoReadChunks || o.role == engine.Responder && !o.set.ReverseChunks {
		// R276
		e.What, e.Hint = "reverse Call", "set Config.ReverseChunks at both ends, so that it can have chunks"
	}
	return e
}

// continued returns the length in bytes of this side's longest message that goes in several
// Sends, or 0 if none does. A reverse Call to a peer with inline support is one Send (R276).
func (o *offering) continued() int {
	if !o.terms.version.Continues() || o.role == engine.Responder && o.terms.Reverse != header.ReverseGeneral {
		return 0
	}
	return o.set.Continue
}

// checkSegments returns an error for more segments than the peer takes in a header
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.4; R217).
func (o *offering) checkSegments() error {
	l, most := o.slot.call.Offered(), o.terms.Segments
	if l == nil {
		return nil
	}
	n := len(l.Reads) + len(l.Reply)
	for _, w := range l.Writes {
		n += len(w)
	}
	if most == 0 || n <= most {
		return nil
	}
	return &SizeError{
		What: "header of the Call", Need: n, Limit: most, Unit: "segments",
		Hint: "the peer takes no more (Terms.MaxSegments): use fewer items and results, or a larger Config.SegmentSize",
	}
}

// results registers the memory for results and the reply.
func (o *offering) results(ctx context.Context) error {
	s, call := o.slot, o.call
	last := len(call.Results)
	for last > 0 && len(call.Results[last-1]) == 0 {
		last-- // no chunk means the same as an empty one, and every peer understands it (R86)
	}
	if last > 0 && s.shape.resent == 0 && o.comesInline(call.WholeReply) {
		return nil
	}
	last = min(last, s.shape.mostResults())
	if err := o.set.checkChunks("write chunks for Results", last); err != nil {
		return err
	}
	for i, buf := range call.Results[:last] {
		chunk := s.lists().AddWrite(o.segments(len(buf)))
		if len(buf) == 0 {
			continue
		}
		if err := o.register(chunk[:0], buf, i); err != nil {
			return err
		}
	}
	// RFC 8166 §4.3.3: a reply chunk is needed if the largest reply does not fit inline after the
	// lists that it returns; R96
	n := call.MaxReply
	if n == 0 {
		n = len(call.ReplyBuf)
	}
	for _, buf := range call.Results[last:] {
		n += xdr.Padded(len(buf)) // it goes with the rest
	}
	if call.MaxReply > 0 && o.pool.InPlace() {
		n = o.guessReply(n)
	}
	n = max(n, s.shape.reply)
	if n <= o.terms.recvRoom(s.call.Offered()) || s.shape.reply == 0 && n <= o.continued() {
		return nil
	}
	l := s.lists()
	l.HasReply = true
	for range o.segments(n) {
		l.Reply = append(l.Reply, header.Segment{})
	}
	if call.MaxReply > 0 || n > len(call.ReplyBuf) {
		s.ownsBuf = true
		return o.registerOwn(ctx, l.Reply[:0], n)
	}
	s.call.ReplyTo = nil // the peer can write there until the key is invalid
	return o.register(l.Reply[:0], call.ReplyBuf, replyChunk)
}

// comesInline reports whether results come in a reply of n bytes at most, and not by chunk: if the
// device prefers a message of that size, and the inline size that both ends have said is more than
// others have (RFC 8797 §4.2; R37). So a peer with 4096 bytes, or without private data, gets the
// same Calls as without Call.WholeReply.
func (o *offering) comesInline(n int) bool {
	t := o.terms
	return n > 0 && t.Recv > defaultInline && n <= t.recvRoom(o.slot.call.Offered())-max(0, t.Recv-o.set.whole)
}

// registerOwn registers n bytes of the connection's memory for the reply and appends its segments
// to to. Where the memory must be in place it may wait for other Calls.
func (o *offering) registerOwn(ctx context.Context, to []header.Segment, n int) error {
	s := o.slot
	if err := o.mayBegin(); err != nil {
		return err
	}
	access := o.access(verbs.AccessLocalWrite | verbs.AccessRemoteWrite) // R304
	mr, err := o.pool.RegisterOnDemand(n, access)
	if errors.Is(err, verbs.ErrNotSupported) {
		if err = o.takeReplyMemory(ctx, n); err != nil {
			return err
		}
		if mr, err = o.pool.RegisterOwn(n, access); err != nil {
			s.returnReplyMemory(o.caller)
		}
	}
	if err != nil {
		return unregistered(n, err)
	}
	o.keep(callRegion{mr, ownReplyChunk})
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), n, uint32(o.segment))
	return nil
}

// guessReply returns how many bytes to offer at first for a reply of n bytes at most: as many as
// the largest reply of the procedure had, if the Call can be repeated when that is too little. It
// is for memory in place, which is taken from other Calls.
func (o *offering) guessReply(n int) int {
	sh := &o.slot.shape
	sh.guessed = false
	if sh.whole || !o.call.Idempotent && !o.terms.defines(PeerErrReplyResource) {
		return n
	}
	guess := o.offered.sizes.guess(o.call)
	if sh.guessed = guess > 0 && guess < n; sh.guessed {
		return guess
	}
	return n
}

// segments returns the number of segments for a chunk of n bytes.
func (o *offering) segments(n int) int { return segments(n, o.segment) }

// segments returns how many segments of at most longest bytes a chunk of n bytes has.
func segments(n, longest int) int { return (n + longest - 1) / longest }

// segmentSize returns the size in bytes of the longest segment that this side offers.
func (o *offering) segmentSize() int {
	n := max(o.set.SegmentSize, o.slot.shape.segment)
	if o.terms.SegmentSize > 0 { // draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.3; R216
		n = min(n, o.terms.SegmentSize)
	}
	return n
}

// access adds the right to invalidate a key to the rights of the next region, if the peer may
// invalidate its key: any key in version 1, because the peer cannot know which are meant
// (RFC 8797 §3.2), and the first one, which the Call names, in version 2.
func (o *offering) access(a verbs.Access) verbs.Access {
	t := o.terms
	if t.RemoteInvalidate && o.role == engine.Requester && (!t.CallNamesKey || !o.slot.hasRegions()) {
		a |= verbs.AccessRemoteInvalidate
	}
	return a
}

// region registers memory of a Call with the given rights for the peer, until the Call returns (RFC
// 8166 §8.1.3, draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.2; R302).
func (o *offering) region(buf []byte, access verbs.Access, chunk int) (verbs.MemoryRegion, error) {
	if err := o.mayBegin(); err != nil {
		return nil, err
	}
	mr, err := o.pool.Register(buf, o.access(access))
	if err != nil {
		return nil, unregistered(len(buf), err)
	}
	o.keep(callRegion{mr, chunk})
	return mr.MemoryRegion, nil
}

// keep adds a region to the Call.
func (o *offering) keep(r callRegion) {
	s := o.slot.withOffered()
	if len(s.regions) == 0 {
		o.caller.offered.offers.begin()
	}
	s.regions = append(s.regions, r)
}

// unregistered returns the error of a Call whose memory could not be registered.
func unregistered(n int, why error) error {
	return fmt.Errorf("rdmaio: %d bytes of memory for the Call could not be registered: %w", n, why)
}

// register registers buf for the peer to write and appends its segments to to.
func (o *offering) register(to []header.Segment, buf []byte, number int) error {
	mr, err := o.region(buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, number) // R304
	if err != nil {
		return err
	}
	chunk.Layout(to, mr.RKey(), mr.RemoteAddr(), len(buf), uint32(o.segment))
	return nil
}

// read registers data for the peer to read and adds its segments to the read list.
func (o *offering) read(position uint32, data []byte) error {
	s := o.slot
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.5: the exact length, without roundup; R71, R304
	mr, err := o.region(data, verbs.AccessRemoteRead, readChunk)
	if err == nil {
		l := s.lists()
		l.Reads = readSegments(l.Reads, position, mr, len(data), o.segment)
	}
	return err
}

// readSegments appends a read chunk's segments, n bytes together, to to. longest is the length of
// the longest segment.
func readSegments(to []header.ReadSegment, position uint32, mr verbs.MemoryRegion, n, longest int) []header.ReadSegment {
	var few [4]header.Segment
	for _, seg := range chunk.Layout(few[:0], mr.RKey(), mr.RemoteAddr(), n, uint32(longest)) {
		to = append(to, header.ReadSegment{Position: position, Segment: seg})
	}
	return to
}
