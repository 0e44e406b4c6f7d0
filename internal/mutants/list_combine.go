package main

var combineTests = []string{"carriers"}

const (
	serversFile  = "carriers/servers.go"
	sourceFile   = "carriers/source.go"
	tendFile     = "carriers/tend.go"
	choiceFile   = "carriers/choice.go"
	overRDMAFile = "carriers/overrdma.go"
)

// combineMutants are in servers of several carriers, and in clients of several addresses.
var combineMutants = []mutant{
	{"a server that fails leaves the others up", serversFile, "		s.stop(&ServerError{one.Carrier, one.Addr, one.server.Err()}) // no", "		_ = s // no", combineTests},
	{"servers are not drained", serversFile, "	_ = one.server.Shutdown(s.wait) // Close", "	// Close", combineTests},
	{"Shutdown does not begin", serversFile, "	s.stop(oncrpc.ErrClosed)\n	select", "	select", combineTests},
	{"Close waits for handlers", serversFile, "	s.hurry()\n", "", combineTests},
	{"a server that was started before a failure stays", serversFile, "err = errors.Join(err, one.server.Close())", "_ = one", combineTests},
	{"Shutdown over UDP waits for no handler", "runtime/oncrpc/udp/server.go", "s.requests > 0 && ctx.Err() == nil", "s.requests < 0 && ctx.Err() == nil", markedUDPTests},
	{"Shutdown over UDP ends handlers", "runtime/oncrpc/udp/server.go", "	s.ctx, s.stop = context.WithCancelCause(s.run)\n", "	s.ctx, s.stop = s.run, s.cancel\n", markedUDPTests},
	{"the end of a context is missed by Shutdown over UDP", "runtime/oncrpc/udp/server.go", "		s.answered.Broadcast()\n		s.mu.Unlock()\n	})", "		s.mu.Unlock()\n	})", markedUDPTests},
	{"a Call that may have run goes elsewhere", tendFile, " || ok && failed.MayHaveRun && !call.Idempotent", " || ok && failed == nil", combineTests},
	{"an idempotent Call stays where it failed", tendFile, "failed.MayHaveRun && !call.Idempotent", "failed.MayHaveRun", combineTests},
	{"the address with the most Calls is chosen", sourceFile, "a.inFlight < best.inFlight", "a.inFlight > best.inFlight", combineTests},
	{"the order of the addresses does not count", sourceFile, "s.cfg.Order == LeastInFlight && a.inFlight <", "a.inFlight <=", combineTests},
	{"all addresses are connected to at once", sourceFile, "		if s.cfg.Order == InOrder && slices", "		if s.cfg.Order != InOrder && slices", combineTests},
	{"a silent address takes all the time of a Call", sourceFile, "		w.patience = min(w.patience, end.Sub(now)/time.Duration(n))\n", "		w.patience = end.Sub(now) + time.Duration(n)\n", combineTests},
	{"Calls wait for servers that never were up", sourceFile, "!s.was && !s.cfg.WaitForServer", "false", combineTests},
	{"MaxWait does not end", sourceFile, " || !until.IsZero() && !now.Before(until) {", " {", combineTests},
	{"pauses stay long after a reply", tendFile, "	if a.replied.Swap(false) {\n		a.pause = 0\n	}\n", "", combineTests},
	{"a lost address is not tried again", tendFile, "	s.tend(l.addr, pause)\n	s.mu.Unlock()\n	s.report", "	s.mu.Unlock()\n	s.report", combineTests},
	{"a late Call says nothing about its address", tendFile, "			s.suspect(l)\n", "", combineTests},
	{"a late Call takes its address down", tendFile, "			s.suspect(l)\n", "			s.lose(l, err.Err)\n", combineTests},
	{"an error of a Call takes its address down", tendFile, "	case ctx.Err() != nil, ofCall(err.Err):\n", "	case ctx.Err() != nil:\n", combineTests},
	{"a Call is tried without end", "internal/resend/attempts.go", " || a.made == a.Most", "", combineTests},
	{"RDMA is used in plaintext although TCP requires TLS", choiceFile, "	case c.PlainRDMA:\n", "	default:\n", combineTests},
	{"TCP is used in plaintext although the device has TLS", choiceFile, "	case dev.TLS:\n", "	case dev.TLS && c.PlainRDMA:\n", combineTests},
	{"a wish for TLS counts as a demand", choiceFile, "conn.TLS.Mode == tcp.TLSRequired", "conn.TLS.Mode != tcp.TLSOff", combineTests},
	{"a device that may not be used stays open", choiceFile, "errors.Join(err, dev.Close())", "err", combineTests},
	{"a removed device is kept", overRDMAFile, "		o.stale = o.stale || o.client == c\n", "", combineTests},
	{"RDMA without a device is an error of the server", choiceFile, "Optional: set.Prefer != RDMAOnly", "Optional: false", combineTests},
	{"the server's device is not closed", overRDMAFile, "errors.Join(s.Server.Close(), s.dev.Close())", "s.Server.Close()", combineTests},
	{"an address that has recovered stays down", tendFile, "a.state, a.reason, a.tended, s.was = up,", "a.state, a.reason, a.tended, s.was = down,", combineTests},
}
