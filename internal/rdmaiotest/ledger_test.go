package rdmaiotest

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// The ledger reports each rule that is broken.
func TestLedgerReportsBrokenRules(t *testing.T) {
	none := "000000000000000000000000"
	msg := func(xid, credit, typ string) string { return xid + "00000001" + credit + "00000000" + none + xid + typ }
	const call, reply = "00000000", "00000001"
	recv := trace.Event{Kind: trace.PostRecv}
	send := func(hex string) trace.Event {
		return trace.Event{Kind: trace.PostSend, Opcode: verbs.Send, Head: string(peertest.Bytes(t, hex))}
	}
	got := func(hex string) trace.Event {
		return trace.Event{Kind: trace.Complete, WCOpcode: verbs.WCRecv, Head: string(peertest.Bytes(t, hex))}
	}
	for name, c := range map[string]struct {
		list []trace.Event
		bad  bool
	}{
		"good": {[]trace.Event{
			recv, recv, recv,
			send(msg("00000001", "00000002", call)), got(msg("00000001", "00000001", call)), recv,
			send(msg("00000001", "00000001", reply)), got(msg("00000001", "00000002", reply)), recv,
			send(msg("00000002", "00000002", call)), send(msg("00000003", "00000002", call)),
		}, false},
		"two Calls before the first Reply": {[]trace.Event{recv, recv, send(msg("00000001", "00000002", call)), send(msg("00000002", "00000002", call))}, true},
		"no Receive for the Reply":         {[]trace.Event{send(msg("00000001", "00000002", call))}, true},
		"an answer to nothing":             {[]trace.Event{recv, send(msg("00000001", "00000001", reply))}, true},
		"a grant of 0":                     {[]trace.Event{recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000000", reply))}, true},
		"more than was asked for":          {[]trace.Event{recv, recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000002", reply))}, true},
		"a grant on a Receive that a Reply needs": {[]trace.Event{
			recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000002", call)), send(msg("00000001", "00000001", reply)),
		}, true},
		"the same XID twice": {[]trace.Event{
			recv, recv, recv, send(msg("00000001", "00000002", call)), got(msg("00000001", "00000002", reply)),
			send(msg("00000002", "00000002", call)), send(msg("00000002", "00000002", call)),
		}, true},
	} {
		if _, err := Audit(c.list, ""); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
