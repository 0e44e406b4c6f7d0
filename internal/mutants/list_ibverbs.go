package main

var fakelibTests = []string{"rdmaio/providers/ibverbs/internal/fakelib"}

const (
	fakelibFolder = "rdmaio/providers/ibverbs/internal/fakelib/"
	ibverbsFolder = "rdmaio/providers/ibverbs/"
)

// ibverbsMutants are in the provider over rdma-core, and in the library without hardware that its
// tests use.
var ibverbsMutants = []mutant{
	{"the key of a window counts beyond its byte", ibverbsFolder + "window.go", "return key&^0xff | (key+1)&0xff", "return key + 1", ibverbsTests},
	{"ibv_mw keeps the key before", ibverbsFolder + "window.go", "	abi.SetMWKey(uintptr(w.mw), w.key) // after the post: the library compares the old one in it\n", "", ibverbsTests},
	{"a queue pair makes windows without a limit", ibverbsFolder + "window.go", "	if len(v.all) >= v.limit {\n		return nil, nil\n	}\n", "", ibverbsTests},
	{"an invalid window counts as bound", ibverbsFolder + "window.go", "	delete(q.win.bound, w.key)\n", "", ibverbsTests},
	{"a window that the peer invalidates during its revocation is free twice", ibverbsFolder + "window.go", "	case w.revoking:\n		q.win.invalidated(w) // the posted revocation recycles it\n", "", ibverbsTests},
	{"a queue pair that ends is connected", ibverbsFolder + "connection.go", "		case <-c.ended:\n			return verbs.ErrDisconnected\n		default:\n		}\n		abi.SetCMQP", "		default:\n		}\n		abi.SetCMQP", ibverbsTests},
	{"the end does not tell the peer", ibverbsFolder + "end.go", "		conn.disconnect()\n", "		_ = conn.disconnect\n", ibverbsTests},
	{"the end does not wait for completions", ibverbsFolder + "end.go", "	q.end.collect()\n	q.mu.Lock()", "	_ = q.end.collect\n	q.mu.Lock()", ibverbsTests},
	{"the end does not wait for Receives", ibverbsFolder + "end.go", "	if q.rq.len() > 0 {\n		return true\n	}\n", "", ibverbsTests},
	{"executed requests without a signal are flushed", ibverbsFolder + "end.go", "	if q.sq.len() > 0 && !q.sq.barred && q.sq.batch == 0 {", "	if false {", ibverbsTests},
	{"a revocation posts during the end", ibverbsFolder + "revoke.go", "if w.revoking || q.end.begun || q.sq.barred {", "if w.revoking || q.sq.barred {", ibverbsTests},
	{"a revocation does not look for the peer's", ibverbsFolder + "revoke.go", "	q.poll() // the peer may have invalidated them: some devices fail a second invalidation\n", "", ibverbsTests},
	{"a bind does not look for windows that the peer has invalidated", ibverbsFolder + "window.go", "if q.win.internalFull() || !q.win.available() {", "if q.win.internalFull() {", ibverbsTests},
	{"no entry is left for a ping", ibverbsFolder + "window.go", "return q.sq.internal+len(q.win.bound)+3 > q.sq.limit", "return q.sq.internal+len(q.win.bound)+2 > q.sq.limit", ibverbsTests},
	{"the window that was free last is used first", ibverbsFolder + "window.go", "		w := v.free[0]\n		v.free = v.free[1:]", "		w := v.free[len(v.free)-1]\n		v.free = v.free[:len(v.free)-1]", ibverbsTests},
	{"a late Read hides that later requests are complete", ibverbsFolder + "complete.go", "q.sq.reached = max(q.sq.reached, seq+1)", "q.sq.reached = seq + 1", ibverbsTests},
	{"any Send carries a key to invalidate", ibverbsFolder + "complete.go", "if wc.Flags&abi.WithInv != 0 || q.dev", "if true || q.dev", ibverbsTests},
	{"requests that the library refuses keep their entries", ibverbsFolder + "post.go", "			q.SendUsed.Add(-1)\n			if e.window", "			if e.window", ibverbsTests},
	{"a LocalInvalidate that the library refuses keeps its window", ibverbsFolder + "post.go", "			if e.window != nil {\n				e.window.revoking = false\n			}\n", "", ibverbsTests},
	{"an invalid LocalInvalidate does not bar the queue", ibverbsFolder + "post.go", "	q.sq.barred = true\n	e.done", "	e.done", ibverbsTests},
	{"slabs are readable by the peer", ibverbsFolder + "domain.go", "		return abi.LocalWrite | abi.MWBind\n", "		return abi.LocalWrite | abi.MWBind | abi.RemoteRead\n", ibverbsTests},
	{"memory has the bytes of its last user", ibverbsFolder + "domain.go", "			clear(s.mem[off : off+size])\n", "", ibverbsTests},
	{"a completion before the queue is armed is lost", ibverbsFolder + "progress.go", "	q.poll()\n}\n\n// completionEvent", "}\n\n// completionEvent", ibverbsTests},
	{"a disconnection during Dial is lost", ibverbsFolder + "dial.go", "	if lost {\n		q.begin", "	if lost && false {\n		q.begin", ibverbsTests},
	{"requests that wait at a closed listener are forgotten", ibverbsFolder + "listen.go", "			r.refuse()\n			continue", "			continue", ibverbsTests},
	{"the fake's fence stops nothing", fakelibFolder + "exec.go", "if r.wr.Flags&abi.Fence != 0 && q.reads() > 0 {", "if false {", fakelibTests},
	{"requests behind a failure succeed in the fake", fakelibFolder + "exec.go", "	q.failed = r.failed()\n", "", fakelibTests},
	{"the fake binds a window that is bound", fakelibFolder + "remote.go", "	case w.mr != nil: // it must be invalidated first\n", "", fakelibTests},
	{"the fake ignores the program's count of a window's key", fakelibFolder + "remote.go", "	case r.mwKey != w.key, b.RKey>>8", "	case b.RKey>>8", fakelibTests},
	{"a window of the fake works on all queue pairs", fakelibFolder + "remote.go", "if o.key == key && o.qp == q && o.access", "if o.key == key && o.access", fakelibTests},
	{"the fake's queues overflow unnoticed", fakelibFolder + "cq.go", "if len(c.queue) >= c.entries {", "if len(c.queue) > c.entries {", fakelibTests},
	{"memory of posted Receives keeps its bytes in the fake", fakelibFolder + "qp.go", "			fill(b, 0xa5)\n", "", fakelibTests},
	{"the fake locks pages for good", fakelibFolder + "memory.go", "	h.locked -= pages(m.addr, m.size)\n", "", fakelibTests},
	{"the fake's polled completions free one entry each", fakelibFolder + "qp.go", "	c.released = max(c.released, e.seq)\n", "	c.released++\n", fakelibTests},
	{"a message is delivered before the connection is established", ibverbsFolder + "complete.go", "q.end.cleaned || q.State() < verbs.StateConnected && !q.end.begun", "q.end.cleaned", ibverbsTests},
	{"an early message is not looked for when the connection is established", ibverbsFolder + "dial.go", "	q.poll() // messages may have come before the event\n", "", ibverbsTests},
	{"an initiator nudges a peer that it has heard", ibverbsFolder + "complete.go", "		q.opening.heard()\n", "", ibverbsTests},
	{"an initiator never nudges", ibverbsFolder + "opening.go", "	q.ping(verbs.RDMAWrite, abi.OpWrite)\n", "", ibverbsTests},
	{"a message before the first sign of the peer gets no last nudge", ibverbsFolder + "opening.go", "		o.wait = lastNudge\n		o.timer.Reset(0)\n", "		o.stop()\n", ibverbsTests},
	{"an initiator nudges without end", ibverbsFolder + "opening.go", "q.opening.wait > lastNudge", "false", ibverbsTests},
	{"a ping over siw is a Read of no bytes", ibverbsFolder + "life.go", "case q.dev.transport == abi.TransportIB, q.dev.quirks.KernelTCP:", "case q.dev.transport == abi.TransportIB:", ibverbsTests},
	{"the kernel's acknowledgments do not count", ibverbsFolder + "life.go", "			l.heard = at\n", "", ibverbsTests},
	{"an old acknowledgment hides a later message", ibverbsFolder + "life.go", "at.After(l.heard)", "true", ibverbsTests},
	{"a kernel that does not answer ends connections", ibverbsFolder + "life.go", "	l.heard = time.Now()\n}\n\n// ping asks", "}\n\n// ping asks", ibverbsTests},
	{"a Read of no bytes goes to siw", ibverbsFolder + "post.go", "	if e.unsent(q.dev) {", "	if false {", ibverbsTests},
	{"a Read that was not sent is a sign of the peer", ibverbsFolder + "complete.go", " && !e.unsent(q.dev)", "", ibverbsTests},
	{"siw's refusal of a connection is not recognised", ibverbsFolder + "errors.go", "	case errors.Is(err, syscall.ECONNREFUSED):", "	case false:", ibverbsTests},
	{"a failed call is the known reason of an end", ibverbsFolder + "end.go", "verbs.StatusError{Status: verbs.StatusFatal}, verbs.ErrConnectionBroken), causeUnknown)", "verbs.StatusError{Status: verbs.StatusFatal}, verbs.ErrConnectionBroken), causeKnown)", ibverbsTests},
	{"an end without acknowledgments is not explained", ibverbsFolder + "end.go", "	if silent != nil {", "	if false {", ibverbsTests},
	{"a refused post does not say that the device was removed", ibverbsFolder + "post.go", "q.dev.callError(\"post\", err), verbs.ErrInvalidState", "err, verbs.ErrInvalidState", ibverbsTests},
	{"the cause of an end by the peer is not waited for", ibverbsFolder + "end.go", "c == causePeer && !q.dev.quirks.LateCause", "c == causePeer", ibverbsTests},
	{"a completion queue is armed for solicited completions", ibverbsFolder + "progress.go", "ReqNotify(q.cq, false)", "ReqNotify(q.cq, true)", ibverbsTests},
	{"the key of an invalidation is in one field", ibverbsFolder + "post.go", "wire.Invalidate, wire.RKey = wr.InvalidateRKey, wr.InvalidateRKey", "wire.Invalidate, wire.RKey = wr.InvalidateRKey, 0", ibverbsTests},
}
