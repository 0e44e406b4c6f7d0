package stranger

// Untagged returns cases of Sends, and of headers in general.
func Untagged() []Case {
	return []Case{
		{
			Name: "DDP version 0, untagged", Cite: "RFC 5041 §4.1, §7.2", Codes: []Code{DDPUntaggedVersion},
			Put: send("x", func(s *Segment) { s.DDPVersion = 0 }),
		},
		{
			Name: "DDP version 2, untagged", Cite: "RFC 5041 §4.1, §7.2", Codes: []Code{DDPUntaggedVersion},
			Put: send("x", func(s *Segment) { s.DDPVersion = 2 }),
		},
		{
			Name: "DDP version 3, no bytes", Cite: "RFC 5041 §4.1, §7.2", Codes: []Code{DDPUntaggedVersion},
			Put: send("", func(s *Segment) { s.DDPVersion = 3 }),
		},
		{
			Name: "RDMAP version 0", Cite: "RFC 5040 §4.1, §7.2", Codes: []Code{RDMAPVersion},
			Put: send("x", func(s *Segment) { s.RDMAPVersion = 0 }),
		},
		{
			Name: "RDMAP version 2", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPVersion},
			Put: send("x", func(s *Segment) { s.RDMAPVersion = 2 }),
		},
		{
			Name: "RDMAP version 3", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPVersion},
			Put: send("", func(s *Segment) { s.RDMAPVersion = 3 }),
		},
		{
			Name: "queue 3", Cite: "RFC 5041 §7.1, §7.2", Codes: []Code{DDPInvalidQN},
			Put: send("x", func(s *Segment) { s.QN = 3 }),
		},
		{
			Name: "queue 2^32-1", Cite: "RFC 5041 §7.1, §7.2", Codes: []Code{DDPInvalidQN},
			Put: send("x", func(s *Segment) { s.QN = 1<<32 - 1 }),
		},
		{
			Name: "Send on the queue of Read Requests", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode, DDPInvalidQN},
			Put: send("0123456789012345678901234567", func(s *Segment) { s.QN, s.MSN = ReadQueue, 1 }),
		},
		{
			Name: "Send on the queue of Terminates", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode, DDPInvalidQN}, Silent: true,
			Put: send("xxxx", func(s *Segment) { s.QN, s.MSN = TerminateQueue, 1 }),
		},
		{
			Name: "MSN 0", Cite: "RFC 5041 §4.3, §7.1", Codes: []Code{DDPInvalidMSN},
			Put: send("x", func(s *Segment) { s.MSN = 0 }),
		},
		{
			Name: "MSN ahead, with a buffer", Cite: "RFC 5041 §4.3, §7.1", Codes: []Code{DDPInvalidMSN},
			Put: send("x", func(s *Segment) { s.MSN++ }),
		},
		{
			Name: "MSN ahead of all buffers", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMSN, DDPNoBuffer},
			Put: send("x", func(s *Segment) { s.MSN += 1000 }),
		},
		{
			Name: "MSN 2^32-1", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMSN},
			Put: send("x", func(s *Segment) { s.MSN = 1<<32 - 1 }),
		},
		{
			Name: "MSN twice", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMSN},
			Put: func(p *Endpoint, _ *Victim) {
				s := one(p.DueSend(Send, []byte("once"), 0))
				p.Put(s, s)
			},
		},
		{
			Name: "a Send without a buffer", Cite: "RFC 5041 §7.1", Codes: []Code{DDPNoBuffer},
			Put: func(p *Endpoint, _ *Victim) {
				for range 3 {
					p.Send(Send, []byte("x"), 0)
				}
			},
		},
		{
			Name: "a Send of no bytes without a buffer", Cite: "RFC 5040 §5.3", Codes: []Code{DDPNoBuffer},
			Put: func(p *Endpoint, _ *Victim) {
				for range 3 {
					p.Send(Send, nil, 0)
				}
			},
		},
		{
			Name: "a Send longer than its buffer", Cite: "RFC 5041 §7.1", Codes: []Code{DDPTooLong},
			Put: func(p *Endpoint, _ *Victim) { p.Send(Send, make([]byte, VictimBuffer+1), 0) },
		},
		{
			Name: "a second segment beyond the buffer", Cite: "RFC 5041 §7.1", Codes: []Code{DDPTooLong},
			Put: func(p *Endpoint, _ *Victim) {
				s := one(p.DueSend(Send, make([]byte, VictimBuffer), 0))
				s.Last = false
				last := s
				last.Last, last.MO, last.Payload = true, VictimBuffer, []byte("x")
				p.Put(s, last)
			},
		},
		{
			Name: "MO 1 in the first segment", Cite: "RFC 5041 §4.3", Codes: []Code{DDPInvalidMO},
			Put: send("x", func(s *Segment) { s.MO = 1 }),
		},
		{
			Name: "MO beyond the buffer", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMO},
			Put: send("x", func(s *Segment) { s.MO = VictimBuffer + 1 }),
		},
		{
			Name: "MO whose sum with the length wraps", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMO, DDPTooLong},
			Put: send("xx", func(s *Segment) { s.MO = 1<<32 - 1 }),
		},
		{
			Name: "a gap between segments", Cite: "RFC 5041 §5.2", Codes: []Code{DDPInvalidMO},
			Put: func(p *Endpoint, _ *Victim) {
				s := one(p.DueSend(Send, []byte("abc"), 0))
				s.Last = false
				last := s
				last.Last, last.MO = true, 4
				p.Put(s, last)
			},
		},
		{
			Name: "segments that overlap", Cite: "RFC 5041 §5.2", Codes: []Code{DDPInvalidMO},
			Put: func(p *Endpoint, _ *Victim) {
				s := one(p.DueSend(Send, []byte("abc"), 0))
				s.Last = false
				last := s
				last.Last, last.MO = true, 2
				p.Put(s, last)
			},
		},
		{
			Name: "the next MSN within a message", Cite: "RFC 5041 §5.2, §7.1", Codes: []Code{DDPInvalidMSN, DDPInvalidMO},
			Put: func(p *Endpoint, _ *Victim) {
				s := one(p.DueSend(Send, []byte("abc"), 0))
				s.Last = false
				p.Put(s)
				p.Send(Send, []byte("def"), 0)
			},
		},
		{
			Name: "opcode 8, Immediate Data", Cite: "RFC 5040 §4.1; RFC 7306 is not spoken", Codes: []Code{RDMAPOpcode},
			Put: send("12345678", func(s *Segment) { s.Opcode = 8 }),
		},
		{
			Name: "opcode 9", Cite: "RFC 5040 §4.1", Codes: []Code{RDMAPOpcode},
			Put: send("12345678", func(s *Segment) { s.Opcode = 9 }),
		},
		{
			Name: "opcode 10, Atomic Request", Cite: "RFC 5040 §4.1; RFC 7306 is not spoken", Codes: []Code{RDMAPOpcode, DDPTooLong},
			Put: send(string(make([]byte, 52)), func(s *Segment) { s.Opcode, s.QN, s.MSN = 10, ReadQueue, 1 }),
		},
		{
			Name: "opcode 11, Atomic Response", Cite: "RFC 5040 §4.1", Codes: []Code{RDMAPOpcode, DDPInvalidQN},
			Put: send(string(make([]byte, 32)), func(s *Segment) { s.Opcode, s.QN, s.MSN = 11, 3, 1 }),
		},
		{
			Name: "opcode 15", Cite: "RFC 5040 §4.1", Codes: []Code{RDMAPOpcode},
			Put: send("x", func(s *Segment) { s.Opcode = 15 }),
		},
		{
			Name: "opcode Write, untagged", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode},
			Put: send("x", func(s *Segment) { s.Opcode = Write }),
		},
		{
			Name: "opcode Read Response, untagged", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode},
			Put: send("x", func(s *Segment) { s.Opcode = ReadResponse }),
		},
		{
			Name: "opcode Read Request on the queue of Sends", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode, DDPInvalidQN},
			Put: send(string(make([]byte, ReadHeader)), func(s *Segment) { s.Opcode = ReadRequest }),
		},
		{
			Name: "opcode Terminate on the queue of Sends", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode, DDPInvalidQN}, Silent: true,
			Put: send("\x00\x00\x00\x00", func(s *Segment) { s.Opcode = TerminateOp }),
		},
		{
			Name: "invalidate an unknown STag", Cite: "RFC 5040 §5.3", Codes: noInvalidate,
			Put: invalidate(SendInvalidate, func(v *Victim) uint32 { return v.Full.STag ^ 0x5a5a5a5a }),
		},
		{
			Name: "invalidate an STag of another domain", Cite: "RFC 5040 §5.3, §7.2", Codes: noInvalidate,
			Put: invalidate(SendInvalidate, func(v *Victim) uint32 { return v.Foreign.STag }),
		},
		{
			Name: "invalidate an invalid STag", Cite: "RFC 5040 §7.2", Codes: noInvalidate,
			Put: invalidate(SendSEInvalidate, func(v *Victim) uint32 { return v.Revoked.STag }),
		},
		{
			Name: "invalidate without the right", Cite: "RFC 5040 §5.3", Codes: noInvalidate,
			Put: invalidate(SendInvalidate, func(v *Victim) uint32 { return v.Kept.STag }),
		},
		{
			Name: "invalidate STag 0", Cite: "RFC 5040 §7.2", Codes: noInvalidate,
			Put: invalidate(SendSEInvalidate, func(v *Victim) uint32 { return 0 }),
		},
		{
			Name: "invalidate twice", Cite: "RFC 5040 §7.2", Codes: noInvalidate,
			Put: func(p *Endpoint, v *Victim) {
				p.Send(SendInvalidate, []byte("a"), v.Full.STag)
				p.Send(SendInvalidate, []byte("b"), v.Full.STag)
			},
		},
	}
}
