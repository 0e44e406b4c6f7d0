package stranger

// Tagged returns cases of Writes, Reads and Read Responses.
func Tagged() []Case {
	far := func(s *Segment, to uint64) { s.TO = to }
	return []Case{
		{
			Name: "DDP version 0, tagged", Cite: "RFC 5041 §4.1, §7.2", Codes: []Code{DDPTaggedVersion},
			Put: write("x", func(s *Segment, _ *Victim) { s.DDPVersion = 0 }),
		},
		{
			Name: "DDP version 2, tagged, no bytes", Cite: "RFC 5041 §4.1, §7.2", Codes: []Code{DDPTaggedVersion},
			Put: write("", func(s *Segment, _ *Victim) { s.DDPVersion = 2 }),
		},
		{
			Name: "RDMAP version 3, tagged", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPVersion},
			Put: write("x", func(s *Segment, _ *Victim) { s.RDMAPVersion = 3 }),
		},
		{
			Name: "opcode Send, tagged", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode},
			Put: write("x", func(s *Segment, _ *Victim) { s.Opcode = Send }),
		},
		{
			Name: "opcode 12, tagged", Cite: "RFC 5040 §4.1", Codes: []Code{RDMAPOpcode},
			Put: write("x", func(s *Segment, _ *Victim) { s.Opcode = 12 }),
		},
		{
			Name: "opcode Read Request, tagged", Cite: "RFC 5040 §4.1 figure 4", Codes: []Code{RDMAPOpcode},
			Put: write("x", func(s *Segment, _ *Victim) { s.Opcode = ReadRequest }),
		},
		{
			Name: "Read Response without a request", Cite: "RFC 5040 §5.2", Codes: []Code{RDMAPOpcode, RDMAPStream},
			Put: write("x", func(s *Segment, _ *Victim) { s.Opcode = ReadResponse }),
		},
		{
			Name: "Read Response of no bytes without a request", Cite: "RFC 5040 §5.2", Codes: []Code{RDMAPOpcode, RDMAPStream},
			Put: write("", func(s *Segment, _ *Victim) { s.Opcode = ReadResponse }),
		},
		{
			Name: "Write to an unknown STag", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidSTag},
			Put: write("x", func(s *Segment, v *Victim) { s.STag ^= 0x5a5a5a5a }),
		},
		{
			Name: "Write to STag 0", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidSTag},
			Put: write("x", func(s *Segment, v *Victim) { s.STag = 0 }),
		},
		{
			Name: "Write to an STag with another key byte", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidSTag},
			Put: write("x", func(s *Segment, v *Victim) { s.STag ^= 1 }),
		},
		{
			Name: "Write to an invalid STag", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidSTag},
			Put: write("x", func(s *Segment, v *Victim) { s.STag, s.TO = v.Revoked.STag, v.Revoked.Base }),
		},
		{
			Name: "Write to an STag of another domain", Cite: "RFC 5041 §7.1, §8.2", Codes: []Code{DDPForeignSTag, DDPInvalidSTag},
			Put: write("x", func(s *Segment, v *Victim) { s.STag, s.TO = v.Foreign.STag, v.Foreign.Base }),
		},
		{
			Name: "Write to a region to read", Cite: "RFC 5041 §7.1 has no code for rights", Codes: []Code{DDPInvalidSTag, RDMAPAccess},
			Put: write("x", func(s *Segment, v *Victim) { s.STag, s.TO = v.ReadOnly.STag, v.ReadOnly.Base }),
		},
		{
			Name: "Write one byte before", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds, DDPWrap},
			Put: write("x", func(s *Segment, v *Victim) { far(s, v.Full.Base-1) }),
		},
		{
			Name: "Write across the start", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds, DDPWrap},
			Put: write("xx", func(s *Segment, v *Victim) { far(s, v.Full.Base-1) }),
		},
		{
			Name: "Write one byte behind", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds},
			Put: write("x", func(s *Segment, v *Victim) { far(s, v.Full.Base+VictimRegion) }),
		},
		{
			Name: "Write across the end", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds},
			Put: write("xx", func(s *Segment, v *Victim) { far(s, v.Full.Base+VictimRegion-1) }),
		},
		{
			Name: "Write far away", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds},
			Put: write("x", func(s *Segment, v *Victim) { far(s, v.Full.Base+1<<40) }),
		},
		{
			Name: "Write whose offset wraps", Cite: "RFC 5041 §7.1", Codes: []Code{DDPWrap, DDPBounds},
			Put: write("xx", func(s *Segment, v *Victim) { far(s, 1<<64-1) }),
		},
		{
			Name: "Write of more than the region", Cite: "RFC 5041 §7.1", Codes: []Code{DDPBounds},
			Put: write(string(make([]byte, VictimRegion+1)), func(s *Segment, v *Victim) {}),
		},
		{
			Name: "Read from an unknown STag", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPInvalidSTag},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceSTag ^= 0x5a5a5a5a }),
		},
		{
			Name: "Read from an invalid STag", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPInvalidSTag},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceSTag, r.SourceTO = v.Revoked.STag, v.Revoked.Base }),
		},
		{
			Name: "Read from an STag of another domain", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPForeignSTag, RDMAPInvalidSTag},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceSTag, r.SourceTO = v.Foreign.STag, v.Foreign.Base }),
		},
		{
			Name: "Read from a region to write", Cite: "RFC 5040 §4.8 figure 9", Codes: []Code{RDMAPAccess},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceSTag, r.SourceTO = v.WriteOnly.STag, v.WriteOnly.Base }),
		},
		{
			Name: "Read one byte before", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPBounds, RDMAPWrap},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceTO-- }),
		},
		{
			Name: "Read across the end", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPBounds},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceTO += VictimRegion - 7 }),
		},
		{
			Name: "Read of 2^32-1 bytes", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPBounds, RDMAPWrap},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.Size = 1<<32 - 1 }),
		},
		{
			Name: "Read whose offset wraps", Cite: "RFC 5040 §7.2", Codes: []Code{RDMAPWrap, RDMAPBounds},
			Put: read(func(r *Read, _ *Segment, v *Victim) { r.SourceTO = 1<<64 - 4 }),
		},
		{
			Name: "Read Request with MSN 2", Cite: "RFC 5041 §4.3, §7.1", Codes: []Code{DDPInvalidMSN},
			Put: read(func(_ *Read, s *Segment, _ *Victim) { s.MSN = 2 }),
		},
		{
			Name: "Read Request with MO 4", Cite: "RFC 5041 §7.1", Codes: []Code{DDPInvalidMO, DDPTooLong},
			Put: read(func(_ *Read, s *Segment, _ *Victim) { s.MO = 4 }),
		},
		{
			Name: "Read Request of 27 bytes", Cite: "RFC 5040 §4.4; no code is named",
			Put: func(p *Endpoint, v *Victim) {
				s := p.DueRead(Read{Size: 8, SourceSTag: v.Full.STag, SourceTO: v.Full.Base})
				s.Payload = s.Payload[:27]
				p.Put(s)
			},
		},
		{
			Name: "Read Request of no bytes", Cite: "RFC 5040 §4.4; no code is named",
			Put: func(p *Endpoint, v *Victim) {
				s := p.DueRead(Read{})
				s.Payload = nil
				p.Put(s)
			},
		},
		{
			Name: "Read Request of 29 bytes", Cite: "RFC 5041 §7.1; no code is named",
			Put: func(p *Endpoint, v *Victim) {
				s := p.DueRead(Read{Size: 8, SourceSTag: v.Full.STag, SourceTO: v.Full.Base})
				s.Payload = append(s.Payload, 0)
				p.Put(s)
			},
		},
		{
			Name: "Read Request of 29 bytes for no bytes", Cite: "RFC 5041 §7.1; no code is named",
			Put: func(p *Endpoint, v *Victim) {
				s := p.DueRead(Read{})
				s.Payload = append(s.Payload, 0)
				p.Put(s)
			},
		},
	}
}

// Framing returns cases of FPDUs. Those of the CRC need a connection with CRCs.
func Framing() []Case {
	frame := func(change func(b []byte) []byte) func(p *Endpoint, v *Victim) {
		return func(p *Endpoint, v *Victim) {
			p.PutBytes(change(p.Wire(p.DueWrite(v.Full.STag, v.Full.Base, []byte("1234567"))...)))
		}
	}
	ulpdu := func(b ...byte) func(p *Endpoint, v *Victim) {
		return func(p *Endpoint, _ *Victim) { p.PutULPDU(b) }
	}
	return []Case{
		{
			Name: "a CRC of zero", Cite: "RFC 5044 §4.4, §8", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte { return append(b[:len(b)-4], 0, 0, 0, 0) }),
		},
		{
			Name: "a CRC with its octets swapped", Cite: "RFC 5044 §4.4 figure 5", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte {
				n := len(b)
				return append(b[:n-4], b[n-1], b[n-2], b[n-3], b[n-4])
			}),
		},
		{
			Name: "a bit of the payload", Cite: "RFC 5044 §4.4, §8", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte { b[17] ^= 1; return b }),
		},
		{
			Name: "a bit of the pad", Cite: "RFC 5044 §4.4: the pad is in the CRC", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte { b[len(b)-5] ^= 0x80; return b }),
		},
		{
			Name: "a bit of the STag", Cite: "RFC 5044 §4.4, §8", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte { b[5] ^= 1; return b }),
		},
		{
			Name: "a bit of the DDP version", Cite: "RFC 5044 §6: the CRC comes first", Codes: []Code{MPACRC}, Kind: NoHeaders,
			Put: frame(func(b []byte) []byte { b[2] ^= 1; return b }),
		},
		{Name: "ULPDU of no bytes", Cite: "no code is named", Silent: true, Put: ulpdu()},
		{Name: "ULPDU of one byte", Cite: "no code is named", Silent: true, Put: ulpdu(0x41)},
		{Name: "ULPDU of the control fields, tagged", Cite: "no code is named", Silent: true, Put: ulpdu(0xc1, 0x40)},
		{Name: "tagged header of 13 bytes", Cite: "no code is named", Silent: true, Put: ulpdu(0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)},
		{Name: "untagged header of 17 bytes", Cite: "no code is named", Silent: true, Put: ulpdu(0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)},
	}
}
