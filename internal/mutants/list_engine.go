package main

// engineMutants are in the protocol: credits, chunks, and the engine that steps them.
var engineMutants = []mutant{
	// Credits.
	{"a grant of 0 stops for good", creditFile, "		r.zero++\n		n = 1\n", "		r.zero++\n", creditTests},
	{"a grant above the limit is used", creditFile, "		r.over++\n		n = r.limit\n", "		r.over++\n", creditTests},
	{"two Calls before the first Reply", creditFile, "limit: uint32(max(limit, 1)), granted: 1}", "limit: uint32(max(limit, 1)), granted: 2}", creditTests},
	{"one Call too many in flight", creditFile, "return r.inFlight < r.granted", "return r.inFlight <= r.granted", creditTests},
	{"grants equal the credits requested", creditFile, "return max(1, min(want, r.limit, backed-min(backed, r.reserved)))", "_ = backed\n	return max(1, min(want, r.limit))", creditTests},
	{"grants promise the Receives of Replies", creditFile, "backed-min(backed, r.reserved)", "backed", creditTests},
	{"a grant may be 0", creditFile, "return max(1, min(want, r.limit", "return max(0, min(want, r.limit", creditTests},
	{"Calls beyond the grant are taken", creditFile, "	if r.busy >= r.limit {\n		return false\n	}\n	r.busy++", "	r.busy++", creditTests},
	{"an answered Call stays busy", creditFile, "	if r.busy > 0 {\n		r.busy--\n	}", "", creditTests},
	{"a dropped Call stays busy", answerFile, "		rs.repost(r)\n		rs.account.Answered()\n", "		rs.repost(r)\n", []string{"rdmaio/internal/sim"}},
	{"a cancelled Call gives its credit back", requesterFile, "	p.call = nil\n	if p.state == callWaiting {", "	p.call = nil\n	if p.state != callWaiting {\n		rq.account.Ended()\n	}\n	if p.state == callWaiting {", engineTests},
	{"an ERROR gives no credit back", requesterFile, "	rq.account.Ended()\n	if m.Kind == header.KindError {\n		rq.stats.ErrorMessages++", "	if m.Kind != header.KindError {\n		rq.account.Ended()\n	}\n	if m.Kind == header.KindError {\n		rq.stats.ErrorMessages++", engineTests},
	{"a NOMSG of unclear direction grants", "rdmaio/internal/v1/account.go", "		return m.HasReply && a.end.Calls.Outstanding(m.XID)\n", "		return true\n", engineTests},

	{"a Reply gives two credits back", requesterFile, "	rq.account.Ended()\n	if m.Kind == header.KindError {\n", "	rq.account.Ended()\n	rq.account.Ended()\n	if m.Kind == header.KindError {\n", engineTests},
	{"a whole Reply by read chunk grants nothing", "rdmaio/internal/v1/account.go", "			return a.end.LongReplies && a.end.Calls.Outstanding(m.XID)\n", "			return false\n", engineTests},

	// Matching.
	{"a Call of the peer is taken for the Reply to one of ours", "rdmaio/internal/v1/classify.go", "	case header.KindMsg:\n", "	case header.KindMsg:\n		if end.Calls.Outstanding(m.XID) {\n			return protocol.Answer\n		}\n", engineTests},
	{"a Reply's RPC XID is not compared", requesterFile, "	return head(m.Payload, m.XID, header.Reply)\n", "	if f := head(m.Payload, m.XID, header.Reply); f != nil && f.Code != header.FaultXID {\n		return f\n	}\n	return nil\n", engineTests},
	{"a Reply of a Call that was not sent counts", pendingFile, "return p != nil && (p.state == callSent || p.state == callSending)", "return p != nil && p.state != callReading", engineTests},
	{"a bucket keeps only its first Call", "rdmaio/internal/engine/calls.go", "	*at, p.next = p.next, nil\n", "	*at, p.next = nil, nil\n", engineTests},
	{"an XID in flight can be reused", requesterFile, "case rq.table.get(c.XID) != nil:", "case false:", engineTests},
	{"any key may be ended by the peer", requesterFile, "if !known || !p.offered(key, rq.terms.CallNamesKey) {", "if false {", engineTests},
	{"a Call's header XID is not compared", responderFile, "head(r.hdr.Payload, r.XID, header.Call); f != nil {", "head(r.hdr.Payload, r.XID, header.Call); f != nil && f.Code != header.FaultXID {", engineTests},
	{"reverse chunks are taken when off", responderFile, "reverse && !rs.cfg.ReverseChunks && (", "false && (", engineTests},

	// Chunks.
	{"an offer with a wrap is taken", limitsFile, "		if c[i].Wraps() {", "		if false {", chunkTests},
	{"the sum of a read list is made in 32 bits", planFile, "if p.BytesRead += uint64(s.Length); p.BytesRead > lim.Bytes {", "if p.BytesRead = uint64(uint32(p.BytesRead) + s.Length); p.BytesRead > lim.Bytes {", chunkTests},
	{"chunks may overlap", planFile, "		if pos < at {\n			return &header.Fault", "		if pos > at && pos < at {\n			return &header.Fault", chunkTests},
	{"a position beyond the stream is taken", planFile, "if pos-at > src.left { // R66", "if pos-at > src.left+4 { // R66", chunkTests},
	{"positions need not be aligned", planFile, "		case pos&3 != 0:\n			return fault(header.FaultAligned, i, uint64(pos), 4)\n", "", chunkTests},
	{"position zero with inline payload is taken", planFile, "		case pos == 0 && !long:\n			return fault(header.FaultZero, i, 0, 4)\n", "", chunkTests},
	{"no roundup behind a chunk", planFile, "if pad := -n & 3; pad > 0 { // R57, R68", "if pad := -n & 3; pad > 3 { // R57, R68", chunkTests},
	{"Writes leave gaps", fillFile, "		from += k\n", "		from += k &^ 3\n", chunkTests},
	{"unused segments keep their lengths", fillFile, "		c[i].Length = uint32(k)\n", "		if k > 0 {\n			c[i].Length = uint32(k)\n		}\n", chunkTests},
	{"more may come back than was offered", fillFile, "		case g.Length > o.Length:\n			return fault(header.FaultReturnMore, uint64(g.Length), uint64(o.Length))\n", "", chunkTests},
	{"holes may come back", fillFile, "		case g.Length > 0 && room > 0:\n			return fault(header.FaultReturnHole, uint64(g.Length), room)\n", "", chunkTests},
	{"another handle may come back", fillFile, "		case g.Handle != o.Handle:\n			return fault(header.FaultReturnRange, uint64(g.Handle), uint64(o.Handle))\n", "", chunkTests},
	{"each batch of Reads starts at the first one", assembleFile, "skip, left := p.reads-p.unread, p.batch", "skip, left := 0, p.batch", engineTests},
	{"RDMA Reads are not limited", assembleFile, "queue(rs.cfg.SendWRs, rs.terms.Reads > 0, ", "queue(rs.cfg.SendWRs, false, ", engineTests},

	// Both directions, and the draft's legacy.
	{"one direction overtakes the other", pumpFile, ".ticket < (*rs.answers.at(0)).ticket", ".ticket > (*rs.answers.at(0)).ticket", engineTests},
	{"keys of reverse Calls are ended", responderFile, "if !reverse { // keys", "{ // keys", engineTests},
	{"a reverse Call goes out before it is allowed", "rdmaio/call.go", "if !c.ready.Load() {", "if c.set.calls < 0 {", ioTests},
	{"memory is given back before RDMA_DONE", responderFile, "		rs.to(r, awaitingDone)\n", "		rs.release(r)\n", engineTests},
	{"RDMA_DONE keeps its credit", responderFile, "		rs.account.Ended()\n		rs.release(r)\n", "		rs.release(r)\n", engineTests},
	{"a missing RDMA_DONE has no time limit", responderFile, "rs.awaitingDone[0].deadline <= rs.now", "rs.awaitingDone[0].deadline < 0", engineTests},
	{"no Reply is held back for RDMA_DONE", legacyFile, "len(rs.awaitingDone)+rs.deferredQueued() < rs.doneReceives()", "len(rs.awaitingDone)+rs.deferredQueued() >= 0", engineTests},
	{"padding is not reported", legacyFile, "	r.Padding = Padding{p.Align, p.Threshold, start}\n", "	_ = start\n", engineTests},
	{"padding of any alignment is taken", legacyFile, "p.Align&(p.Align-1) != 0 || ", "", engineTests},

	// The send queue, and the end.
	{"the send queue may overflow", sendQueueFile, "return sq.filled+n <= sq.cfg.SendWRs &&", "return sq.filled < sq.cfg.SendWRs &&", engineTests},
	{"a message that a Request waits for is unsignaled", sendQueueFile, "	if r != nil {\n		sq.last = none\n", "	if r != nil {\n", engineTests},
	{"a silent message keeps its buffer", sendQueueFile, "		sq.finishChain(sq.chains.pop())\n	}\n", "		sq.chains.pop()\n	}\n", engineTests},
	{"a send buffer is free too early", sendQueueFile, "	sq.buffers.take()\n	return buf, n, nil", "	return buf, n, nil", engineTests},
	{"a send buffer that was given back is used on", "rdmaio/internal/engine/sendbuffers.go", "			sq.eff.Return = append(sq.eff.Return, b)\n			continue\n", "			sq.eff.Return = append(sq.eff.Return, b)\n", engineTests},
	{"the memory of a Call is returned at once", "rdmaio/internal/engine/shared.go", "r.source.loan, s.loan = s.loan, nil", "r.source.loan = s.loan", engineTests},
	{"the memory of a Call is not returned", "rdmaio/internal/engine/request.go", "	r.ReturnLoan()\n", "", engineTests},
	{"the completion of RDMA Reads is not awaited", engineFile, "(e.sends.awaited > 0 || e.stuck ||", "(e.stuck ||", engineTests},
	{"room in the send queue is not awaited", engineFile, "(e.sends.awaited > 0 || e.stuck ||", "(e.sends.awaited > 0 ||", engineTests},
	{"a lost connection keeps its send buffers", sendQueueFile, "	sq.returnBuffers()\n", "", engineTests},
	{"roundup of a message is not cleared", assembleFile, "			clear(r.Assembly.Bytes[at:end]) // R314\n", "", engineTests},
	{"a lost request is not given back", responderFile, "	for _, q := range []*queue[*Request]{&rs.answers, &rs.pulls} {", "	for _, q := range []*queue[*Request]{&rs.pulls} {", engineTests},
	{"posted work has no time limit", sendQueueFile, "sq.chains.at(0).deadline <= sq.now", "sq.chains.at(0).deadline < 0", engineTests},
	{"refusals without end", "rdmaio/internal/engine/shared.go", "s.refusals.n > s.cfg.MaxErrors {", "s.refusals.n > 1<<30 {", engineTests},

	// Headers, limits and grants, by the tests of their packages.
	{"an ERROR is not counted in the account", "rdmaio/internal/v1/account.go", "case header.KindError:\n		return true\n	case header.KindMsg:", "case header.KindMsg:", []string{"rdmaio/internal/v1"}},
	{"a long Reply to no Call grants", "rdmaio/internal/v1/account.go", "return m.HasReply && a.end.Calls.Outstanding(m.XID)", "return m.HasReply", []string{"rdmaio/internal/v1"}},
	{"an invalid message grants", "rdmaio/internal/v1/account.go", "if f == nil && p == protocol.Answer && a.grants(m) {", "if p == protocol.Answer && a.grants(m) {", []string{"rdmaio/internal/v1"}},
	{"answers grant the Receives of Replies", "rdmaio/internal/v1/account.go", "cfg.Receives-cfg.Serves),", "0),", []string{"rdmaio/internal/v1"}},
	{"a Call beyond the credits is answered", "rdmaio/internal/v1/version.go", "case header.FaultCredit:\n		return header.Error{} // R134: it is dropped\n	}", "}", []string{"rdmaio/internal/v1"}},
	{"the last address cannot be used", "rdmaio/internal/chunk/limits.go", "last := s.Offset + uint64(s.Length-1); last > lim.Address {", "last := s.Offset + uint64(s.Length); last > lim.Address {", []string{"rdmaio/internal/chunk"}},
	{"any address can be read", "rdmaio/internal/chunk/plan.go", "if last := lim.unreachable(s); last > 0 {", "if last := lim.unreachable(s); false {", []string{"rdmaio/internal/chunk"}},
	{"a read chunk has a segment less than allowed", "rdmaio/internal/chunk/plan.go", "case n > lim.Segments:", "case n >= lim.Segments:", []string{"rdmaio/internal/chunk"}},
	{"an empty segment hides a hole", "rdmaio/internal/chunk/fill.go", "room += uint64(o.Length - g.Length)", "room = uint64(o.Length - g.Length)", []string{"rdmaio/internal/chunk"}},
	{"copied write chunks share their segments", "rdmaio/internal/header/message.go", "c.Writes = append(c.Writes, slices.Clone(w))", "c.Writes = append(c.Writes, w)", []string{"rdmaio/internal/header"}},
	{"a message keeps MORE", "rdmaio/internal/header/message.go", "m.Answer, m.More, m.Body = false, false, nil", "m.Answer, m.Body = false, nil", []string{"rdmaio/internal/header"}},
	{"a write chunk has the length of an earlier one", "rdmaio/internal/header/message.go", "l.Writes[k] = c[:n]", "l.Writes[k] = c", []string{"rdmaio/internal/header"}},
}
