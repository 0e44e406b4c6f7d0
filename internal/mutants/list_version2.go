package main

// version2Tests look at version 2 in the engine, nearest first.
var version2Tests = []string{"rdmaio/internal/engine", "rdmaio/internal/sim"}

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
	{"a server names one of its versions", negotiateFile, "	if n.state != versionFixed {\n		for _, v", "	if n.state == versionFixed {\n		for _, v", version2Tests},
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
	{"a set that broke off counts for the next one", joinFile, "	e.control.forget()\n", "", version2Tests},

	// Continued messages that come.
	{"a part of another XID is appended", joinFile, "m.Kind != j.kind || m.XID != j.xid || m.Answer != j.answer:", "m.Kind != j.kind || m.Answer != j.answer:", version2Tests},
	{"a part in the other direction is appended", joinFile, "m.Kind != j.kind || m.XID != j.xid || m.Answer != j.answer:", "m.Kind != j.kind || m.XID != j.xid:", version2Tests},
	{"a grant ends a continued message", joinFile, "	case p == protocol.Grant || m.Kind == header.KindError: // A5, T91\n", "	case m.Kind == header.KindError:\n", version2Tests},
	{"an ERROR ends a continued message", joinFile, "	case p == protocol.Grant || m.Kind == header.KindError: // A5, T91\n", "	case p == protocol.Grant:\n", version2Tests},
	{"the length of a continued message has no limit", joinFile, "if j.size > j.cfg.MaxContinued || ", "if ", version2Tests},
	{"the number of parts has no limit", joinFile, " || j.parts > maxParts {", " {", version2Tests},
	{"the memory of parts that are passed over is kept", joinFile, "	j.state = joinSkipping\n	j.release()\n", "	j.state, j.buf = joinSkipping, nil\n", version2Tests},
	{"a continued message that breaks off keeps its memory", joinFile, "	j.release()\n	*j = joiner", "	*j = joiner", version2Tests},
	{"a continued Reply keeps its memory", receiveFile, "	if own != nil && !serve {\n", "	if own != nil && false {\n", version2Tests},
	{"a continued Call keeps its memory", "rdmaio/internal/engine/request.go", "		rs.cfg.Reserve(-cap(r.joined))\n", "", version2Tests},
	{"the memory of parts grows by each part", joinFile, "max(leastJoined, 1<<bits.Len(uint(need-1)))", "need|bits.Len(0)", version2Tests},
	{"a Reply stays in memory that its caller has again", requesterFile, "	if rq.joiner.into == c {\n		rq.joiner.leave()\n	}\n", "", version2Tests},
	{"a continued message may take any time", joinFile, "	if j.cfg.ContinueTimeout > 0 {\n", "	if false {\n", version2Tests},
	{"the time starts again with each part", joinFile, "	j.take(m.Payload)\n", "	j.deadline = j.now + j.cfg.ContinueTimeout + 1\n	j.take(m.Payload)\n", version2Tests},
	{"the Call of a Reply that breaks off hangs", joinFile, "		e.requester.fail(xid, f)\n", "		_ = xid\n", version2Tests},
	{"a client answers bad properties by ERROR", joinFile, "		p = protocol.Drop\n", "", version2Tests},
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
	{"a part may invalidate a key", receiveFile, "	case !whole:\n		e.violated(key, \"a part of a message that is not the last\")\n		return\n", "", version2Tests},
	{"any key of the Call may be invalidated", pendingFile, "	case named:\n		return key == p.call.NamedKey\n", "", version2Tests},
	{"a cancelled Call forgets the key that it named", requesterFile, "		p.keys = append(p.keys, c.NamedKey)\n", "", version2Tests},

	// Credits.
	{"a client may send two messages at first", credit2File, "	if client {\n		a.free = 1\n", "	if client {\n		a.free = 2\n", credit2Tests},
	{"an end grants the Receives that it keeps for grants", credit2File, "room = min(room, a.posted-min(a.posted, spare))", "room = min(room, a.posted)", credit2Tests},
	{"a sender counts more credits than the ceiling", credit2File, "	n := min(low, high-a.free)\n", "	n := low\n", credit2Tests},
	{"a first grant of nothing stops the client", credit2File, "		a.zero++\n		low = 1\n", "		a.zero++\n", credit2Tests},
	{"ERRORs grant", credit2File, "		return a.ceiling << 16\n", "		return a.ceiling<<16 | 1\n", credit2Tests},
	{"an ERROR before the first grant takes the last credit", credit2File, "		if a.client && !a.begun && a.free == 0 {\n			a.free = 1\n		}\n", "", credit2Tests},
	{"grants make grants due", credit2File, "	if c != Grant || !a.granted {\n", "	if true {\n", credit2Tests},
	{"a grant takes the last credit", credit2File, "return a.free > 1 && !a.lent }", "return a.free > 0 && !a.lent }", credit2Tests},
	{"any number of grants cost nothing", credit2File, "a.out == 0 && !a.borrowed && a.expects()", "a.out == 0 && a.expects()", credit2Tests},
	{"a message beyond the credits is counted", credit2File, "	default:\n		return false\n	}\n	return true\n", "	default:\n	}\n	return true\n", credit2Tests},
	{"an open sequence gets no credit from a busy end", credit2File, "	if room == 0 && (a.inFlight > 0 || a.open) {\n", "	if room == 0 && a.inFlight > 0 {\n", credit2Tests},
	{"Calls in flight exceed the ceiling", credit2File, "return a.free > 0 && a.inFlight < a.limit", "return a.free > 0", credit2Tests},
	{"no grant is ever due", credit2File, "	return a.due && a.out", "	return false && a.due && a.out", credit2Tests},
	{"a lower ceiling takes nothing out of use", credit2File, "		a.free = high\n	}\n", "	}\n", credit2Tests},
	{"credits out of use never come back", credit2File, "		a.aside--\n		a.free = 1\n", "		a.aside--\n", credit2Tests},
}
