package main

// The packages that look at a part of the transport, nearest first.
var (
	creditTests = []string{"rdmaio/internal/credit", "rdmaio/internal/engine", "rdmaio/internal/sim", "rdmaio"}
	chunkTests  = []string{"rdmaio/internal/chunk", "rdmaio/internal/sim", "rdmaio"}
	engineTests = []string{"rdmaio/internal/engine", "rdmaio/internal/sim", "rdmaio"}
	poolTests   = []string{"rdmaio/internal/mrpool", "rdmaio"}
	ioTests     = []string{"rdmaio"}
)

const (
	requesterFile = "rdmaio/internal/engine/requester.go"
	responderFile = "rdmaio/internal/engine/responder.go"
	assembleFile  = "rdmaio/internal/engine/assemble.go"
	legacyFile    = "rdmaio/internal/engine/legacy.go"
	engineFile    = "rdmaio/internal/engine/engine.go"
	postFile      = "rdmaio/internal/engine/post.go"
	creditFile    = "rdmaio/internal/credit/v1.go"
	planFile      = "rdmaio/internal/chunk/plan.go"
	fillFile      = "rdmaio/internal/chunk/fill.go"
	limitsFile    = "rdmaio/internal/chunk/limits.go"
	poolFile      = "rdmaio/internal/mrpool/pool.go"
)

// mutants are plausible mistakes, and some that others have made.
var mutants = []mutant{
	// Credits.
	{"a grant of 0 stops for good", creditFile, "		r.zero++\n		n = 1\n", "		r.zero++\n", creditTests},
	{"a giant grant is believed", creditFile, "		r.over++\n		n = r.limit\n", "		r.over++\n", creditTests},
	{"two Calls before the first Reply", creditFile, "limit: uint32(max(limit, 1)), granted: 1}", "limit: uint32(max(limit, 1)), granted: 2}", creditTests},
	{"one Call too many in flight", creditFile, "return r.inFlight < r.granted", "return r.inFlight <= r.granted", creditTests},
	{"grants echo what was asked for", creditFile, "return max(1, min(want, r.limit, backed-min(backed, r.reserved)))", "_ = backed\n	return max(1, min(want, r.limit))", creditTests},
	{"grants promise the Receives of Replies", creditFile, "backed-min(backed, r.reserved)", "backed", creditTests},
	{"a grant may be 0", creditFile, "return max(1, min(want, r.limit", "return max(0, min(want, r.limit", creditTests},
	{"Calls beyond the grant are taken", creditFile, "	if r.busy >= r.limit {\n		return false\n	}\n	r.busy++", "	r.busy++", creditTests},
	{"an answered Call stays busy", creditFile, "	if r.busy > 0 {\n		r.busy--\n	}", "", creditTests},
	{"a cancelled Call gives its credit back", requesterFile, "	p.call = nil\n	if !p.sent {", "	p.call = nil\n	if p.sent {\n		e.credit.Ended()\n	}\n	if !p.sent {", engineTests},
	{"an ERROR gives no credit back", requesterFile, "	e.credit.Ended()\n	if m.Kind == header.KindError {\n		e.stats.Errors++", "	if m.Kind != header.KindError {\n		e.credit.Ended()\n	}\n	if m.Kind == header.KindError {\n		e.stats.Errors++", engineTests},
	{"a NOMSG of unclear direction grants", requesterFile, "		m.Kind == header.KindNomsg && known && m.HasReply && len(m.Reads) == 0:", "		m.Kind == header.KindNomsg:", engineTests},

	{"a Reply gives two credits back", requesterFile, "	e.credit.Ended()\n	if m.Kind == header.KindError {\n", "	e.credit.Ended()\n	e.credit.Ended()\n	if m.Kind == header.KindError {\n", engineTests},
	{"a whole Reply by read chunk grants nothing", requesterFile, "		m.Kind == header.KindNomsg && known && len(m.Reads) > 0 && e.wholes(),\n", "", engineTests},

	// Matching.
	{"a Call of the peer is taken for the Reply to one of ours", "rdmaio/internal/engine/receive.go", "	case m.Kind == header.KindMsg:\n", "	case m.Kind == header.KindMsg && e.outstanding(m.XID):\n		return answer\n	case m.Kind == header.KindMsg:\n", engineTests},
	{"a Reply's RPC XID is not compared", requesterFile, "	return head(m.Payload, m.XID, header.Reply)\n", "	if f := head(m.Payload, m.XID, header.Reply); f != nil && f.Code != header.FaultXID {\n		return f\n	}\n	return nil\n", engineTests},
	{"a Reply of a Call that was not sent counts", requesterFile, "return p != nil && p.sent && !p.got", "return p != nil && !p.got", engineTests},
	{"an XID in flight can be used again", requesterFile, "case e.table[c.XID] != nil:", "case false:", engineTests},
	{"any key may be ended by the peer", requesterFile, "if !known || !p.offered(key) {", "if false {", engineTests},
	{"a Call's header XID is not compared", responderFile, "head(r.hdr.Payload, r.XID, header.Call); f != nil {", "head(r.hdr.Payload, r.XID, header.Call); f != nil && f.Code != header.FaultXID {", engineTests},
	{"reverse chunks are taken when off", responderFile, "reverse && !e.cfg.ReverseChunks && (", "false && (", engineTests},

	// Chunks.
	{"an offer with a wrap is taken", limitsFile, "		if c[i].Wraps() {", "		if false {", chunkTests},
	{"the sum of a read list is made in 32 bits", planFile, "if p.Pulled += uint64(s.Length); p.Pulled > lim.Bytes {", "if p.Pulled = uint64(uint32(p.Pulled) + s.Length); p.Pulled > lim.Bytes {", chunkTests},
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
	{"a batch of Reads begins anew each time", assembleFile, "skip, left := r.plan.Reads-r.unread, r.batch", "skip, left := 0, r.batch", engineTests},
	{"RDMA Reads are not limited", assembleFile, "if e.terms.Reads > 0 {", "if false {", engineTests},

	// Both directions, and the draft's legacy.
	{"one direction overtakes the other", postFile, ".turn < (*e.answers.at(0)).turn", ".turn > (*e.answers.at(0)).turn", engineTests},
	{"keys of reverse Calls are ended", responderFile, "if e.terms.RemoteInvalidate && !reverse {", "if e.terms.RemoteInvalidate {", engineTests},
	{"a reverse Call goes out before it is allowed", "rdmaio/call.go", "if !c.ready.Load() {", "if c.set.calls < 0 {", ioTests},
	{"memory is given back before RDMA_DONE", postFile, "	case c.req.posted:", "	case c.req.posted && c.pull:", engineTests},
	{"RDMA_DONE keeps its credit", postFile, "		e.credit.Ended()\n		e.eff.Release", "		e.eff.Release", engineTests},
	{"nobody waits for RDMA_DONE in vain", engineFile, "e.due[0].deadline <= e.now", "e.due[0].deadline < 0", engineTests},
	{"no Reply is held back for RDMA_DONE", legacyFile, "len(e.due)+e.lined() < e.spare()", "len(e.due)+e.lined() >= 0", engineTests},
	{"padding is not told", legacyFile, "	r.Padding = Padding{p.Align, p.Threshold, start}\n", "	_ = start\n", engineTests},
	{"padding of any alignment is taken", legacyFile, "p.Align&(p.Align-1) != 0 || ", "", engineTests},

	// The send queue, and the end.
	{"the send queue may overflow", postFile, "return e.sqUsed+n <= e.cfg.SendWRs &&", "return e.sqUsed < e.cfg.SendWRs &&", engineTests},
	{"a message that somebody waits for is silent", postFile, "	if r != nil {\n		e.last = none\n", "	if r != nil {\n", engineTests},
	{"a silent message keeps its buffer", postFile, "		e.over(e.chains.pop())\n	}\n", "		e.chains.pop()\n	}\n", engineTests},
	{"a send buffer is free too early", postFile, "	e.sends.take()\n	return buf, n, nil", "	return buf, n, nil", engineTests},
	{"a send buffer that was given back is used on", "rdmaio/internal/engine/borrow.go", "			e.eff.Return = append(e.eff.Return, b)\n			continue\n", "			e.eff.Return = append(e.eff.Return, b)\n", engineTests},
	{"nobody waits for RDMA Reads to be over", engineFile, "(e.awaited > 0 || e.stuck ||", "(e.stuck ||", engineTests},
	{"nobody waits for room in the send queue", engineFile, "(e.awaited > 0 || e.stuck ||", "(e.awaited > 0 ||", engineTests},
	{"a lost connection keeps its send buffers", engineFile, "	e.returnAll()\n", "", engineTests},
	{"the pads of a message are what was there", assembleFile, "			clear(to) // R314\n", "			_ = to // R314\n", engineTests},
	{"a lost request is not given back", engineFile, "	for _, q := range []*queue[*Request]{&e.answers, &e.pulls} {", "	for _, q := range []*queue[*Request]{&e.pulls} {", engineTests},
	{"posted work may take for ever", engineFile, "e.chains.at(0).deadline <= e.now", "e.chains.at(0).deadline < 0", engineTests},
	{"refusals without end", responderFile, "e.refusals.n > e.cfg.MaxErrors {", "e.refusals.n > 1<<30 {", ioTests},

	// Memory.
	{"a region is reused without a new key", poolFile, "		err = mr.Reregister(buf, access)\n", "		if mr.RKey() == 0 {\n			err = mr.Reregister(buf, access)\n		}\n", poolTests},
	{"keys are not ended", poolFile, "	if err := r.Invalidate(); err != nil {\n		return err\n	}\n", "", poolTests},
	{"nobody waits for the end of a key", poolFile, "	if err := r.Invalidate(); err != nil {\n		return err\n	}\n", "	go func(mr verbs.MemoryRegion) { _ = mr.Invalidate() }(r.MemoryRegion)\n", poolTests},
	{"a key that cannot be ended stays", poolFile, "	err := r.Deregister()\n", "	var err error\n", poolTests},
	{"a staged region comes back whole", poolFile, "p.copy(r.user[:n], r.stage.Bytes)", "p.copy(r.user, r.stage.Bytes)", poolTests},
	{"a result may be read by the peer", "rdmaio/offer.go", "c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, number) // R304", "c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteRead, number) // R304", ioTests},
	{"a late handler's Call counts as never sent", "rdmaio/call.go", "			e.MayHaveRun = s.call.Sent\n", "			e.MayHaveRun = false\n", ioTests},
	{"memory of Calls is not limited", "rdmaio/limit.go", "used <= b.most {", "used > 0 {", ioTests},
	{"a duplicate Call is executed", "rdmaio/replycache.go", "if el, ok := cl.entries[key]; ok {", "if el, ok := cl.entries[key]; ok && el == nil {", ioTests},
	{"a lost Call is sent again for ever", "rdmaio/retry.go", "losses < 0 ||", "", ioTests},
	{"what was sent once counts as never sent", "rdmaio/retry.go", "		ce.MayHaveRun, before = sent, ce.Err\n", "		before = ce.Err\n", ioTests},
	{"who waited counts as sent again", "rdmaio/retry.go", "		if sent && (!failed || ce.MayHaveRun) {\n", "		if !failed || ce.MayHaveRun {\n", ioTests},
	{"who dials is not answered", "rdmaio/server.go", "		reject(log, req) // it may stand", "		// it may stand", ioTests},
	{"no pause between tries to connect", "rdmaio/redial.go", "	c.next = time.Now().Add(", "	_ = time.Now().Add(", ioTests},

	// What raw peers and the watch see.
	{"an ERROR is answered", "rdmaio/internal/engine/receive.go", "	case m.Kind == header.KindError: // RFC 8166 §4.5: only requesters get one\n		return answer\n", "	case m.Kind == header.KindError:\n		return forward\n", ioTests},
	{"an ERROR grants nothing", requesterFile, "	case m.Kind == header.KindError, m.Kind == header.KindMsg && typed", "	case m.Kind == header.KindMsg && typed", ioTests},
	{"inline items have no roundup", "rdmaio/message.go", "			to = append(to, zeros[:pad])\n", "			to = append(to, m.Inline[:pad])\n", ioTests},
	{"the Reply is looked at before keys end", "rdmaio/call.go", "	// R90, R289, R303: first the keys end, then the memory is looked at.\n", "	if e.LongReply > 0 && e.Err == nil {\n		if err := call.take(e); err != nil {\n			_ = c.conclude(s)\n			return nil, fail(s, err)\n		}\n	}\n", ioTests},
	{"a read list that is wrong goes on being read", responderFile, "	r.hdr.Reads = r.hdr.Reads[:0] // none go back in the Reply (R326)\n", "", ioTests},
	{"the end of a listener is a secret", "rdmaio/server.go", "if s.taking.Err() == nil { // not by Close", "if false { // not by Close", ioTests},
}
