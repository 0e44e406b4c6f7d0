package stranger

import (
	"errors"
	"io"
)

// reader reads the stream to its end. After an error it drops the rest (RFC 5041 §7.1), so that
// the other end gets the Terminate.
func (p *Endpoint) reader() {
	for failed := false; ; {
		f, err := ReadFPDU(p.Conn)
		p.mu.Lock()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			p.book.emit(Event{Kind: Ended, Err: err})
			p.mu.Unlock()
			return
		}
		if !failed {
			if t := p.fpdu(f); t != nil {
				failed = true
				p.book.emit(Event{Kind: Failed, Terminate: *t})
				p.terminate(*t)
			}
			p.begun = true
			p.out.release()
		}
		p.mu.Unlock()
	}
}

// fpdu processes an FPDU. It returns the Terminate to send, if it is wrong.
func (p *Endpoint) fpdu(f FPDU) *Terminate {
	if p.CRC && !f.Good {
		return &Terminate{Code: MPACRC} // without headers (RFC 5040 figure 10)
	}
	for _, octet := range f.Pad {
		if octet != 0 {
			p.book.complain("pad %x is not zero (RFC 5044 §4.1)", f.Pad)
		}
	}
	s, err := ParseSegment(f.ULPDU)
	if err != nil {
		p.book.complain("%v", err)
		return &Terminate{Code: Code{Layer: 1}} // the documents name no reason
	}
	s.Payload = s.Payload[:len(s.Payload):len(s.Payload)]
	p.book.received = append(p.book.received, s)
	if p.over {
		p.book.complain("opcode %d behind a Terminate (RFC 5040 §5.4)", s.Opcode)
		return nil
	}
	p.inspect(&s)
	var reason *Code
	switch {
	case s.DDPVersion != 1 && s.Tagged:
		reason = &DDPTaggedVersion
	case s.DDPVersion != 1:
		reason = &DDPUntaggedVersion
	case s.Tagged:
		reason = p.tagged(&s)
	default:
		reason = p.untagged(&s)
	}
	if reason == nil {
		return nil
	}
	t := &Terminate{Code: *reason, M: true, D: true, Length: uint16(len(f.ULPDU)), DDP: s.Header()}
	if s.Opcode == ReadRequest && reason.Layer == 0 && reason.Type == 1 && len(s.Payload) == ReadHeader {
		t.R, t.RDMA = true, s.Payload
	}
	return t
}

// inspect notes what the sender of a segment must not do, and the receiver need not check.
func (p *Endpoint) inspect(s *Segment) {
	if s.DDPReserved != 0 || s.RDMAPReserved != 0 {
		p.book.complain("reserved bits %x, %x are not zero (RFC 5041 §4.1, RFC 5040 §4.1)", s.DDPReserved, s.RDMAPReserved)
	}
	if !s.Tagged && !s.Opcode.Invalidates() && s.Invalidate != 0 {
		p.book.complain("Invalidate STag %#x in opcode %d (RFC 5040 §4.1)", s.Invalidate, s.Opcode)
	}
	if !s.Last && len(s.Payload) == 0 {
		p.book.complain("a segment of no bytes is not the last of its message (RFC 5041 §5.2)")
	}
	if o := p.open; o != nil {
		switch {
		case s.Opcode == TerminateOp: // it breaks the message off
		case o.Tagged != s.Tagged || o.Opcode != s.Opcode:
			p.book.complain("a segment of opcode %d within a message of opcode %d (RFC 5041 §5.3)", s.Opcode, o.Opcode)
		case o.Tagged && (o.STag != s.STag || s.TO != o.TO+uint64(len(o.Payload))):
			p.book.complain("segment of STag %#x, TO %#x behind STag %#x, TO %#x, %d bytes (RFC 5041 §5.2)", s.STag, s.TO, o.STag, o.TO, len(o.Payload))
		case len(s.Payload) == 0:
			p.book.complain("a message of some bytes ends with a segment of none (RFC 5041 §5.2)")
		case !o.Tagged && (o.QN != s.QN || o.MSN != s.MSN || o.Invalidate != s.Invalidate || s.MO != o.MO+uint32(len(o.Payload))):
			p.book.complain("queue %d, MSN %d, MO %d behind queue %d, MSN %d, MO %d, %d bytes (RFC 5041 §5.2)", s.QN, s.MSN, s.MO, o.QN, o.MSN, o.MO, len(o.Payload))
		}
	}
	if p.open = s; s.Last {
		p.open = nil
	}
	if !p.begun && !p.Initiator && p.Peer.Enhanced && p.Peer.PeerToPeer && !isRTR(&p.cfg.Startup, &p.Peer, s) {
		p.book.complain("the first message, of opcode %d and %d bytes, is no RTR indication of the Reply (RFC 6581 §9.2)", s.Opcode, len(s.Payload))
	}
}

// isRTR reports whether s is an RTR indication that the frames of both ends allow.
func isRTR(ours, peer *Startup, s *Segment) bool {
	r, err := ParseRead(s.Payload)
	switch s.Opcode {
	case Write:
		return ours.WriteRTR && peer.WriteRTR && len(s.Payload) == 0
	case Send:
		return ours.SendRTR && peer.SendRTR && len(s.Payload) == 0
	case ReadRequest:
		return ours.ReadRTR && peer.ReadRTR && err == nil && r.Size == 0
	}
	return false
}

// tagged processes a Write or a Read Response.
func (p *Endpoint) tagged(s *Segment) *Code {
	switch {
	case s.RDMAPVersion != 1:
		return &RDMAPVersion
	case s.Opcode == ReadResponse:
		return p.response(s)
	case s.Opcode != Write:
		return &RDMAPOpcode
	case len(s.Payload) == 0:
		return nil // STag and TO are not checked (RFC 5041 §5.2)
	}
	b, reason := p.regions.reach(s.STag, s.TO, len(s.Payload), true)
	if reason == nil {
		copy(b, s.Payload)
	}
	return reason
}

// response processes a segment of a Read Response.
func (p *Endpoint) response(s *Segment) *Code {
	if len(p.reads) == 0 {
		return &RDMAPOpcode
	}
	r := &p.reads[0]
	if n := len(s.Payload); n > 0 {
		switch {
		case s.STag != r.SinkSTag:
			return &DDPInvalidSTag
		case s.TO != r.SinkTO+uint64(r.got), uint64(r.got)+uint64(n) > uint64(r.Size):
			return &DDPBounds
		}
		sink := p.regions[r.SinkSTag]
		if sink == nil || !sink.has(s.TO, n) {
			return &DDPBounds
		}
		copy(sink.Bytes[s.TO-sink.Base:], s.Payload)
		r.got += n
	}
	if !s.Last {
		return nil
	}
	if uint64(r.got) != uint64(r.Size) {
		p.book.complain("Read Response of %d bytes, %d were requested (RFC 5040 §5.2.2)", r.got, r.Size)
		return &RDMAPStream
	}
	if s.STag != r.SinkSTag || r.Size == 0 && s.TO != r.SinkTO {
		p.book.complain("Read Response with STag %#x, TO %#x, want %#x, %#x (RFC 5040 §4.4)", s.STag, s.TO, r.SinkSTag, r.SinkTO)
	}
	if !r.rtr {
		p.book.emit(Event{Kind: ReadDone})
	}
	p.reads = p.reads[1:]
	return nil
}

// untagged processes a segment of queue 0 to 2.
func (p *Endpoint) untagged(s *Segment) *Code {
	if s.QN > TerminateQueue {
		return &DDPInvalidQN
	}
	rtr := s.QN == SendQueue && !p.begun && !p.Initiator && p.Peer.PeerToPeer && isRTR(&p.cfg.Startup, &p.Peer, s)
	switch {
	case s.MSN != p.numbers.expected[s.QN]:
		return &DDPInvalidMSN
	case s.QN == SendQueue && !rtr && len(p.posted) == 0:
		return &DDPNoBuffer
	case s.QN == ReadQueue && p.cfg.Enhanced && p.cfg.IRD != Automatic && len(p.waiting) >= int(p.cfg.IRD):
		return &DDPNoBuffer
	case s.RDMAPVersion != 1:
		return &RDMAPVersion
	}
	switch s.QN {
	case ReadQueue:
		return p.request(s)
	case TerminateQueue:
		return p.terminated(s)
	}
	switch {
	case s.Opcode < Send || s.Opcode > SendSEInvalidate:
		return &RDMAPOpcode
	case int(s.MO) != len(p.message):
		return &DDPInvalidMO
	case !rtr && len(p.message)+len(s.Payload) > p.posted[0]:
		return &DDPTooLong
	}
	p.message = append(p.message, s.Payload...)
	if !s.Last {
		return nil
	}
	p.numbers.expected[SendQueue]++
	e := Event{Kind: Message, Opcode: s.Opcode, Payload: p.message}
	p.message = nil
	if rtr {
		return nil
	}
	if s.Opcode.Invalidates() {
		if !p.regions.invalidate(s.Invalidate) {
			return &RDMAPNoInvalidate
		}
		e.STag = s.Invalidate
	}
	p.posted = p.posted[1:]
	p.book.emit(e)
	return nil
}

// request processes a Read Request.
func (p *Endpoint) request(s *Segment) *Code {
	r, err := ParseRead(s.Payload)
	switch {
	case s.Opcode != ReadRequest:
		return &RDMAPOpcode
	case s.MO != 0:
		return &DDPInvalidMO
	case len(s.Payload) > ReadHeader:
		return &DDPTooLong
	case err != nil || !s.Last:
		return &RDMAPUnspecified // the documents name no reason
	}
	p.numbers.expected[ReadQueue]++
	if r.Size > 0 {
		if _, reason := p.regions.reach(r.SourceSTag, r.SourceTO, int(r.Size), false); reason != nil {
			return reason
		}
	}
	if p.cfg.HoldReads {
		p.waiting = append(p.waiting, r)
		return nil
	}
	p.respond(r)
	return nil
}

// respond sends a Read Response. Callers hold mu.
func (p *Endpoint) respond(r Read) {
	var data []byte
	if r.Size > 0 {
		b, reason := p.regions.reach(r.SourceSTag, r.SourceTO, int(r.Size), false)
		if reason != nil {
			p.book.complain("a region became invalid before its Read was answered")
			return
		}
		data = append(data, b...)
	}
	s := header(ReadResponse, false)
	s.STag, s.TO = r.SinkSTag, r.SinkTO
	p.out.message(p.cut(s, data))
}

// terminated processes a Terminate, which ends the stream.
func (p *Endpoint) terminated(s *Segment) *Code {
	if s.Opcode != TerminateOp {
		return &RDMAPOpcode
	}
	t, err := ParseTerminate(s.Payload)
	if err != nil {
		p.book.complain("%v", err)
	}
	if t.Reserved != 0 {
		p.book.complain("reserved bits %#x of a Terminate are not zero (RFC 5040 §4.8)", t.Reserved)
	}
	p.numbers.expected[TerminateQueue]++
	p.stopped, p.over = true, true
	p.book.emit(Event{Kind: Terminated, Terminate: t})
	return nil
}
