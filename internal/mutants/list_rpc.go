package main

var (
	oncrpcTests   = []string{"runtime/oncrpc"}
	rpcbindTests  = []string{"runtime/oncrpc/rpcbind"}
	tcpTests      = []string{"runtime/oncrpc/tcp"}
	udpTests      = []string{"runtime/oncrpc/udp"}
	rpcTests      = []string{"runtime/oncrpc/rpc"}
	connconfTests = []string{"rdmaio/connconf"}
)

// rpcMutants are in ONC RPC, its binding to the transport, and the protocols made of calls.
var rpcMutants = []mutant{
	// Addresses and replies of ONC RPC.
	{"a zone in a universal address", "runtime/oncrpc/netid.go", "	case ip.Zone() != \"\":", "	case false:", oncrpcTests},
	{"a port's bytes in the wrong order", "runtime/oncrpc/netid.go", "a.Port()>>8, a.Port()&0xff", "a.Port()&0xff, a.Port()>>8", oncrpcTests},
	{"a port's byte with zeros before it", "runtime/oncrpc/netid.go", "if err == nil && strconv.FormatUint(n, 10) != s {", "if false {", oncrpcTests},
	{"IPv4 behind rdma6", "runtime/oncrpc/netid.go", "ip.Is4() != four:", "ip.Is6() && four:", oncrpcTests},
	{"a netid that is none", "runtime/oncrpc/netid.go", "	if !four && netID != NetIDTCP6 &&", "	if !four && netID == \"\" && netID != NetIDTCP6 &&", oncrpcTests},
	{"a short verifier for any credential", "runtime/oncrpc/verf.go", "verf.Flavor == AuthShort && cred.Flavor == AuthSys:", "verf.Flavor == AuthShort:", oncrpcTests},
	{"a reply's XID does not matter", "runtime/oncrpc/reply.go", "	case m.XID != xid:", "	case false:", oncrpcTests},
	{"a refused RPC version is success", "runtime/oncrpc/reply.go", "	if r.Stat == Denied {", "	if r.Stat == Denied && r.Rejected.Stat == AuthError {", oncrpcTests},
	{"an empty refusal is success", "runtime/oncrpc/reply.go", " && *e != (ReplyError{}) {", " {", oncrpcTests},
	{"a boolean of 2", "runtime/oncrpc/values.go", "err == nil && w > 1 &&", "err == nil && w > 2 &&", oncrpcTests},
	{"AUTH_SYS of another flavour is parsed", "runtime/oncrpc/auth.go", "	if a.Flavor != AuthSys {", "	if a.Flavor == AuthNone {", oncrpcTests},
	// rpcbind.
	{"any version of a program is found", "runtime/oncrpc/rpcbind/lookup.go", "r.Prog == m.Prog && r.Vers == m.Vers &&", "r.Prog == m.Prog &&", rpcbindTests},
	{"port 0 can be reached", "runtime/oncrpc/rpcbind/mapping.go", "	if err == nil && at.Port() == 0 {", "	if false {", rpcbindTests},
	{"the server's IPv6 address for a service over IPv4", "runtime/oncrpc/rpcbind/lookup.go", "!own.IsValid() || own.Is4() != at.Addr().Is4() {", "!own.IsValid() {", rpcbindTests},
	{"another host's loopback address", "runtime/oncrpc/rpcbind/lookup.go", "own.IsValid() && !own.IsLoopback():", "false:", rpcbindTests},
	{"GETADDR answers for RDMA", "runtime/oncrpc/rpcbind/lookup.go", "own.IsValid() && netID == oncrpc.NetID(network(c.conn), own.Addr()):", "own.IsValid():", rpcbindTests},
	{"rpcbind version 3 is tried whatever the server has", "runtime/oncrpc/rpcbind/client.go", "return lower, lower >= max(Version2, refused.Range.Low)", "return lower, lower >= Version2", rpcbindTests},
	{"the version refused is tried again", "runtime/oncrpc/rpcbind/client.go", "min(vers-1, refused.Range.High)", "min(vers, refused.Range.High)", rpcbindTests},
	{"anybody removes a registration", "runtime/oncrpc/rpcbind/table.go", "owner != Superuser && string(m.Owner) != owner", "false", rpcbindTests},
	{"the owner is the one that the request names", "runtime/oncrpc/rpcbind/table.go", "	c.Owner = String(owner)\n", "", rpcbindTests},
	{"the table of the server is never full", "runtime/oncrpc/rpcbind/table.go", "len(s.table) >= s.most || ", "", rpcbindTests},
	{"a registration keeps the memory of its request", "runtime/oncrpc/rpcbind/table.go", "	c := m.clone()\n", "	c := *m\n", rpcbindTests},
	{"any address is registered", "runtime/oncrpc/rpcbind/table.go", "err != nil || len(owner) > MaxString {", "err != nil && len(m.Addr) == 0 {", rpcbindTests},
	{"any host registers", "runtime/oncrpc/rpcbind/server.go", "	case err != nil || !at.Addr().Unmap().IsLoopback():", "	case err != nil:", rpcbindTests},
	{"any user of the host is the superuser", "runtime/oncrpc/rpcbind/server.go", "	case at.Port() < 1024:", "	case at.Port() > 0:", rpcbindTests},
	{"GETVERSADDR answers with any version", "runtime/oncrpc/rpcbind/server.go", "s.addr(r, args, false)", "s.addr(r, args, true)", rpcbindTests},
	{"a table without limit", "runtime/oncrpc/rpcbind/client.go", "n > maxTable {", "false {", rpcbindTests},
	{"a claim of a loopback address registers", "runtime/oncrpc/rpcbind/server.go", "	case !local(r).Addr().IsLoopback():", "	case false:", rpcbindTests},
	{"GETADDR answers for TCP over UDP", "runtime/oncrpc/rpcbind/server.go", "oncrpc.NetID(network(r.Conn()), here.Addr())", "oncrpc.NetID(oncrpc.NetIDTCP, here.Addr())", rpcbindTests},
	// The carrier over UDP.
	{"a server answers replies", "runtime/oncrpc/udp/server.go", "typ != oncrpc.MsgCall || len(b) < minCall", "!typ.Valid() || len(b) < minCall", udpTests},
	{"a short Call is answered", "runtime/oncrpc/udp/server.go", "len(b) < minCall", "len(b) < 8", udpTests},
	{"a Call in progress runs again", "runtime/oncrpc/udp/server.go", "if p != nil && p.calls[xid] {", "if p != nil && p.calls[xid] && s.requests < 0 {", udpTests},
	{"one source takes all handlers", "runtime/oncrpc/udp/server.go", "src.requests >= s.set.MaxRequests-s.requests", "s.requests >= s.set.MaxRequests", udpTests},
	{"replies without a rate", "runtime/oncrpc/udp/limit.go", "src.left <= 0 {", "src.left < -1e9 {", udpTests},
	{"sources without a limit", "runtime/oncrpc/udp/limit.go", "	if len(s.sources) >= maxSources {\n", "	if false {\n", udpTests},
	{"a long reply has no answer", "runtime/oncrpc/udp/request.go", "size > MaxMessage {", "size > 1<<30 {", udpTests},
	{"a Call to many hosts is served", "runtime/oncrpc/udp/local_linux.go", "toMany || own != dest", "toMany || !own.IsValid() && dest.IsValid()", udpTests},
	{"a transmission of another Call's message", "runtime/oncrpc/udp/client.go", "		if err := call.Again(ctx); err != nil {", "		if err := ctx.Err(); err != nil {", udpTests},
	// The carrier over TCP.
	{"a record in fragments has no limit", "runtime/oncrpc/tcp/record.go", "n > rd.maxSize-len(buf):", "n > rd.maxSize:", tcpTests},
	{"empty fragments without end", "runtime/oncrpc/tcp/record.go", "case fragments > rd.maxFragments:", "case false:", tcpTests},
	{"memory of a mark", "runtime/oncrpc/tcp/record.go", "memoryFor(min(len(buf)+n, max(firstSize, growth*min(len(buf), math.MaxInt/growth))))", "memoryFor(len(buf) + n + 0*math.MaxInt8)", tcpTests},
	{"a cancelled Call is sent", "runtime/oncrpc/tcp/call.go", "		c.queue.remove(&p.out)\n", "", tcpTests},
	{"a Call that was sent has not run", "runtime/oncrpc/tcp/call.go", "p.sent = !hasNotRun(why)", "p.sent = false", tcpTests},
	{"a late reply answers another Call", "runtime/oncrpc/tcp/call.go", "c.calls[xid] != nil || c.abandoned.has(xid)", "c.calls[xid] != nil", tcpTests},
	{"a Call in progress has the XID", "runtime/oncrpc/tcp/call.go", "c.calls[xid] != nil || c.abandoned.has(xid)", "c.abandoned.has(xid)", tcpTests},
	{"a stalled connection does not read", "runtime/oncrpc/tcp/stall.go", "	if c.in.full() {", "	if true {", tcpTests},
	{"the end behind bytes that are not read is not seen", "runtime/oncrpc/tcp/stall_linux.go", "[0] != established", "[0] == 0", tcpTests},
	{"the deadline that ends a stall stays", "runtime/oncrpc/tcp/stall.go", "		_ = c.out.nc.SetReadDeadline(time.Time{})\n", "", tcpTests},
	{"Requests of a lost connection wait for a place", "runtime/oncrpc/tcp/conn.go", "	c.dropWaiting()\n", "", tcpTests},
	{"a server accepts as fast as it can", "runtime/oncrpc/tcp/server.go", "s.pause(s.rate.Reserve(time.Now()))", "s.rate.Reserve(time.Now())", tcpTests},
	{"a connection with Calls is idle", "runtime/oncrpc/tcp/redial.go", "	if c.users > 0 {", "	if c.users < 0 {", tcpTests},
	{"a connection for reverse Calls is idle", "runtime/oncrpc/tcp/redial.go", "c.cfg.IdleTimeout == 0 || c.keeps()", "c.cfg.IdleTimeout == 0", tcpTests},
	{"a lost connection for reverse Calls is not replaced", "runtime/oncrpc/tcp/redial.go", "c.keeps() && c.stats.Connects > 0", "c.keeps() && c.stats.Connects == 0", tcpTests},
	{"reverse Calls go to the oldest connection", "internal/backchannel/backchannel.go", "c := b.conns[n-1]; c.Err()", "c := b.conns[0]; c.Err()", []string{"internal/backchannel"}},
	// Package rpc.
	{"a verifier is not checked", "runtime/oncrpc/rpc/client.go", "	if err := c.cfg.CheckVerf(", "	if err := c.cfg.CheckVerf(cred, &oncrpc.OpaqueAuth{}); false {\n		return true, err\n	} else if err := oncrpc.CheckVerf(", rpcTests},
	{"results of the call before stay", "runtime/oncrpc/rpc/service.go", "	var none R\n	v.res = none\n", "", rpcTests},
	{"a refused call may have run", "runtime/oncrpc/rpc/client.go", "return errors.Is(err, oncrpc.ErrSystem), c.explain(err, cred, xid)", "return true, c.explain(err, cred, xid)", rpcTests},
	{"a call that was not sent may have run", "runtime/oncrpc/rpc/client.go", "return !errors.As(err, &ce) || ce.MayHaveRun, err", "return !errors.As(err, &ce) || ce != nil, err", rpcTests},
	{"procedure 0 needs a right", "runtime/oncrpc/rpc/request.go", "	case p.Procedure() != 0:", "	default:", rpcTests},
	{"a call can be answered twice", "runtime/oncrpc/rpc/service.go", "			if !answered.Swap(true) {", "			if answered.Swap(true); true {", rpcTests},
	{"the versions of a program are those of one service", "runtime/oncrpc/rpc/handler.go", "min(r.Low, s.program.Version), max(r.High, s.program.Version)", "s.program.Version, s.program.Version", rpcTests},
	{"bytes behind the arguments", "runtime/oncrpc/rpc/request.go", "		err = p.dec.Done()\n", "		err = nil\n", rpcTests},
	{"any credential but RPCSEC_GSS is strong enough", "runtime/oncrpc/rpc/service.go", "f != oncrpc.AuthNone && f != oncrpc.AuthSys && !proved {", "f == oncrpc.RPCSecGSS && !proved {", rpcTests},
	{"RPCSEC_GSS is allowed unchecked", "runtime/oncrpc/rpc/service.go", "&& gss.FromContext(r.rpc.Context()) != nil;", "&& (true || gss.FromContext(r.rpc.Context()) != nil);", rpcTests},
	{"every procedure is idempotent", "runtime/oncrpc/rpc/handler.go", "return s.idempotent[procedure]", "return true", rpcTests},
	{"another server's refusal is passed on", "runtime/oncrpc/rpc/request.go", "	if !errors.As(err, &other) {", "	if other == nil {", rpcTests},
	{"AfterReply runs only if the reply went out", "runtime/oncrpc/rpc/request.go", "	if p.after != nil {", "	if p.after != nil && err == nil {", rpcTests},
	{"padded results are decoded", "runtime/oncrpc/rpc/client.go", "	if reply.Padding.Align != 0 {", "	if false {", rpcTests},
	{"padded arguments are decoded", "runtime/oncrpc/rpc/request.go", "	if err == nil && p.rpc.Padding.Align != 0 {", "	if err == nil && p.rpc.Padding.Align == 1 {", rpcTests},
	// The connection configuration protocol.
	{"a client that serves no Reads offers read chunks", "rdmaio/connconf/client.go", "own == 0 || res.MaxRDMARead == 0,", "res.MaxRDMARead == 0,", connconfTests},
	{"no Reads are as many as one likes", "rdmaio/connconf/connconf.go", "	if n == 0 {\n		return -1", "	if n == 0 {\n		return 0", connconfTests},
	{"the sizes of the two directions are mixed up", "rdmaio/connconf/server.go", "min(args.MaxReplySendSize, math.MaxInt32)", "min(args.MaxCallSendSize, math.MaxInt32)", connconfTests},
	{"the right to configure is not checked", "rdmaio/connconf/server.go", "		svc.Allow = cfg.Allow", "		_ = cfg.Allow", connconfTests},
	{"the context of RPCSEC_GSS stays at the server", "rdmaio/connconf/client.go", "			defer func() { _ = c.Close(ctx) }() // the server deletes the context later by itself\n", "			_ = c\n", connconfTests},
	{"a refused credential is always ignored", "rdmaio/connconf/client.go", "	case ignore && errors", "	case (ignore || err != nil) && errors", connconfTests},
	{"a server without the protocol is an error", "rdmaio/connconf/client.go", "case errors.Is(err, oncrpc.ErrProgUnavail), errors.Is(err, oncrpc.ErrProgMismatch),", "case errors.Is(err, oncrpc.ErrProgMismatch),", connconfTests},
	{"a server without CONF_RDMA is an error", "rdmaio/connconf/client.go", ", errors.Is(err, oncrpc.ErrProcUnavail):", ":", connconfTests},
	{"the credential is not shown", "rdmaio/connconf/client.go", "		cred, ignore = cfg.Cred, cfg.IgnoreRefusal\n", "		ignore = cfg.IgnoreRefusal\n", connconfTests},
}
