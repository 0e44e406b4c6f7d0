package stranger

// Key names a region of the side that a Case attacks.
type Key struct {
	STag uint32
	Base uint64
}

// Victim is the side that a Case attacks. Each region has VictimRegion bytes of VictimPoison. Two
// buffers of VictimBuffer bytes are posted, and the peer may have VictimDepth Reads outstanding.
type Victim struct {
	Full      Key // all rights
	ReadOnly  Key // the peer may read and invalidate
	WriteOnly Key // the peer may write and invalidate
	Kept      Key // the peer may read and write, not invalidate
	Foreign   Key // of another protection domain, all rights
	Revoked   Key // invalid
}

// The numbers of a Victim.
const (
	VictimRegion = 64
	VictimBuffer = 64
	VictimPoison = 0xa5
	VictimDepth  = 2
)

// Case is a stream that is wrong, with what the documents want of its receiver. In no case may a
// byte of a region change.
type Case struct {
	Name  string
	Cite  string
	Put   func(p *Endpoint, v *Victim) // sends it
	Codes []Code                       // each of them is right; if nil, any Terminate
	Kind  TerminateKind                // of headers in the Terminate

	// Silent allows the end of the stream without a Terminate.
	Silent bool
}

// TerminateKind says which headers a Terminate includes (RFC 5040 figure 10).
type TerminateKind byte

// The kinds. RFC 5040 §4.8 says "SHOULD", so they are compared only if the control bits are set.
const (
	// WithHeaders means the DDP header, and that of RDMAP for a Read Request in a protection error.
	WithHeaders TerminateKind = iota
	NoHeaders                 // an error of MPA
)

// one returns the only segment of a message.
func one(s []Segment) Segment { return s[0] }

// send returns a case of one Send of these bytes, changed by change.
func send(payload string, change func(s *Segment)) func(p *Endpoint, v *Victim) {
	return func(p *Endpoint, _ *Victim) {
		s := one(p.DueSend(Send, []byte(payload), 0))
		change(&s)
		p.Put(s)
	}
}

// write returns a case of a Write to the first bytes of Full, changed by change.
func write(payload string, change func(s *Segment, v *Victim)) func(p *Endpoint, v *Victim) {
	return func(p *Endpoint, v *Victim) {
		s := one(p.DueWrite(v.Full.STag, v.Full.Base, []byte(payload)))
		change(&s, v)
		p.Put(s)
	}
}

// read returns a case of a Read Request of 8 bytes of Full, changed by change.
func read(change func(r *Read, s *Segment, v *Victim)) func(p *Endpoint, v *Victim) {
	return func(p *Endpoint, v *Victim) {
		r := Read{SinkSTag: 0x5151, SinkTO: 0x1000, Size: 8, SourceSTag: v.Full.STag, SourceTO: v.Full.Base}
		s := p.DueRead(r)
		change(&r, &s, v)
		s.Payload = r.Bytes()
		p.Put(s)
	}
}

// invalidate returns a case of a Send that invalidates a key.
func invalidate(op Opcode, key func(v *Victim) uint32) func(p *Endpoint, v *Victim) {
	return func(p *Endpoint, v *Victim) { p.Send(op, []byte("bye"), key(v)) }
}

// noInvalidate are both codes that RFC 5040 figure 9 has for an STag that cannot be invalidated.
var noInvalidate = []Code{RDMAPNoInvalidate, RDMAPNoInvalidate2}
