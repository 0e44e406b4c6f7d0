package main

// version2Tests look at version 2 in the engine, nearest first.
var version2Tests = []string{"rdmaio/internal/engine", "rdmaio/internal/sim"}

// advertisedTests use what a server advertises.
var advertisedTests = []string{"rdmaio/internal/test/version2"}

// credit2Tests look at its credits.
var credit2Tests = []string{"rdmaio/internal/credit", "rdmaio/internal/engine", "rdmaio/internal/sim"}

const (
	negotiateFile = "rdmaio/internal/engine/negotiate.go"
	controlFile   = "rdmaio/internal/engine/control.go"
	joinFile      = "rdmaio/internal/engine/join.go"
	sequenceFile  = "rdmaio/internal/engine/sequence.go"
	receiveFile   = "rdmaio/internal/engine/receive.go"
	credit2File   = "rdmaio/internal/credit/v2.go"
)

// version2Mutants are in the engine's version 2, and in its credits.
var version2Mutants = []mutant{
	// Advertised values.
	{"the sizes of properties change places", "rdmaio/settings.go", "MaxSend: uint32(s.InlineSend), ReceiveSize: uint32(s.InlineRecv),", "MaxSend: uint32(s.InlineRecv), ReceiveSize: uint32(s.InlineSend),", advertisedTests},
	{"one segment more than taken is advertised", "rdmaio/settings.go", "Segments: uint32(min(s.MaxSegments, math.MaxInt32)),", "Segments: uint32(min(s.MaxSegments+1, math.MaxInt32)),", advertisedTests},
	{"a server advertises reverse Calls without chunks", "rdmaio/settings.go", "s.ReverseChunks:\n\t\tp.Reverse = v2.ReverseGeneral", "s.ReverseChunks:\n\t\tp.Reverse = v2.ReverseInline", advertisedTests},
	{"segments are advertised shorter than they are taken", "rdmaio/settings.go", "SegmentSize: math.MaxInt32, Segments", "SegmentSize: 1 << 20, Segments", advertisedTests},
	{"a message over credit is taken", credit2File, "\tdefault:\n\t\treturn false\n\t}\n\treturn true", "\tdefault:\n\t\treturn c != Grant\n\t}\n\treturn true", advertisedTests},

	// The version.
	{"Calls go before there is a version", pumpFile, "!inside && e.negotiation.state == versionFixed && rq.ready()", "!inside && rq.ready()", version2Tests},
	{"ERR_VERS with the version refused is followed", negotiateFile, "v != n.version && low <= k && k <= high && v.Properties() == nil {", "low <= k && k <= high {", version2Tests},
	{"the end of a range is not looked at", negotiateFile, "low <= k && k <= high &&", "low <= k &&", version2Tests},
	{"the start of a range is not looked at", negotiateFile, "low <= k && k <= high &&", "k <= high &&", version2Tests},
	{"an ERROR is no answer to the offer", negotiateFile, "	case f == nil && m.Kind == header.KindError && m.Err.Code == header.ErrVers:\n", "	case f == nil && m.Kind == header.KindError && m.Err.Code != header.ErrVers:\n		return false\n	case f == nil && m.Kind == header.KindError:\n", version2Tests},
	{"a short message is an answer to the offer", negotiateFile, "case f != nil && (f.Code == header.FaultShort || f.Code == header.FaultVersion):", "case f != nil && f.Code == header.FaultVersion:", version2Tests},
	{"an offer waits without end", negotiateFile, "	if n.cfg.OfferTimeout > 0 {\n", "	if n.cfg.OfferTimeout > 1<<62 {\n", version2Tests},
	{"the time of an answered offer runs out", negotiateFile, "	n.state, n.deadline = versionFixed, 0\n", "	n.state = versionFixed\n", version2Tests},
	{"a server takes any version for its first", negotiateFile, "	if i < 0 { // R183: the client may go on with another\n", "	if i = max(i, 0); i < 0 {\n", version2Tests},
	{"a server names one of its versions", negotiateFile, "	for _, v := range n.cfg.Versions {\n		low, high", "	for _, v := range n.cfg.Versions[:1] {\n		low, high", version2Tests},
	{"a message of another version is dropped", negotiateFile, "	n.draining = f\n", "", version2Tests},
	{"a client lets the server change the version", negotiateFile, "		n.end(f) // R188\n", "", version2Tests},
	{"a server does not say which version is fixed", negotiateFile, "		n.control.refuseVersion(p, n.version.Number(), n.version.Number())\n", "		_ = p\n", version2Tests},
	{"a new version has no Receives", negotiateFile, "n.use(v, n.stats.PostedRecvs+1)", "n.use(v, 0)", version2Tests},
	{"messages stay as short as the first one", negotiateFile, "		n.heard = true\n		n.setTerms()\n", "		n.heard = true\n", version2Tests},

	// Messages without RPC.
	{"ERRORs are queued without end", controlFile, " || ct.queue.len() > ct.cfg.Receives {", " {", version2Tests},
	{"ERRORs of control do not count", controlFile, "if !ct.mayRefuse() || ", "if ", version2Tests},
	{"properties go inside a continued message", controlFile, "	if inside && o.class != protocol.ClassError {\n		return false\n	}\n", "", version2Tests},
	{"ERR_VERS waits for a credit", controlFile, "	return o.free || ct.account.Free(o.class)\n", "	return ct.account.Free(o.class)\n", version2Tests},
	{"a set of properties is judged in parts", controlFile, "	if m.More {\n		return\n	}\n	set, size", "	set, size", version2Tests},
	{"a client answers a bad set by ERROR", controlFile, "		if ct.cfg.Role == Responder {\n			ct.refuse", "		if ct.cfg.Role >= Requester {\n			ct.refuse", version2Tests},
	{"a server keeps its properties to itself", controlFile, "	if !ct.announced { // A7: the client waits for an answer\n", "	if false {\n", version2Tests},
	{"each set is answered by properties", controlFile, "	if !ct.announced { // A7: the client waits for an answer\n", "	if ct.cfg.Role == Responder {\n", version2Tests},
	{"many small properties cost nothing", controlFile, "		ct.learnt += propertyCost + len(p.Data)\n", "		ct.learnt += len(p.Data)\n", version2Tests},
	{"a set that broke off counts for the next one", receiveFile, "	e.control.forget()\n", "", version2Tests},

	// Continued messages that come.
	{"a part of another XID is appended", joinFile, "m.Kind != j.kind || m.XID != j.xid || m.Answer != j.answer:", "m.Kind != j.kind || m.Answer != j.answer:", version2Tests},
	{"a part in the other direction is appended", joinFile, "m.Kind != j.kind || m.XID != j.xid || m.Answer != j.answer:", "m.Kind != j.kind || m.XID != j.xid:", version2Tests},
	{"a grant ends a continued message", joinFile, "	case p == protocol.Grant || m.Kind == header.KindError: // A5, T91\n", "	case m.Kind == header.KindError:\n", version2Tests},
	{"an ERROR ends a continued message", joinFile, "	case p == protocol.Grant || m.Kind == header.KindError: // A5, T91\n", "	case p == protocol.Grant:\n", version2Tests},
	{"the length of a continued message has no limit", joinFile, "if j.size > j.cfg.MaxContinued || ", "if ", version2Tests},
	{"the number of parts has no limit", joinFile, " || j.parts > maxParts {", " {", version2Tests},
	{"the memory of parts that are passed over is kept", joinFile, "	j.state = joinSkipping\n	j.release()\n", "	j.state, j.buf = joinSkipping, nil\n", version2Tests},
	{"a continued message that breaks off keeps its memory", joinFile, "	j.release()\n	*j = joiner", "	*j = joiner", version2Tests},
	{"a continued Reply keeps its memory", receiveFile, "		if a.joined != nil {\n", "		if false {\n", version2Tests},
	{"a continued Call keeps its memory", "rdmaio/internal/engine/request.go", "		rs.cfg.Reserve(-cap(r.source.joined))\n", "", version2Tests},
	{"the memory of parts grows by each part", joinFile, "max(leastJoined, 1<<bits.Len(uint(need-1)))", "need|bits.Len(0)", version2Tests},
	{"a Reply stays in memory that its caller has again", requesterFile, "	if rq.joiner.into == c {\n		rq.joiner.leave()\n	}\n", "", version2Tests},
	{"a continued message may take any time", joinFile, "	if j.cfg.ContinueTimeout > 0 {\n", "	if false {\n", version2Tests},
	{"the time starts again with each part", joinFile, "	j.take(m.Payload)\n", "	j.deadline = j.now + j.cfg.ContinueTimeout + 1\n	j.take(m.Payload)\n", version2Tests},
	{"the Call of a Reply that breaks off hangs", joinFile, "		e.requester.fail(xid, a.fault)\n", "		_ = xid\n", version2Tests},
	{"a client answers bad properties by ERROR", joinFile, "		a.purpose = protocol.Drop\n", "", version2Tests},
	{"the peer of an open sequence gets no credit for the rest", joinFile, "		j.account.Sequence(true)\n", "", version2Tests},

	// Continued messages that go.
	{"a Call is not copied when it is cancelled", requesterFile, "		rq.sends.sequence.own()\n", "", version2Tests},
	{"the copy of a cancelled Call begins at its start", sequenceFile, "			p = p[s.done:]\n", "", version2Tests},
	{"the lists of a cancelled Call are not copied", sequenceFile, "	s.last.Lists = s.last.Lists.Clone()\n", "", version2Tests},
	{"a part has its chunks with it", sequenceFile, "		m = &sq.out\n", "		m = &s.last\n		defer func() { s.last.More = false }()\n", version2Tests},
	{"a part loses its direction", sequenceFile, "s.last.Kind, s.last.Answer, true\n", "s.last.Kind, false, true\n", version2Tests},
	{"the last part has MORE", sequenceFile, "	sq.out.Answer, sq.out.More = false, false\n", "	sq.out.Answer = false\n", version2Tests},
	{"each part costs what a Call does", sequenceFile, "	case s.begun:\n		return protocol.ClassPart\n", "", version2Tests},
	{"a Reply needs no credit", answerFile, "		return !inside && rs.account.Free(protocol.ClassAnswer)\n", "		return !inside\n", version2Tests},
	{"an early answer ends its Call at once", requesterFile, "		rq.early(p, m, f, key)\n		return nil\n", "		rq.early(p, m, f, key)\n		rq.sends.sequence = sequence{}\n		rq.toCall(p, callSent)\n		rq.refused(p, p.refused)\n		return nil\n", version2Tests},
	{"an early answer is dropped", requesterFile, "	if p.refused != nil {\n		rq.refused(p, p.refused)\n	}\n", "", version2Tests},

	// Keys.
	{"a part may invalidate a key", joinFile, "	case !whole && a.key != 0:\n", "	case false:\n", version2Tests},
	{"a key with a fault ends no connection", receiveFile, "if a.key != 0 && !e.checkKey(&a) ||", "if a.key != 0 && a.fault == nil && !e.checkKey(&a) ||", version2Tests},
	{"memory of a Reply with a wrong key is kept", receiveFile, "if a.key != 0 && !e.checkKey(&a) || e.deliver(&a) {", "if (a.key == 0 || e.checkKey(&a)) && e.deliver(&a) {", version2Tests},
	{"a removed device refuses Calls", "rdmaio/answerer.go", "	if !a.deviceGone(why) {", "	if true {", ioTests},
	{"a removed device refuses Replies", "rdmaio/reply.go", "if !r.host.deviceGone(err) {", "if true {", ioTests},
	{"nudges begin with the connection", "rdmaio/providers/ibverbs/post.go", "		q.opening.sent(q)\n", "", []string{"rdmaio/providers/ibverbs"}},
	{"version 2 has read chunks in Replies", "rdmaio/internal/engine/shared.go", " && !s.version.Continues()", "", version2Tests},
	{"memory of a Call is given back early", receiveFile, "e.responder.request(r, a.recv, a.joined, a.fault)\n\t\treturn false", "e.responder.request(r, a.recv, a.joined, a.fault)\n\t\treturn true", version2Tests},
	{"any key of the Call may be invalidated", pendingFile, "	case named:\n		return key == p.call.NamedKey\n", "", version2Tests},
	{"a cancelled Call forgets the key that it named", requesterFile, "		p.keys = append(p.keys, c.NamedKey)\n", "", version2Tests},

	// Credits.
	{"a client may send two messages at first", credit2File, "	if client {\n		a.free = 1\n", "	if client {\n		a.free = 2\n", credit2Tests},
	{"an end grants the Receives that it keeps for grants", credit2File, "room = min(room, a.posted-min(a.posted, spare))", "room = min(room, a.posted)", credit2Tests},
	{"a sender counts more credits than the ceiling", credit2File, "	n := min(low, high-a.free)\n", "	n := low\n", credit2Tests},
	{"a first grant of nothing stops the client", credit2File, "		a.zero++\n		low = 1\n", "		a.zero++\n", credit2Tests},
	{"ERRORs grant", credit2File, "		return word\n	}\n	low", "		return word | 1\n	}\n	low", credit2Tests},
	{"an ERROR before the first grant takes the last credit", credit2File, "		if a.client && !a.begun && a.free == 0 {\n			a.free = 1\n		}\n", "", credit2Tests},
	{"grants make grants due", credit2File, "	if c != Grant || !a.granted {\n", "	if true {\n", credit2Tests},
	{"any number of grants cost nothing", credit2File, "a.out == 0 && !a.borrowed && (", "a.out == 0 && (", credit2Tests},
	{"a message beyond the credits is counted", credit2File, "	default:\n		return false\n	}\n	return true", "	default:\n	}\n	return true", credit2Tests},
	{"an open sequence gets no credit from a busy end", credit2File, "	if room == 0 && (a.inFlight > 0 || a.open || a", "	if room == 0 && (a.inFlight > 0 || a", credit2Tests},
	{"Calls in flight exceed the ceiling", credit2File, "return a.free > 0 && a.inFlight < a.limit", "return a.free > 0", credit2Tests},
	{"no grant is ever due", credit2File, "	case low == 0 || !a.Free(Grant):", "	case true:", credit2Tests},
	{"a lower ceiling takes nothing out of use", credit2File, "		a.free = high\n	}\n", "	}\n", credit2Tests},
	{"credits out of use never come back", credit2File, "		a.aside--\n		a.free = 1\n", "		a.aside--\n", credit2Tests},

	// Limits, waits and memory.
	{"the last part of a Reply needs no room for its Writes", "rdmaio/internal/engine/sequence.go", "return s.reply.unwritten() + 1", "return 1", version2Tests},
	{"lists that fit no Send end the connection", "rdmaio/internal/engine/sequence.go", "sq.version.Overhead(&m.Lists) < min(len(sq.buffers.last().Bytes), sq.terms.Send)", "true", version2Tests},
	{"the last part has no room for its lists", "rdmaio/internal/engine/sequence.go", "last = sq.version.Overhead(&m.Lists)+s.left <= len(mem)", "last = sq.version.Overhead(&header.Lists{})+s.left <= len(mem)", version2Tests},
	{"parts are longer than the terms allow", "rdmaio/internal/engine/sequence.go", "mem := buf.Bytes[:min(len(buf.Bytes), sq.terms.Send)]\n	m := &s.last", "mem := buf.Bytes\n m := &s.last", version2Tests},
	{"a continued Call is not in flight", "rdmaio/internal/engine/sequence.go", "case s.begun:\n		return protocol.ClassPart", "case true:\n return protocol.ClassPart", version2Tests},
	{"a Call after a continued Reply is an answer", "rdmaio/internal/engine/sequence.go", "sq.out.Answer, sq.out.More = false, false", "sq.out.More = false", version2Tests},
	{"a Reply shares the middle of a Receive", "rdmaio/internal/engine/sequence.go", "if &m[i] == &p[0] {", "if i == 0 && &m[i] == &p[0] {", version2Tests},
	{"the last part leaves a continued message open", "rdmaio/internal/engine/join.go", "*j = joiner{shared: j.shared}\n	j.account.Sequence(false)", "*j = joiner{shared: j.shared}", version2Tests},
	{"a continued message has more memory than allowed", "rdmaio/internal/engine/join.go", "min(max(leastJoined, 1<<bits.Len(uint(need-1))), max(need, j.cfg.MaxContinued))", "max(leastJoined, 1<<bits.Len(uint(need-1)))", version2Tests},
	{"memory that grew is not given back", "rdmaio/internal/engine/join.go", "if had > 0 {\n		j.cfg.Memory.Give(j.buf)\n	}", "", version2Tests},
	{"a message that is passed over asks for memory", "rdmaio/internal/engine/join.go", "if j.state == joinSkipping {\n		return\n	}\n	if j.size", "if j.size", version2Tests},
	{"a Call is put together in the memory of a Reply", joinFile, "if a.purpose == protocol.Answer && e.joiner.state == joinIdle {", "if e.joiner.state == joinIdle {", version2Tests},
	{"a Call that breaks off ends one of ours", "rdmaio/internal/engine/join.go", "rpc && !j.answer, rpc && j.answer", "rpc && !j.answer, rpc", version2Tests},
	{"properties that break off end a Call", "rdmaio/internal/engine/join.go", "rpc := j.xid, j.state != joinIdle && j.kind == header.KindMsg", "rpc := j.xid, j.state != joinIdle", version2Tests},
	{"an invalid ERROR breaks a message off", joinFile, "case a.fault != nil && m.Kind != header.KindError:", "case a.fault != nil:", version2Tests},
	{"a result is written with its roundup", "rdmaio/request.go", "sge, err := r.register(data)\n", "sge, err := r.register(append(data[:len(data):len(data)], make([]byte, -len(data)&3)...))\n", []string{testFolders + "version2"}},
	{"the client answers a message of an extension", "rdmaio/internal/engine/join.go", "(m.Kind == header.KindProps || m.Kind == header.KindOther) { // R193", "m.Kind == header.KindProps {", version2Tests},
	{"the memory of a set stays reserved", "rdmaio/internal/engine/control.go", "if ct.reserved > 0 {\n		ct.cfg.Reserve(-ct.reserved)\n	}", "", version2Tests},
	{"a set that is too long costs memory without end", "rdmaio/internal/engine/control.go", "case ct.skipping || ct.learnt > maxProperties:", "case ct.skipping:", version2Tests},
	{"a set that is too long is kept", "rdmaio/internal/engine/control.go", "if ct.learnt > maxProperties || ct.skipping {", "if ct.skipping {", version2Tests},
	{"properties without data cost nothing", "rdmaio/internal/engine/control.go", "size += 2 * (propertyCost + len(p.Data))", "size += 2 * len(p.Data)", version2Tests},
	{"a set without memory asks again", "rdmaio/internal/engine/control.go", "ct.skipping, ct.learning, ct.data = true, nil, nil", "ct.learning, ct.data = nil, nil", version2Tests},
	{"no set is taken after one without memory", "rdmaio/internal/engine/control.go", "ct.learning, ct.data, ct.learnt, ct.reserved, ct.skipping = nil, nil, 0, 0, false", "ct.learning, ct.data, ct.learnt, ct.reserved = nil, nil, 0, 0", version2Tests},
	{"properties stay in their Receive", "rdmaio/internal/engine/control.go", "ct.data = append(ct.data, p.Data...)\n		ct.learning = append(ct.learning, header.Property{ID: p.ID, Data: ct.data[at:len(ct.data):len(ct.data)]})", "_ = at\n ct.learning = append(ct.learning, header.Property{ID: p.ID, Data: p.Data})", version2Tests},
	{"sets of properties share their memory", "rdmaio/internal/engine/control.go", "append(props[:len(props):len(props)], more...)", "append(props, more...)", version2Tests},
	{"a message of an extension stays in its Receive", "rdmaio/internal/engine/control.go", "Body: m.Body, Payload: bytes.Clone(m.Payload)}", "Body: m.Body, Payload: m.Payload}", version2Tests},
	{"ERRORs wait for the last part", "rdmaio/internal/engine/control.go", "if inside && o.class != protocol.ClassError {", "if inside {", version2Tests},
	{"messages are longer than the send buffers", "rdmaio/internal/engine/negotiate.go", "own.Send = min(n.sendSize, n.cfg.sendSize())", "own.Send = n.sendSize", version2Tests},
	{"the terms allow more than the Receives have", "rdmaio/internal/engine/negotiate.go", "own.Recv = min(own.Recv, n.receives.agreed)", "", version2Tests},
	{"the client forbids itself nothing to invalidate", "rdmaio/internal/engine/negotiate.go", "if n.restrict.NoInvalidate && n.cfg.Role == Responder {", "if n.restrict.NoInvalidate {", version2Tests},
	{"messages of the refused version are sent", "rdmaio/internal/engine/negotiate.go", "n.control.queue = queue[outgoing]{} // of", "//", version2Tests},
	{"a message of another version is ignored", "rdmaio/internal/engine/negotiate.go", "len(n.cfg.Versions) > 1 || first.Properties() != nil", "len(n.cfg.Versions) > 1", version2Tests},
	{"a new size holds before all Receives have it", "rdmaio/internal/engine/resize.go", "if n != 0 && int(n) < r.size {\n			return\n		}", "_ = n", version2Tests},
	{"a Receive in use delays a new size", "rdmaio/internal/engine/receive.go", "e.receives.posted[i] = 0", "", version2Tests},
	{"Writes do not go in batches", "rdmaio/internal/engine/answers.go", "; n <= most {", "; n <= most || n > 0 {", version2Tests},
	{"a batch of Writes is sent twice", "rdmaio/internal/engine/sendqueue.go", "	r.written += n\n", "", version2Tests},
	{"the last Write of a batch does not complete", "rdmaio/internal/engine/sendqueue.go", "	sq.eff.Sends[len(sq.eff.Sends)-1].Flags |= verbs.SendSignaled\n", "", version2Tests},
	{"a batch of Reads is longer than the send queue", "rdmaio/internal/engine/source.go", "p.batch = min(p.unread, most)", "p.batch = p.unread", version2Tests},
	{"a drain forgets ERRORs", "rdmaio/internal/engine/engine.go", "&& e.control.queue.len() == 0 && !e.sends.sequence.open {", "&& !e.sends.sequence.open {", version2Tests},
	{"what a cancelled Call leaves is lost", "rdmaio/internal/engine/engine.go", "left = ev.Control.Left", "_ = ev.Control.Left", version2Tests},
	{"a set that is cut off stays reserved", "rdmaio/internal/engine/engine.go", "e.control.forget()\n	e.requester", "e.requester", version2Tests},
	{"a dropped Receive is not posted again", receiveFile, "!n.decoded(a.bytes, &r.hdr, a.fault) {\n		e.postUncounted(a.recv)\n", "!n.decoded(a.bytes, &r.hdr, a.fault) {\n", version2Tests},
	{"messages of extensions are not guarded", receiveFile, "if (a.purpose == protocol.Call || a.purpose == protocol.Other) && e.cfg.Guard", "if a.purpose == protocol.Call && e.cfg.Guard", version2Tests},
	{"a Call beside the authentication is refused", "rdmaio/internal/engine/receive.go", "e.cfg.Guard != nil && len(e.eff.Auth) == 0 && !e.cfg.Guard()", "e.cfg.Guard != nil && !e.cfg.Guard()", version2Tests},
	{"a grant needs no room", "rdmaio/internal/engine/pump.go", "if e.stuck = !e.sends.room(1, true); e.stuck {\n				e.wantBuffers()\n				return\n			}", "", version2Tests},
	{"parts want no buffers", "rdmaio/internal/engine/pump.go", "n += 1 + s.left/e.terms.Send", "_ = s", version2Tests},
	{"messages of extensions wait without end", "rdmaio/internal/engine/stall.go", "if !s.open && answers.len()+e.control.queue.len() == 0 ||", "if !s.open && answers.len() == 0 ||", version2Tests},
	{"any message is progress", "rdmaio/internal/engine/stall.go", "if st.deadline == 0 || on != st.on {", "if true {", version2Tests},
	{"a wait that is over ends the connection", "rdmaio/internal/engine/stall.go", "{\n		st.deadline = 0\n		return\n	}", "{\n return\n }", version2Tests},
	{"no limit is a limit of nothing", "rdmaio/internal/engine/stall.go", "|| e.cfg.ChainTimeout == 0 ||", "||", version2Tests},
	{"a restriction raises the level of reverse Calls", negotiateFile, "own.Reverse = max(own.Reverse, *r)", "own.Reverse = min(own.Reverse, *r)", version2Tests},
	{"the end that accepted offers, too", negotiateFile, "n.state != versionOpen || n.cfg.Role != Requester {", "n.state != versionOpen {", version2Tests},
	{"version 2 forgets that there are no read chunks", negotiateFile, "own.Reads, own.NoReadChunks, own.ReadsUnknown = t.Reads, t.NoReadChunks, t.ReadsUnknown", "own.Reads, own.ReadsUnknown = t.Reads, t.ReadsUnknown", version2Tests},
	{"only the first piece of a Call is copied", "rdmaio/internal/engine/sequence.go", "			s.payload[i] = bytes.Clone(p)\n", "			s.payload[i] = bytes.Clone(p)\n			return\n", version2Tests},
	{"a part waits for two entries", "rdmaio/internal/engine/sequence.go", "	if s.reply == nil {\n		return 1\n", "	if s.reply == nil {\n		return 2\n", version2Tests},
	{"the last part has a byte less", "rdmaio/internal/engine/sequence.go", "sq.version.Overhead(&m.Lists)+s.left <= len(mem)", "sq.version.Overhead(&m.Lists)+s.left < len(mem)", version2Tests},
	{"an end that serves nothing refuses a broken Call", receiveFile, "protocol.Answer && e.cfg.Serves > 0:", "protocol.Answer:", version2Tests},
}
