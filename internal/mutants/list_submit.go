package main

var (
	submitTests    = []string{"runtime/oncrpc/tcp", "runtime/oncrpc/rpc"}
	inflightTests  = []string{"internal/inflight"}
	inlineTests    = []string{"internal/admission"}
	rowTests       = []string{"rdmaio/internal/test/server"}
	markedUDPTests = []string{"runtime/oncrpc/udp"}
	gssMarkTests   = []string{"runtime/oncrpc/rpc"}
)

// inlineMutants are in procedures that run where their Calls were read.
var inlineMutants = []mutant{
	{"a handler that runs is not looked at", "internal/admission/inline.go", "if !i.watched.Load() && i.watched", "if false && i.watched", inlineTests},
	{"one look is enough to block", "internal/admission/inline.go", "	if now != before {", "	if now != before && now&stateRuns == 0 {", inlineTests},
	{"a handler that rests blocks", "internal/admission/inline.go", "	if now&stateRuns != 0 {", "	if now != 0 {", inlineTests},
	{"a procedure blocks again and again", "internal/admission/inline.go", "	b.found[p] = true\n", "", inlineTests},
	{"no procedure is known to block", "internal/admission/inline.go", "	b.some.Store(true)\n", "", inlineTests},
	{"two goroutines read", "internal/admission/inline.go", "	return i.state.CompareAndSwap(at|stateRuns, at)", "	return i.state.Swap(at) != 0", inlineTests},
	{"a handler that has returned is replaced", "internal/admission/inline.go", "i.state.CompareAndSwap(at|stateRuns, at|stateReplaced) {", "i.state.Swap(at|stateReplaced) != 0 {", inlineTests},
	{"a handler that begins as the timer stops is not looked at", "internal/admission/inline.go", "	if i.state.Load()&^(1", "	if false && i.state.Load()&^(1", inlineTests},
	{"a row of handlers has no end", "internal/admission/inline.go", "	return true\n}\n\n// watch", "	return false\n}\n\n// watch", inlineTests},
	{"marked procedures overtake", "runtime/oncrpc/tcp/inline.go", "if c.set.NonBlocking || c.waiting.Waiting() {", "if c.set.NonBlocking {", tcpTests},
	{"marked procedures have a goroutine", "runtime/oncrpc/tcp/inline.go", "if !oncrpc.NonBlocking(h,", "if oncrpc.NonBlocking(h,", tcpTests},
	{"a procedure that has blocked does so again", "runtime/oncrpc/tcp/inline.go", " || c.shared.blocks.Has(prog, vers, proc)", "", tcpTests},
	{"a goroutine that was replaced reads on", "runtime/oncrpc/tcp/inline.go", "	if !c.inline.End(run) {\n", "	if !c.inline.End(run) && false {\n", tcpTests},
	{"a marked procedure that waits for memory stops its connection", "runtime/oncrpc/tcp/inline.go", "		r.conn.inline.HandOver(r.here)\n", "", tcpTests},
	{"a marked procedure that exits leaves the connection up", "runtime/oncrpc/tcp/inline.go", "r.answered.Load() && replaced {", "r.answered.Load() {", tcpTests},
	{"a row has no end", "rdmaio/row.go", "w.waiting.Add(-1)\n", "", rowTests},
	{"marked procedures have goroutines over RDMA", "rdmaio/row.go", "	return oncrpc.NonBlocking(r.handler", "	return false && oncrpc.NonBlocking(r.handler", rowTests},
	{"marked procedures overtake over RDMA", "rdmaio/row.go", " || a.requests.Waiting() {", " {", rowTests},
	{"a procedure that has blocked is in a row again", "rdmaio/row.go", " && !a.shared.blocks.Has(prog, vers, proc)", "", rowTests},
	{"two goroutines run a row", "rdmaio/row.go", "		if !w.inline.End(run) {\n			break", "		if !w.inline.End(run) && false {\n			break", rowTests},
	{"a row is lost after Goexit", "rdmaio/row.go", "if !done && w.inline.End(run) {", "if false {", rowTests},
	{"a row is not dropped", "rdmaio/deliver.go", "	a.row.drop()\n", "", rowTests},
	{"a row waits for the memory of one", "rdmaio/deliver.go", "		a.row.inline.HandOver(r.here)\n", "", rowTests},
	{"a marked procedure over UDP that has blocked does so again", "runtime/oncrpc/udp/inline.go", " || s.blocks.Has(prog, vers, proc)", "", markedUDPTests},
	{"nothing reads datagrams after Goexit", "runtime/oncrpc/udp/inline.go", "			s.inline.HandOver(r.here)\n", "", markedUDPTests},
	{"two goroutines read datagrams", "runtime/oncrpc/udp/inline.go", "	reads = s.inline.End(run)\n", "	s.inline.End(run)\n	reads = true\n", markedUDPTests},
	{"marked procedures over UDP have goroutines", "runtime/oncrpc/udp/inline.go", "if !oncrpc.NonBlocking(h,", "if oncrpc.NonBlocking(h,", markedUDPTests},
	{"procedures with Interceptors are marked", "runtime/oncrpc/rpc/handler.go", "	if len(h.cfg.Interceptors) > 0 {\n		return false\n	}\n", "", rpcTests},
	{"the null procedure is not marked", "runtime/oncrpc/rpc/service.go", "	s.NonBlocking(0)\n", "", rpcTests},
	{"a bound removes a mark", "runtime/oncrpc/rpc/service.go", "facts{bound, p.nonBlocking}", "facts{bound, false}", rpcTests},
	{"a mark removes a bound", "runtime/oncrpc/rpc/service.go", "facts{s.procedure(proc).bound, true}", "facts{-1, true}", rpcTests},
	{"a request for a context runs on the reader", "runtime/oncrpc/gss/handler.go", "return procedure != 0 && oncrpc.NonBlocking", "return oncrpc.NonBlocking", gssMarkTests},
	{"the sidecar marks no procedure", "cmd/internal/sema/procvalues.go", "			p.NonBlocking = true\n", "			_ = p\n", []string{"cmd/internal/sema"}},
	{"an amended program loses its marks", "cmd/internal/sema/amendlines.go", "			b.NonBlocking = append(b.NonBlocking, x)\n", "			_ = x\n", []string{"cmd/internal/sema"}},
	{"services do not mark procedures", "cmd/xdrgen/internal/gogen/gostubs/server.go", "	if len(marked) > 0 {", "	if false {", []string{"cmd/xdrgen/internal/gogen"}},
}

// submitMutants are in calls that need no goroutine: their places, ends and done functions, and the
// writes that follow a read.
var submitMutants = []mutant{
	{"a Call takes a place beyond MaxCalls", "runtime/oncrpc/tcp/call.go", "if c.places == c.conn.set.MaxCalls {", "if c.places == c.conn.set.MaxCalls+1 {", submitTests},
	{"a Call without a place is not counted as waiting", "runtime/oncrpc/tcp/call.go", "		p.waits = true\n", "", submitTests},
	{"a place is not given on", "runtime/oncrpc/tcp/submit.go", "	c.conn.enqueue(&next.out)\n", "", submitTests},
	{"a Call that waits takes a place with it", "runtime/oncrpc/tcp/submit.go", "		c.line.remove(p)\n	} else {\n		c.leave()\n	}", "		c.line.remove(p)\n	}\n	c.leave()", submitTests},
	{"a place is lost when no Call waits", "runtime/oncrpc/tcp/submit.go", "		c.places--\n", "", submitTests},
	{"the last Call that waits is first", "runtime/oncrpc/tcp/submit.go", "	next := c.line.first\n", "	next := c.line.last\n", submitTests},
	{"a Call has no context", "runtime/oncrpc/tcp/call.go", "		c.contexts.Watch(ctx, p, &p.ctx)\n", "", submitTests},
	{"a Call has no deadline", "runtime/oncrpc/tcp/call.go", "!at.IsZero() {\n			c.deadlines", "at.IsZero() {\n			c.deadlines", submitTests},
	{"a Call that is over keeps its context", "runtime/oncrpc/tcp/call.go", "	c.contexts.Forget(&p.ctx)\n", "", submitTests},
	{"a Call that is over keeps its deadline", "runtime/oncrpc/tcp/call.go", "	c.deadlines.Remove(&p.due)\n", "", submitTests},
	{"two goroutines run done functions", "runtime/oncrpc/tcp/submit.go", "mine := c.finished.first != nil && !c.delivers", "mine := c.finished.first != nil", submitTests},
	{"no done function runs after Goexit", "runtime/oncrpc/tcp/submit.go", "			go c.runAll()\n", "", submitTests},
	{"a panic in a done function leaves the connection up", "runtime/oncrpc/tcp/submit.go", "		c.conn.fail(err)\n", "", submitTests},
	{"Close does not wait for done functions", "runtime/oncrpc/tcp/conn.go", "for c.requests > 0 || c.finished.first != nil || c.delivers {", "for c.requests > 0 {", submitTests},
	{"Close is not woken by the last done function", "runtime/oncrpc/tcp/submit.go", "				c.conn.wake.Broadcast() // see finish\n", "", submitTests},
	{"messages are not held", "runtime/oncrpc/tcp/flush.go", "	w.held = true\n", "", submitTests},
	{"messages are held for good", "runtime/oncrpc/tcp/flush.go", "	w.held = false\n", "", submitTests},
	{"the reader waits with messages held", "runtime/oncrpc/tcp/conn.go", "		if !buffered {\n			c.out.flush()\n		}\n", "", submitTests},
	{"the rest of a write is lost", "runtime/oncrpc/tcp/flush.go", "	w.bufs = append(w.bufs, bytes.Clone(b[n:]))\n", "	_ = bytes.Clone(b[n:])\n", submitTests},
	{"the part that was written is written again", "runtime/oncrpc/tcp/flush.go", "bytes.Clone(b[n:])", "bytes.Clone(b)", submitTests},
	{"the memory of Calls is in use until the rest is written", "runtime/oncrpc/tcp/flush.go", "	w.returnCalls()\n", "", submitTests},
	{"a batch that flush has taken is dropped", "runtime/oncrpc/tcp/writer.go", "for len(c.out.bufs) > 0 || c.out.take() {", "for c.out.take() {", submitTests},
	{"the reader stalls with messages held", "runtime/oncrpc/tcp/request.go", "if s.conn.out.held { //", "if false { //", submitTests},
	{"a fragment that is not the last counts as a record", "runtime/oncrpc/tcp/record.go", "return mark&lastFragment != 0 && int64", "return int64", submitTests},
	{"a part of a record counts as a record", "runtime/oncrpc/tcp/record.go", "<= int64(rd.r.Buffered()-markSize)", "<= int64(rd.r.Buffered()+100)", submitTests},
	{"a submitted Call is not made again", "internal/resend/attempts.go", "	if err, over := a.over(c, err); over {\n		a.finish", "	if err, over := a.over(c, err); over || !over {\n		a.finish", submitTests},
	{"a Call is submitted to a Client that is closed", "internal/reconnect/machine/machine.go", "		return m.rules.Closed\n	}\n	return nil", "		return nil\n	}\n	return nil", submitTests},
	{"a Call is submitted to a Backchannel that is closed", "internal/backchannel/backchannel.go", "return c, false, oncrpc.ErrClosed", "return c, false, nil", submitTests},
	{"a Call is submitted with a context that is done", "runtime/oncrpc/submit.go", "	case ctx.Err() != nil:", "	case ctx == nil:", []string{"runtime/oncrpc/gss"}},
	{"a Call is submitted without a done function", "runtime/oncrpc/submit.go", "	case done == nil:", "	case ctx == nil:", submitTests},
	{"interceptors see calls whose context is done", "runtime/oncrpc/rpc/submit.go", "	err := ctx.Err()\n", "	var err error\n", submitTests},
	{"a submitted Call keeps its connection in use", "internal/resend/attempts.go", "	c := a.conn\n	a.Source.Release(c)\n", "	c := a.conn\n", submitTests},
	{"Close of a Client leaves goroutines", "runtime/oncrpc/tcp/client.go", "	c.retrier.Wait()\n", "", submitTests},
	{"a Call that is made again has no deadline", "internal/resend/attempts.go", "if at := a.call.Deadline; !at.IsZero() {", "if at := a.call.Deadline; false {", submitTests},
	{"a Call past its deadline is made again", "internal/resend/resend.go", "return !call.Deadline.IsZero() && errors", "return call.Deadline.IsZero() && errors", submitTests},
	{"interceptors do not see submitted calls", "runtime/oncrpc/rpc/submit.go", "len(c.cfg.Interceptors) > 0 && checkValues", "len(c.cfg.Interceptors) > 99 && checkValues", submitTests},
	{"a submitted call has no deadline", "runtime/oncrpc/rpc/call.go", "		p.call.Deadline = opt.Deadline\n", "", submitTests},
	{"a deadline stays for the next call", "runtime/oncrpc/rpc/call.go", "p.call.MaxReply, p.call.Deadline = oncrpc.Message{}, nil, nil, 0, time.Time{}", "p.call.MaxReply = oncrpc.Message{}, nil, nil, 0", submitTests},

	{"a context that fired while it was idle is not watched again", "internal/inflight/contexts.go", "of.first == nil && ctx.Err() != nil:", "of.first == nil && ctx == nil:", inflightTests},
	{"every context without records stays registered", "internal/inflight/contexts.go", "		c.drop(c.idle)\n		c.idle = of\n", "		c.idle = of\n", inflightTests},
	{"a context in use counts as idle", "internal/inflight/contexts.go", "	if c.idle == of {\n		c.idle = nil\n	}\n", "", inflightTests},
	{"a dropped context stays known", "internal/inflight/contexts.go", "		delete(c.known, of.ctx.Done())\n", "", inflightTests},
	{"an earlier deadline does not set the timer", "internal/inflight/deadlines.go", "(d.set.IsZero() || at.Before(d.set))", "d.set.IsZero()", inflightTests},
	{"the timer is not set for the next deadline", "internal/inflight/deadlines.go", "		d.arm(first.at)\n		return nil\n", "		return nil\n", inflightTests},
	{"a timer that has fired counts as set", "internal/inflight/deadlines.go", "		d.set = time.Time{}\n		return nil\n", "		return nil\n", inflightTests},
	{"the latest deadline is first", "internal/inflight/deadlines.go", "h[i].at.Before(h[j].at)", "h[j].at.Before(h[i].at)", inflightTests},

	{"nil arguments of a submitted call panic in the stub", "cmd/xdrgen/internal/gogen/gostubs/client.go", "		body.If(jen.Id(\"args\").Op(\"==\").Nil()).Block(submit(\"Submit\"))\n", "", gogenTests},
	{"a submitted call forgets the bound of its results", "cmd/xdrgen/internal/gogen/gostubs/client.go", "		body.Add(submit(\"SubmitAtMost\", x.atMost(p, args, number)))\n", "		body.Add(submit(\"Submit\"))\n", gogenTests},
	{"stubs have methods that do not wait without being asked", "cmd/xdrgen/internal/gogen/gostubs/client.go", "		if x.async {\n", "		if true {\n", gogenTests},
	{"a method that does not wait takes the name of a procedure", "cmd/xdrgen/internal/gogen/gostubs/stubs.go", "		used[name+\"Submit\"] = x.async\n", "", gogenTests},
}
