package main

// strangerTests run the provider iwarp against an endpoint that shares no code with it.
var strangerTests = []string{"rdmaio/providers/iwarp/internal/strangertest"}

const (
	iwarpReceiveFile   = "rdmaio/providers/iwarp/receive.go"
	iwarpSendFile      = "rdmaio/providers/iwarp/send.go"
	iwarpFramerFile    = "rdmaio/providers/iwarp/framer.go"
	iwarpTerminateFile = "rdmaio/providers/iwarp/terminate.go"
	ddpStreamFile      = "rdmaio/providers/iwarp/internal/ddp/stream.go"
	ddpHeaderFile      = "rdmaio/providers/iwarp/internal/ddp/header.go"
	mpaFrameFile       = "rdmaio/providers/iwarp/internal/mpa/frame.go"
	mpaFPDUFile        = "rdmaio/providers/iwarp/internal/mpa/fpdu.go"
	mpaInitiatorFile   = "rdmaio/providers/iwarp/internal/mpa/initiator.go"
	mpaResponderFile   = "rdmaio/providers/iwarp/internal/mpa/responder.go"
	rdmapOpcodeFile    = "rdmaio/providers/iwarp/internal/rdmap/opcode.go"
	rdmapReadFile      = "rdmaio/providers/iwarp/internal/rdmap/read.go"
	rdmapTerminateFile = "rdmaio/providers/iwarp/internal/rdmap/terminate.go"
)

// iwarpMutants are in the provider iwarp. Both ends of its own tests have them, so that only an
// endpoint of other code can find most of these.
var iwarpMutants = []mutant{
	// MPA.
	{"an FPDU is padded without its length field", mpaFPDUFile, "return -(LengthSize + n) & 3", "return -n & 3", strangerTests},
	{"the CRC begins with its last octet", mpaFPDUFile, "{ binary.LittleEndian.PutUint32(field, crc) }", "{ binary.BigEndian.PutUint32(field, crc) }", strangerTests},
	{"the longest ULPDU leaves no room for the CRC", mpaFPDUFile, "emss-(LengthSize+CRCSize+emss%4)", "emss-(LengthSize+emss%4)", strangerTests},
	{"revision 0 is known", mpaFrameFile, "rev < 1 || rev > 2", "rev > 2", strangerTests},
	{"bit S counts in revision 1", mpaFrameFile, "Enhanced: flags&flagEnhanced != 0 && rev >= 2,", "Enhanced: flags&flagEnhanced != 0,", strangerTests},
	{"IRD and ORD change places", mpaFrameFile, "	ird, ord := s.IRD, s.ORD\n", "	ord, ird := s.IRD, s.ORD\n", strangerTests},
	{"flags B and C change places", mpaFrameFile, "		if s.RTR&RTRSend != 0 {\n", "		if s.RTR&RTRWrite != 0 {\n", strangerTests},
	{"a responder keeps its depth", mpaResponderFile, "depth(offer.IRD, t.PeerORD), depth(offer.ORD, t.PeerIRD)", "offer.IRD, offer.ORD", strangerTests},
	{"an automatic depth is a number", mpaResponderFile, "		if t.PeerORD == Unnegotiated {\n			f.Setup.IRD = Unnegotiated\n		}\n", "", strangerTests},
	{"a responder without the option agrees to none", mpaResponderFile, "				t.RTR = offer.RTR //", "				t.RTR = 0 //", strangerTests},
	{"any first message is a ready-to-receive indication", mpaResponderFile, "r.terms.PeerToPeer && kind&r.terms.RTR == 0 {", "r.terms.PeerToPeer && false {", strangerTests},
	{"a larger ORD than the own IRD is taken", mpaInitiatorFile, "s.ORD != Unnegotiated && s.ORD > i.offer.IRD {", "false {", strangerTests},
	{"an indication that the reply lacks is sent", mpaInitiatorFile, "one&s.RTR&i.offer.RTR != 0", "one&i.offer.RTR != 0", strangerTests},
	{"only the own wish turns CRCs on", mpaInitiatorFile, "CRC: i.offer.CRC || f.CRC,", "CRC: i.offer.CRC,", strangerTests},
	{"a responder sends before the first FPDU", "rdmaio/providers/iwarp/setup.go", "f.responder, f.ready = r.responder, false", "f.responder, f.ready = r.responder, true", strangerTests},

	// DDP.
	{"messages are counted from 0", ddpStreamFile, "	s.sent++\n	return s.sent\n", "	s.sent++\n	return s.sent - 1\n", strangerTests},
	{"a message may be left out", ddpStreamFile, "	case h.MSN != q.MSN():\n", "	case h.MSN < q.MSN():\n", strangerTests},
	{"segments of a Send may leave a gap", ddpStreamFile, "	case h.MO != q.mo:\n", "	case h.MO < q.mo:\n", strangerTests},
	{"every DDP version is known", ddpHeaderFile, "v := b[0] & maskVersion; v != version {", "v := b[0] & maskVersion; v != version && v > 3 {", strangerTests},
	{"reserved bits are checked", ddpHeaderFile, "v := b[0] & maskVersion; v != version {", "v := b[0] &^ (flagTagged | flagLast); v != version {", strangerTests},
	{"all queues are one", iwarpReceiveFile, "	q := &f.queues[h.QN]\n", "	q := &f.queues[0]\n", strangerTests},
	{"a Read Response has no offset", iwarpSendFile, "STag: r.Sink, TO: r.SinkAddr + uint64(r.Sent)}", "STag: r.Sink, TO: uint64(r.Sent)}", strangerTests},
	{"each segment of a Write begins it", iwarpSendFile, "TO: r.Addr + uint64(r.Sent)}", "TO: r.Addr}", strangerTests},

	// RDMAP.
	{"every RDMAP version is known", rdmapOpcodeFile, "	case v != versionBits:\n", "	case v > maskVersion:\n", strangerTests},
	{"a Send may use each queue", rdmapOpcodeFile, "	case h.QN != op.Queue():\n", "	case h.QN != op.Queue() && !op.IsSend():\n", strangerTests},
	{"a Send may be tagged", rdmapOpcodeFile, "	case h.Tagged != op.Tagged():\n", "	case h.Tagged != op.Tagged() && !op.IsSend():\n", strangerTests},
	{"opcodes of RFC 7306 are Sends", rdmapOpcodeFile, "	case op > TerminateOp:\n", "	case op > ImmediateSE:\n", strangerTests},
	{"Solicited Event and Invalidate change places", iwarpSendFile, "		op = rdmap.SendSE\n", "		op = rdmap.SendInvalidate\n", strangerTests},
	{"the STag of a Send without invalidation counts", iwarpReceiveFile, "Invalidate: f.op.Invalidates(), Key", "Invalidate: f.head.ULP2 != 0, Key", strangerTests},
	{"source and sink change places", rdmapReadFile, "	binary.BigEndian.PutUint32(b[16:], r.SourceSTag)\n", "	binary.BigEndian.PutUint32(b[16:], r.SinkSTag)\n", strangerTests},
	{"a Read Response may be too short", rdmapReadFile, "done > uint64(oldest.Size) || last && done < uint64(oldest.Size) {", "done > uint64(oldest.Size) {", strangerTests},
	{"a Read Response may be too long", rdmapReadFile, "done > uint64(oldest.Size) || last", "last", strangerTests},
	{"a Read Response may go to another offset", rdmapReadFile, "	case to != oldest.TO+uint64(r.done):\n", "	case to > oldest.TO+uint64(oldest.Size):\n", strangerTests},
	{"a Read Response without a Read is taken", rdmapReadFile, "	case oldest == nil:\n		return", "	case oldest == nil && n > 0:\n		return", strangerTests},
	{"layer and type of a Terminate change places", rdmapTerminateFile, "t.Cause.Layer<<4 | t.Cause.Type&0xf", "t.Cause.Type<<4 | t.Cause.Layer&0xf", strangerTests},
	{"a Terminate does not say that it has a header", rdmapTerminateFile, "		buf[2] |= bitLength | bitDDP\n", "		buf[2] |= bitLength\n", strangerTests},
	{"a Terminate names no Read Request", rdmapTerminateFile, "	if t.HasRead {\n		buf[2] |= bitRead\n", "	if t.HasRead {\n		buf[2] |= 0\n", strangerTests},
	{"a missing right is a bound", iwarpTerminateFile, "tagged, read := ddp.InvalidSTag, rdmap.Access", "tagged, read := ddp.Bounds, rdmap.Bounds", strangerTests},
	{"an invalid region of a Read is one to invalidate", iwarpTerminateFile, "		if !why.AtHand {", "		if false {", strangerTests},

	// The request that a Terminate blames.
	{"a Terminate blames any Write to its STag", "rdmaio/providers/iwarp/terminate.go", "h.Tagged && h.STag == r.RKey && h.TO-r.Addr < uint64(r.Total)", "h.Tagged && h.STag == r.RKey", []string{"rdmaio/providers/iwarp"}},
	{"a Terminate blames the Write before", "rdmaio/providers/iwarp/terminate.go", "h.TO-r.Addr < uint64(r.Total)", "h.TO-r.Addr <= uint64(r.Total)", []string{"rdmaio/providers/iwarp"}},
	{"a Terminate blames a Send for a Read", "rdmaio/providers/iwarp/terminate.go", "return !h.Tagged && h.QN == rdmap.QueueSend && h.MSN == r.Number\n	}\n}", "return !h.Tagged && h.MSN == r.Number\n }\n }", []string{"rdmaio/providers/iwarp"}},
	{"a slow peer gets another cause", "rdmaio/providers/iwarp/terminate.go", "case stream.ReasonSlow:\n		return causeSlow", "case stream.ReasonSlow:\n return causeFailed", []string{"rdmaio/providers/iwarp"}},
	{"another domain has no cause of its own", "rdmaio/providers/iwarp/terminate.go", "tagged, read = ddp.NotAssociated, rdmap.NotAssociated", "read = rdmap.NotAssociated", []string{"rdmaio/providers/iwarp"}},
	{"a local failure describes a segment", "rdmaio/providers/iwarp/terminate.go", "if c.Layer == rdmap.LayerLLP || c.Type == rdmap.TypeLocal {", "if c.Layer == rdmap.LayerLLP {", []string{"rdmaio/providers/iwarp"}},
	{"a missing right has another status", "rdmaio/providers/iwarp/terminate.go", "c.Layer == rdmap.LayerDDP && c.Type == ddp.TypeTagged && c.Code <= 3:", "c.Layer == rdmap.LayerDDP && c.Type == ddp.TypeTagged && c.Code < 3:", []string{"rdmaio/providers/iwarp"}},
	{"no range ends at 2^64", "rdmaio/providers/iwarp/send.go", "if end := r.Addr + uint64(r.Total); r.Total > 0 && end < r.Addr && end != 0 {", "if end := r.Addr + uint64(r.Total); r.Total > 0 && end < r.Addr {", []string{"rdmaio/providers/iwarp"}},
	{"FPDUs have any length", "rdmaio/providers/iwarp/send.go", "(f.mulpdu-header)&^3", "(f.mulpdu-header)", []string{"rdmaio/providers/iwarp"}},
	{"a first message must not be a Terminate", "rdmaio/providers/iwarp/receive.go", " && op != rdmap.TerminateOp {", " {", []string{"rdmaio/providers/iwarp"}},
	{"there is a queue after the last", "rdmaio/providers/iwarp/receive.go", "\tif h.QN > rdmap.QueueTerminate {", "\tif h.QN > rdmap.QueueTerminate+1 {", []string{"rdmaio/providers/iwarp"}},
	{"a global error of RDMAP is the requester's fault", "rdmaio/providers/iwarp/terminate.go", " || c.Code == 7 || c.Code == 8),", " || c.Code == 7),", []string{"rdmaio/providers/iwarp"}},
	{"an unknown cause is the requester's fault", "rdmaio/providers/iwarp/terminate.go", "\t\t!c.Known():", "\t\tfalse:", []string{"rdmaio/providers/iwarp"}},
	{"an indication is sent at once", "rdmaio/providers/iwarp/setup.go", "\t\ttime.Sleep(s.cfg.FirstDelay)", "", []string{"rdmaio/providers/iwarp"}},
	{"a Terminate has a CRC by the own wish only", "rdmaio/providers/iwarp/setup.go", "mpa.Terms{CRC: !s.cfg.NoCRC || reply.CRC})", "mpa.Terms{CRC: !s.cfg.NoCRC})", []string{"rdmaio/providers/iwarp"}},
	{"an initiator waits again after its indication", "rdmaio/providers/iwarp/setup.go", "	if !f.terms.PeerToPeer {\n		session.Pause", "	if true {\n		session.Pause", []string{"rdmaio/providers/iwarp"}},
}
