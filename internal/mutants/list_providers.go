package main

var (
	segmentTests = []string{"rdmaio/providers/rdmatcp/segment"}
	rdmatcpTests = []string{"rdmaio/providers/internal/stream", "rdmaio/providers/rdmatcp"}
	streamTests  = []string{"rdmaio/providers/internal/stream"}
	memTests     = []string{"rdmaio/providers/internal/soft", "rdmaio/providers/mem"}
	mrpoolTests  = []string{"rdmaio/internal/mrpool"}
)

// providerMutants are in the providers, and in the pool between them and the transport.
var providerMutants = []mutant{
	// Segments of rdmatcp.
	{"half of a Read_Request is taken", "rdmaio/providers/rdmatcp/segment/header.go", "	case !h.Begin || !h.End: // §3.3", "	case !h.Begin: // §3.3", segmentTests},
	{"Message Numbers do not wrap", "rdmaio/providers/rdmatcp/segment/stream.go", "int32(number-uint32(order)-1-earlier) >= 0", "number-uint32(order)-1 >= earlier", segmentTests},
	{"a segment's CRC does not matter", "rdmaio/providers/rdmatcp/segment/whole.go", "sum != found {", "sum != found && found == 0 {", segmentTests},
	{"a Write may end early", "rdmaio/providers/rdmatcp/segment/stream.go", "h.End && exact && m.sent < uint64(m.length):", "h.End && exact && m.sent == 0 && m.length > 0:", segmentTests},
	{"Message Numbers may leave gaps", "rdmaio/providers/rdmatcp/segment/stream.go", "s.started && h.Number != s.next {", "s.started && int32(h.Number-s.next) < 0 {", segmentTests},
	{"Read_Responses in any order", "rdmaio/providers/rdmatcp/segment/stream.go", "if oldest != nil && h.Number != oldest.Number {", "if false {", segmentTests},
	{"a Write into the next 2^32", "rdmaio/providers/rdmatcp/segment/stream.go", "end > 1<<32 {", "end > 1<<33 {", segmentTests},
	{"a Write changes its buffer", "rdmaio/providers/rdmatcp/segment/stream.go", "	case h.BufferID != m.bufferID:", "	case false:", segmentTests},
	{"control data beyond the segment", "rdmaio/providers/rdmatcp/segment/header.go", "	case p < 0: // §3.4", "	case p < -4: // §3.4", segmentTests},
	// The provider over TCP, and package stream below it.
	{"a report is sent into an open message", "rdmaio/providers/rdmatcp/framer.go", "if f.raw != nil || sent == stream.SentPart {", "if f.raw != nil {", rdmatcpTests},
	{"one Read too many is outstanding", "rdmaio/providers/internal/stream/fill.go", "q.reads.len() >= q.depth:", "q.reads.len() > q.depth:", rdmatcpTests},
	{"one Read too many is served", "rdmaio/providers/internal/stream/check.go", "n >= q.resources {", "n > q.resources {", rdmatcpTests},
	{"a fence stops nothing", "rdmaio/providers/internal/stream/fill.go", "		case r.Flags&verbs.SendFence != 0 && q.reads.len() > 0:\n			return stepNone\n", "", rdmatcpTests},
	{"a Send overtakes the Read before it", "rdmaio/providers/internal/stream/complete.go", "if !a.done || a.barrier > q.resp.head {", "if !a.done {", rdmatcpTests},
	{"a Write overtakes the Read before it", "rdmaio/providers/internal/stream/check.go", "			return q.await(func() bool { return q.resp.head >= i }, q.dev.cfg.SendTimeout)", "			return true", rdmatcpTests},
	{"a rate saves up without end", "internal/ratelimit/ratelimit.go", "min(float64(b.Rate), b.left+now.Sub(b.last).Seconds()*float64(b.Rate))", "b.left + now.Sub(b.last).Seconds()*float64(b.Rate)", []string{"internal/ratelimit"}},
	{"each IPv6 address is a source", "rdmaio/providers/internal/stream/limits.go", "Prefix(64)", "Prefix(128)", rdmatcpTests},
	{"this host counts as a source", "rdmaio/providers/internal/stream/limits.go", "if !limitLocal && (ip.IsLoopback()", "if limitLocal && (ip.IsLoopback()", rdmatcpTests},
	{"the latest greeting is cut, not the oldest", "rdmaio/providers/internal/stream/limits.go", "e := g.order.Front()", "e := g.order.Back()", rdmatcpTests},
	{"a key is ended before the Write that uses it", "rdmaio/providers/internal/stream/fill.go", "if len(q.out.pins) > 0 {", "if len(q.out.pins) > 1<<20 {", rdmatcpTests},
	{"a goodbye is a fault", "rdmaio/providers/rdmatcp/framer.go", "	if p.reason == reasonGoodbye {\n", "	if false {\n", rdmatcpTests},
	{"a report may have payload", "rdmaio/providers/rdmatcp/receive.go", "if n := h.Payload(); n > 0 {", "if n := h.Payload(); n < 0 {", rdmatcpTests},
	{"any key may be ended by a Send", "rdmaio/providers/internal/stream/commit.go", "if reason := q.PD.Invalidatable(key); reason != \"\" {", "if reason := q.PD.Invalidatable(key); reason == \"-\" {", rdmatcpTests},
	{"a message longer than its Receive", "rdmaio/providers/internal/stream/check.go", "in.sendLen > int(r.total) {", "in.sendLen > int(r.total)+4 {", rdmatcpTests},
	{"the second part of a scattered read is counted in the first", "rdmaio/providers/internal/stream/readv_linux.go", "iov[1].SetLen(len(b))", "iov[1].SetLen(min(len(b), 1))", rdmatcpTests},
	{"a scattered read begins with the second part", "rdmaio/providers/internal/stream/readv_linux.go", "{Base: unsafe.SliceData(a)}, {Base: unsafe.SliceData(b)}", "{Base: unsafe.SliceData(b)}, {Base: unsafe.SliceData(a)}", rdmatcpTests},
	// Callers in the reader's place.
	{"a caller waits for a Receive", "rdmaio/providers/internal/stream/progress.go", "q.messages.tail < q.rq.tail && ", "", streamTests},
	{"a caller handles a frame that is not at hand as a whole", "rdmaio/providers/internal/stream/progress.go", " || f.Head+f.Payload+f.Pad+trailerSize > c.w-c.r)", ")", streamTests},
	{"a caller begins a frame while a Read is outstanding", "rdmaio/providers/internal/stream/progress.go", " && q.reads.len() == 0 && ", " && ", streamTests},
	{"an error that a caller found is lost", "rdmaio/providers/internal/stream/turn.go", "	t.err = err\n	t.streak", "	t.streak", streamTests},
	{"a Receive without memory has that of one before it", "rdmaio/providers/internal/stream/post.go", "			r.sgl = nil\n", "			_ = r.sgl\n", rdmatcpTests},
	{"a caller keeps the turn", "rdmaio/providers/internal/stream/turn.go", "		case !t.recalled.Swap(true):\n			interrupt()\n", "", streamTests},
	{"a caller is recalled because of one before it", "rdmaio/providers/internal/stream/turn.go", "	t.recalled.Store(false)\n", "", streamTests},
	{"callers have the turn at once after it was handed back", "rdmaio/providers/internal/stream/turn.go", "	t.streak.Store(-backOff)\n", "", streamTests},
	{"callers ask for the turn although others do not", "rdmaio/providers/internal/stream/turn.go", "		t.streak.Store(0)\n		t.wanted.Store(false)\n", "", streamTests},
	{"a Read leaves the turn free", "rdmaio/providers/internal/stream/post.go", "			q.turn.resume() // its response comes soon\n", "", streamTests},
	// Memory and completion queues of software providers.
	{"an error does not wake a waiter for solicited events", "rdmaio/providers/internal/soft/cq.go", "(solicited || e.wc.Status != verbs.StatusSuccess)", "solicited", memTests},
	{"arming for solicited events takes back the other", "rdmaio/providers/internal/soft/cq.go", "	case cq.armed == disarmed:\n", "	default:\n", memTests},
	{"a range before the region", "rdmaio/providers/internal/soft/mr.go", "off > size || uint64(n) > size-off {", "uint64(n) > size-off {", memTests},
	{"a key of another domain can be ended", "rdmaio/providers/internal/soft/mr.go", "if mr == nil || mr.pd != pd {", "if mr == nil {", memTests},
	{"a deregistered key stays known", "rdmaio/providers/internal/soft/mr.go", "	delete(d.regions, mr.key)\n", "", memTests},
	{"a region ends while data moves", "rdmaio/providers/internal/soft/mr.go", "	if ended.pins() == 0 {\n", "	if ended.pins() >= 0 {\n", memTests},
	{"a valid region is registered again", "rdmaio/providers/internal/soft/mr.go", "	case verbs.MRValid:\n		return fmt.Errorf", "	case verbs.MRState(99):\n		return fmt.Errorf", memTests},
	{"a key is good on every connection", "rdmaio/providers/internal/soft/mr.go", "	case mr.pd != pd:\n", "	case false:\n", memTests},
	{"a closed queue pair's completions are charged to others", "rdmaio/providers/internal/soft/cq.go", "			e.qp = nil\n			cq.orphans++\n", "			e.qp = nil\n", memTests},
	{"a Receive's length does not matter", "rdmaio/providers/mem/transfer.go", "	if r.Total > to.total {", "	if r.Total > to.total+1 {", memTests},
	{"a Write in mem needs the right to read", "rdmaio/providers/mem/transfer.go", "l.access(q, r, verbs.AccessRemoteWrite)", "l.access(q, r, verbs.AccessRemoteRead)", memTests},
	{"an unsignaled request that fails has no completion", "rdmaio/providers/internal/soft/request.go", "status == verbs.StatusSuccess && r.Flags&verbs.SendSignaled == 0 {", "r.Flags&verbs.SendSignaled == 0 {", memTests},
	{"Reads without an agreed depth", "rdmaio/providers/internal/soft/request.go", "		if depth == 0 {", "		if depth < 0 {", memTests},
	{"a dial that was given up goes on", "rdmaio/providers/mem/dial.go", "		r.state = requestAbandoned\n", "", memTests},
	// The pool of regions and buffers.
	{"what a pool holds only grows", "rdmaio/internal/mrpool/pool.go", "		p.keptBytes -= uint64(size)\n", "", mrpoolTests},
	{"buffers made to measure are kept", "rdmaio/internal/mrpool/pool.go", "keep && !p.closed && b.class > 0 &&", "keep && !p.closed &&", mrpoolTests},
	{"a pool closes with memory in use", "rdmaio/internal/mrpool/pool.go", "	if out > 0 {", "	if out < 0 {", mrpoolTests},
	{"a pool holds one buffer too many", "rdmaio/internal/mrpool/pool.go", "p.keptBytes+size <= p.mayKeep()", "p.keptBytes <= p.mayKeep()", mrpoolTests},
	{"the memory of a past load is kept for good", "rdmaio/internal/mrpool/peak.go", "		p.burst.next(p.used)\n", "", mrpoolTests},
	{"buffers for the largest messages are not kept", "rdmaio/internal/mrpool/pool.go", "	largest  = 1 << 30\n	classes  = 4*21 + 1", "	largest  = 4 << 20\n	classes  = 4*13 + 1", []string{"rdmaio/internal/mrpool", "rdmaio"}},
	{"a connection at rest keeps its buffers", "rdmaio/internal/mrpool/peak.go", "return regions, p.evict(needed)", "return regions, p.evict(max(needed, p.cfg.KeepBytes))", mrpoolTests},
	{"a connection at rest keeps its regions", "rdmaio/internal/mrpool/peak.go", "if p.seen == p.stats.Registrations {", "if p.seen > p.stats.Registrations {", mrpoolTests},
	{"a small load loses its regions", "rdmaio/internal/mrpool/peak.go", "		p.seen = p.stats.Registrations\n", "", mrpoolTests},
	{"memory is kept that only an earlier load needed", "rdmaio/internal/mrpool/peak.go", "		p.restMost = p.used\n", "", mrpoolTests},
	{"nothing looks whether regions alone are at rest", "rdmaio/internal/mrpool/peak.go", "(p.keptBytes > 0 || len(p.regions)+len(p.demands) > 0)", "p.keptBytes > 0", mrpoolTests},
	{"a discarded buffer is kept", "rdmaio/internal/mrpool/pool.go", "return p.put(b, false)", "return p.put(b, true)", mrpoolTests},
	{"memory of an invalid region cannot be freed", "rdmaio/providers/internal/soft/mr.go", "!u.valid() && u.pins() == 0 {", "u == 0 {", memTests},
	{"memory is freed under a copy", "rdmaio/providers/internal/soft/mr.go", "!u.valid() && u.pins() == 0 {", "!u.valid() {", memTests},
	{"a copy of a long reply is cut", "rdmaio/internal/mrpool/pool.go", "append(to, r.stage.Bytes[:n]...)", "append(to, r.stage.Bytes[:n/2]...)", mrpoolTests},
	{"memory comes while it is invalidated", "rdmaio/providers/internal/soft/ondemand.go", "	if !e.Pin() {\n		return Invalidated\n	}\n	defer e.Unpin()\n", "", memTests},
	{"memory is asked for twice", "rdmaio/providers/internal/soft/ondemand.go", "	if has { //", "	if has && memory == nil { //", memTests},
	{"memory on demand of any length", "rdmaio/providers/internal/soft/ondemand.go", "err == nil && len(buf) != int(mr.size.Load())", "err == nil && len(buf) == 0", memTests},
	{"a work request uses memory on demand", "rdmaio/providers/internal/soft/element.go", "access&noLocalUse != 0:", "access&noLocalUse > 1<<30:", memTests},
	{"long replies are memory from the start", "rdmaio/internal/mrpool/pool.go", "	if access&verbs.AccessRemoteRead == 0 {\n", "	if false {\n", append(mrpoolTests, ioTests...)},
	{"memory on demand is never given back", "rdmaio/internal/mrpool/ondemand.go", "	return p.Put(b)\n", "	_ = b\n	return nil\n", mrpoolTests},
	{"a redirected key has other bytes", "rdmaio/internal/mrpool/pool.go", "	if r.Access()&verbs.AccessRemoteRead != 0 {\n", "	if false {\n", append(mrpoolTests, ioTests...)},
	{"a malformed address is tried again", "rdmaio/providers/internal/stream/dial.go", "errors.As(err, &malformed) {", "errors.As(err, &malformed) && false {", ioTests},
}
