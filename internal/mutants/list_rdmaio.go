package main

// rdmaioMutants are around the engine: memory, the driver, clients and servers.
var rdmaioMutants = []mutant{
	// Memory.
	{"a region is reused without a new key", poolFile, "		err = mr.Reregister(buf, access)\n", "		if mr.RKey() == 0 {\n			err = mr.Reregister(buf, access)\n		}\n", poolTests},
	{"keys are not ended", poolFile, "	if err := r.Invalidate(); err != nil {\n		return err\n	}\n", "", poolTests},
	{"invalidation is not awaited", poolFile, "	if err := r.Invalidate(); err != nil {\n		return err\n	}\n", "	go func(mr verbs.MemoryRegion) { _ = mr.Invalidate() }(r.MemoryRegion)\n", poolTests},
	{"a key that cannot be ended stays", poolFile, "	err := r.Deregister()\n", "	var err error\n", poolTests},
	{"a staged region comes back whole", poolFile, "p.copy(r.user[:n], r.stage.Bytes)", "p.copy(r.user, r.stage.Bytes)", poolTests},
	{"a result may be read by the peer", "rdmaio/offer.go", "c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, number) // R304", "c.region(s, buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteRead, number) // R304", ioTests},
	{"a late handler's Call counts as never sent", "rdmaio/call.go", "			e.MayHaveRun = s.call.Sent\n", "			e.MayHaveRun = false\n", ioTests},
	{"memory of Calls is not limited", "rdmaio/limit.go", "used <= b.most {", "used > 0 {", ioTests},
	{"a duplicate Call is executed", replyFile, "	case e != nil:\n", "	case e != nil && key.n < 0:\n", ioTests},
	{"a duplicate of a Call in progress is executed", replyFile, "	case e != nil && e.done == nil:\n", "	case e != nil && e.done == nil && key.n < 0:\n", ioTests},
	{"a reply goes to another client", replyFile, "e.from.Err() != nil:", "e.from != nil:", ioTests},
	{"a reply goes to two clients in turn", replyFile, "		found.from = from", "		_ = found.from", ioTests},
	{"a Request that waits is not counted", "rdmaio/places.go", "p.used < p.most:", "p.used <= p.most+len(p.waiting):", ioTests},
	{"a place is never given back", "rdmaio/places.go", "	p.used--\n", "", ioTests},
	{"Requests of a lost connection reach handlers", "rdmaio/effects.go", "		c.dropWaiting()\n", "", ioTests},
	{"a reply cache has no total", replyFile, "for c.stats.Bytes > c.cfg.MaxBytes {", "for c.stats.Bytes < 0 {", ioTests},
	{"a source with Calls in progress is forgotten", replyFile, "s := el.Value.(*replySource); s.running == 0 {", "s := el.Value.(*replySource); s.running >= 0 {", ioTests},
	{"sources are never forgotten", replyFile, "		if s.order.Len() == 0 && s.running == 0 {", "		if s.order.Len() < 0 {", ioTests},
	{"replies are kept for good", replyFile, "			if now.Sub(e.at) < c.cfg.Age {", "			if now.Sub(e.at) >= 0 {", ioTests},
	{"a lost Call is sent again without a limit", "rdmaio/retry.go", "losses < 0 ||", "", ioTests},
	{"a Call that was sent counts as never sent", "rdmaio/retry.go", "		ce.MayHaveRun, before = sent, ce.Err\n", "		before = ce.Err\n", ioTests},
	{"a Call that waited counts as sent again", "rdmaio/retry.go", "		if sent && (!failed || ce.MayHaveRun) {\n", "		if !failed || ce.MayHaveRun {\n", ioTests},
	{"a client whose Accept failed gets no answer", "rdmaio/server.go", "a connection was not accepted\", \"reason\", err)\n		reject(log, req)", "a connection was not accepted\", \"reason\", err)\n", ioTests},
	{"no pause between tries to connect", "rdmaio/redial.go", "	c.next = time.Now().Add(", "	_ = time.Now().Add(", ioTests},

	// What raw peers and the watch see.
	{"an ERROR is answered", "rdmaio/internal/v1/classify.go", "	case header.KindError: // RFC 8166 §4.5: only requesters get one\n		return protocol.Answer\n", "	case header.KindError:\n		return end.Forward\n", ioTests},
	{"an ERROR grants nothing", "rdmaio/internal/v1/account.go", "	case header.KindError:\n		return true\n", "	case header.KindError:\n		return false\n", ioTests},
	{"inline items have no roundup", "rdmaio/message.go", "			to = append(to, zeros[:pad])\n", "			to = append(to, m.Inline[:pad])\n", ioTests},
	{"the Reply is read before the keys are invalidated", "rdmaio/call.go", "	if err := c.conclude(s); err != nil {\n", "	if e.LongReply > 0 && e.Err == nil {\n		if err := call.setReply(s); err != nil {\n			_ = c.conclude(s)\n			return nil, fail(s, err)\n		}\n	}\n	if err := c.conclude(s); err != nil {\n", ioTests},
	{"a read list that is wrong goes on being read", responderFile, "	r.hdr.Reads = r.hdr.Reads[:0] // none go back in the Reply (R326)\n", "", ioTests},
	{"a listener that failed is not reported", "rdmaio/server.go", "			if s.taking.Err() == nil {", "			if false {", ioTests},

	// Limits and retries.
	{"a budget that was exceeded stays so", "rdmaio/limit.go", "	b.used.Add(int64(-n))\n	return false\n", "	return false\n", ioTests},
	{"memory of Calls is not given back", "rdmaio/limit.go", "	c.shared.memory.release(n)\n	c.chunks.used -= n\n", "	c.chunks.used -= n\n", ioTests},
	{"records that were left out are not counted", "rdmaio/limit.go", "		s.omitted++\n", "", ioTests},
	{"pauses between tries are all the same", "rdmaio/redial.go", "c.pause - rand.N(c.pause/2+1))", "c.pause - 0*rand.N(c.pause/2+1))", ioTests},
	{"a pause between tries never starts over", "rdmaio/redial.go", "			c.pause = 0\n", "", ioTests},
	{"a full batch of completions is all of them", "rdmaio/internal/driver/completions.go", "return events, n == len(d.wcs)", "return events, false", driverTests},
	{"a pause between tries has no limit", "rdmaio/redial.go", "min(max(2*c.pause, c.cfg.MinBackoff), c.cfg.MaxBackoff)", "max(2*c.pause, c.cfg.MinBackoff)", ioTests},
	{"a connection in use is idle", "rdmaio/redial.go", "	if c.users > 0 {\n", "	if c.users < 0 {\n", ioTests},
	{"a dial that can never succeed is tried again", "rdmaio/redial.go", "(hopeless(c.failed) || ", "(", ioTests},
	{"a connection for reverse Calls is closed when idle", "rdmaio/redial.go", "c.cfg.IdleTimeout == 0 || c.keeps() {", "c.cfg.IdleTimeout == 0 {", ioTests},
	{"a connection that was of no use is no reason to pause", "rdmaio/redial.go", "			c.backOff(err, 0)\n", "			_ = err\n", ioTests},
	{"an ERROR is answered by another try", "rdmaio/retry.go", " || errors.As(err, &peer) || ", " || errors.As(err, &peer) && peer == nil || ", ioTests},
	{"Calls are sent again over a connection that stands", "rdmaio/retry.go", "if c.Err() == nil || losses < 0 ||", "if losses < 0 ||", ioTests},

	// The driver.
	{"a refused Send counts as sent", "rdmaio/internal/driver/step.go", "				r.Err = cmp.Or(r.Err, err) // its answer may be among them\n", "				r.Err = cmp.Or(r.Err, nil)\n", driverTests},

	// Memory of Calls, and of those that were cancelled.
	{"only one Call that waits for memory is let go", "rdmaio/limit.go", "			m.growing = nil\n		}\n		c.grant(q, n)\n", "			m.growing = nil\n		}\n		c.grant(q, n)\n		return\n", ioTests},
	{"memory of Calls is taken at once", "rdmaio/limit.go", "	return int(min(int64(q.AssemblySize), int64(q.AssemblyFilled)+more))\n", "	return q.AssemblySize + int(min(more, 0))*0\n", ioTests},
	{"a longer buffer begins empty", "rdmaio/limit.go", "			copy(b.Bytes[q.AssemblyLead:], q.Assembly.Bytes[:q.AssemblyFilled])\n", "", ioTests},
	{"keys of a cancelled Call end at once", "rdmaio/call.go", "	if e.Abandoned {\n", "	if e.Abandoned && e.XID == 0 {\n", ioTests},
	{"data of a cancelled Call is lost", poolFile, "		p.copy(b.Bytes, buf)\n	}\n	if err := d.Redirect", "		_ = buf\n	}\n	if err := d.Redirect", ioTests},
	{"what cancelled Calls leave has no limit", "rdmaio/conn.go", "	c.abandoned.most = abandonedBytes\n", "", ioTests},
	{"what a cancelled Call left stays", requesterFile, "	if p.left != nil {\n		rq.eff.Settled = append(rq.eff.Settled, p.left)\n	}\n	delete(", "	delete(", ioTests},
	{"a Reply of another version is dropped", "rdmaio/internal/v1/classify.go", " && !end.Calls.Outstanding(m.XID):\n", ":\n", engineTests},
	{"no memory is offered for MaxReply", "rdmaio/offer.go", "	if call.MaxReply > 0 {\n", "	if call.MaxReply > 1<<60 {\n", ioTests},
	{"memory of cancelled Calls stays", "rdmaio/abandon.go", "l.halves.Add(1) < 2 {", "l.halves.Add(1) < 3 {", ioTests},
	{"memory of cancelled Calls goes too early", "rdmaio/abandon.go", "l.halves.Add(1) < 2 {", "l.halves.Add(1) < 1 {", ioTests},
	{"memory of cancelled Calls has no limit", "rdmaio/abandon.go", "c.abandoned.reserve(n) {", "c.abandoned.reserve(0) {", ioTests},
}
