package stranger

// Post makes a buffer of this size available to the next message of queue 0.
func (p *Endpoint) Post(sizes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posted = append(p.posted, sizes...)
}

// PutBytes writes bytes as they are.
func (p *Endpoint) PutBytes(b []byte) { p.queue(outgoing{b: b, whole: true}) }

// PutULPDU writes a ULPDU in an FPDU.
func (p *Endpoint) PutULPDU(b []byte) { p.queue(outgoing{b: Frame(b, p.CRC)}) }

// Put writes segments as they are, each in an FPDU, all in one write.
func (p *Endpoint) Put(segments ...Segment) { p.queue(outgoing{b: p.Wire(segments...)}) }

// Wire returns the FPDUs of segments.
func (p *Endpoint) Wire(segments ...Segment) []byte { return wire(p.CRC, segments...) }

// DueSend returns the segments of the Send that is due, and counts it as sent.
func (p *Endpoint) DueSend(op Opcode, payload []byte, stag uint32) []Segment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dueSend(op, payload, stag)
}

func (p *Endpoint) dueSend(op Opcode, payload []byte, stag uint32) []Segment {
	s := header(op, false)
	s.QN, s.MSN, s.Invalidate = SendQueue, p.numbers.next(SendQueue), stag
	return p.cut(s, payload)
}

// DueWrite returns the segments of a Write.
func (p *Endpoint) DueWrite(stag uint32, to uint64, payload []byte) []Segment {
	s := header(Write, false)
	s.STag, s.TO = stag, to
	return p.cut(s, payload)
}

// DueRead returns the segment of the Read Request that is due, and counts it as sent.
func (p *Endpoint) DueRead(r Read) Segment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dueRead(r, false)
}

func (p *Endpoint) dueRead(r Read, rtr bool) Segment {
	s := header(ReadRequest, true)
	s.QN, s.MSN, s.Payload = ReadQueue, p.numbers.next(ReadQueue), r.Bytes()
	p.reads = append(p.reads, pending{Read: r, rtr: rtr})
	return s
}

// cut divides a message into segments (RFC 5041 §5.2).
func (p *Endpoint) cut(s Segment, payload []byte) (all []Segment) {
	room := p.cfg.MaxULPDU - len(s.Header())
	for {
		n := min(room, len(payload))
		s.Payload, payload = payload[:n:n], payload[n:]
		s.Last = len(payload) == 0
		all = append(all, s)
		if s.Last {
			return all
		}
		s.MO += uint32(n)
		s.TO += uint64(n)
	}
}

// Send sends a message by one of the Send opcodes. No other message comes between its segments (RFC
// 5041 §5.3).
func (p *Endpoint) Send(op Opcode, payload []byte, stag uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.message(p.dueSend(op, payload, stag))
}

// Write writes to the peer's memory.
func (p *Endpoint) Write(stag uint32, to uint64, payload []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.message(p.DueWrite(stag, to, payload))
}

// Read reads from the peer's memory to a region of this end. The event ReadDone follows.
func (p *Endpoint) Read(r Read) { p.read(r, false) }

func (p *Endpoint) read(r Read, rtr bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.dueRead(r, rtr)
	p.out.message([]Segment{s})
}

// Answer answers the n oldest of the peer's Read Requests that wait. It returns their number.
func (p *Endpoint) Answer(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, len(p.waiting))
	for _, r := range p.waiting[:n] {
		p.respond(r)
	}
	p.waiting = p.waiting[n:]
	return n
}

// Waiting returns the number of the peer's Read Requests that wait for Answer.
func (p *Endpoint) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Terminate sends a Terminate, and ends the stream behind it (RFC 5040 §5.4).
func (p *Endpoint) Terminate(t Terminate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.terminate(t)
}

func (p *Endpoint) terminate(t Terminate) {
	if p.stopped {
		return
	}
	p.stopped = true
	s := header(TerminateOp, true)
	s.QN, s.MSN, s.Payload = TerminateQueue, p.numbers.next(TerminateQueue), t.Bytes()
	p.out.put(outgoing{b: p.Wire(s), last: true})
}
