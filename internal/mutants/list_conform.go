package main

// conformTests are the packages that notice them.
var conformTests = []string{"cmd/rpcrdma/internal/conform"}

// conformMutants are in the conformance run, which must fail for servers that are wrong.
var conformMutants = []mutant{
	{"a case expects whatever comes", "cmd/rpcrdma/internal/conform/exchange.go", "\t\tif !e.allows(came) {", "\t\tif false {", conformTests},
	{"a second answer is not seen", "cmd/rpcrdma/internal/conform/exchange.go", "(twice || !x.waits):", "twice && false:", conformTests},
	{"a server that serves no later call passes", "cmd/rpcrdma/internal/conform/target.go", "\tif usable && !x.probed && !x.probe() {", "\tif false {", conformTests},
	{"a server that is gone passes", "cmd/rpcrdma/internal/conform/target.go", "\tif !usable {\n\t\tt.alive(ctx, res)\n\t}\n", "", conformTests},
	{"bytes after a refusal are not seen", "cmd/rpcrdma/internal/conform/message.go", "\tif r.err == \"\" && len(r.b) > 0 && ", "\tif false && ", conformTests},
	{"a verifier may be longer than 400 bytes", "cmd/rpcrdma/internal/conform/message.go", "\tcase n > maxAuth:", "\tcase false:", conformTests},
	{"versions in any order", "cmd/rpcrdma/internal/conform/message.go", "\tif low > high {", "\tif false {", conformTests},
	{"cases of other programs run without the test program", "cmd/rpcrdma/internal/conform/target.go", "\tcase c.Echo && !t.echo():", "\tcase false:", []string{"cmd/rpcrdma"}},
	{"a record of any size is read", "cmd/rpcrdma/internal/conform/wire.go", "len(msg)+size > maxMessage || ", "", conformTests},
	{"a grant of 0 credits passes", "cmd/rpcrdma/internal/conform/rdma.go", "\tcase m.Credit == 0:", "\tcase false:", conformTests},
	{"a read list in a reply passes", "cmd/rpcrdma/internal/conform/rdma.go", "\tcase len(m.Reads) > 0:", "\tcase false:", conformTests},
	{"a chunk with another XID passes", "cmd/rpcrdma/internal/conform/rdma.go", "inner != xid {", "false {", conformTests},
	{"ERR_VERS of any length", "cmd/rpcrdma/internal/conform/rdma.go", "\tcase code == 1 && len(b) == 28:", "\tcase code == 1:", conformTests},
	{"a long reply is not read from its chunk", "cmd/rpcrdma/internal/conform/rdma.go", "\tcase !m.Long:", "\tcase true:", conformTests},
	{"any result is the right one", "cmd/rpcrdma/internal/conform/incoming.go", "\t\tif first == want {", "\t\tif true {", conformTests},
	{"a report without a call passes", "cmd/rpcrdma/internal/conform/session.go", "\tif s.tries == 0 {", "\tif false {", conformTests},
	{"a case without a report has no result", "cmd/rpcrdma/internal/conform/session.go", "\ts.finish(noReport)\n\tif int", "\tif int", conformTests},
	{"a silent client is waited for", "cmd/rpcrdma/internal/conform/session.go", "time.Since(s.last) < limit {", "true {", conformTests},
	{"a client has no time for its first call", "cmd/rpcrdma/internal/conform/session.go", "s.last.IsZero() || ", "", conformTests},
	{"a failed case has exit code 0", "cmd/rpcrdma/conform.go", "\tcase sum.failed > 0:", "\tcase false:", []string{"cmd/rpcrdma"}},
	{"serve answers other RPC versions", "cmd/rpcrdma/service.go", "\tcase len(call) >= 12 && binary.BigEndian.Uint32(call[8:]) != oncrpc.Version:", "\tcase false:", []string{"cmd/rpcrdma"}},
	{"serve lets any credential pass", "cmd/rpcrdma/service.go", "refusal := oncrpc.CheckCred(cred); refusal != nil", "refusal := oncrpc.CheckCred(cred); false", []string{"cmd/rpcrdma"}},
}
