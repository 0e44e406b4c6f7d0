package rdmaiotest

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// The oracle reports each rule of version 2 that an end breaks (R142, R155, R169, R170, R172, R175,
// R179, R182, R193).
func TestOracleReportsBrokenRulesOfVersion2(t *testing.T) {
	rpc := func(typ byte) []byte { return append([]byte{0, 0, 0, 7, 0, 0, 0, typ}, make([]byte, 24)...) }
	call, reply := peer2.Call(7, rpc(0)), peer2.Reply(7, rpc(1))
	parts := call.Split(8)
	with := func(kind trace.Kind, m peer2.Message, ceiling, credits int) trace.Event {
		m.Credit = peer2.Word(ceiling, credits)
		b := m.Bytes()
		return trace.Event{Device: "client", QP: 1, Kind: kind, Opcode: verbs.Send, WCOpcode: verbs.WCRecv, Head: string(b), Length: len(b)}
	}
	send := func(m peer2.Message, credits int) trace.Event { return with(trace.PostSend, m, 4, credits) }
	got := func(m peer2.Message, credits int) trace.Event { return with(trace.Complete, m, 4, credits) }
	props := peer2.Props(1, peer2.Prop(1, 4096))
	recv := trace.Event{Device: "client", QP: 1, Kind: trace.PostRecv}
	recvs := func(n int, more ...trace.Event) (list []trace.Event) {
		for range n {
			list = append(list, recv)
		}
		return append(list, more...)
	}
	accept := trace.Event{Device: "client", QP: 1, Kind: trace.Accept}
	start := recvs(6, send(props, 4), got(props, 3), recv) // three credits
	more := func(list ...trace.Event) []trace.Event { return append(append([]trace.Event(nil), start...), list...) }
	other := peer2.Call(8, rpc(0))
	for name, c := range map[string]struct {
		list []trace.Event
		want string // part of the error
	}{
		"good":                       {more(send(call, 1), got(reply, 1), recv, send(parts[0], 1), send(parts[1], 0)), ""},
		"a Call first":               {recvs(6, send(call, 4)), "R182"},
		"two messages before grants": {recvs(6, send(props, 4), send(call, 0)), "R170"},
		"more messages than credits": {more(send(call, 1), send(other, 0), send(peer2.Call(9, rpc(0)), 0), send(peer2.Call(10, rpc(0)), 0)), "R170"},
		"credits beyond the ceiling": {recvs(9, send(props, 5)), "grant of 5"},
		"the same in two messages":   {more(send(call, 2)), "R179"},
		"credits without a Receive":  {recvs(4, send(props, 4)), "R172"},
		"a Call between parts":       {more(send(parts[0], 1), send(other, 0)), "R155"},
		"a grant between parts":      {more(send(parts[0], 0), send(peer2.Grant(), 1), send(parts[1], 0)), ""},
		"the same XID twice":         {more(send(call, 1), send(call, 0)), "outstanding already"},
		"an ERROR to no message":     {more(send(peer2.Err(7, peer2.ErrSystem), 0)), "R193"},
		"a Reply to no message":      {more(send(reply, 1)), "R193"},
		"two Replies":                {recvs(6, accept, got(call, 3), recv, send(reply, 4), send(reply, 0)), "R193"},
		"a server's good Reply":      {recvs(6, accept, got(call, 3), recv, send(reply, 4)), ""},
		"a reverse XID used again":   {recvs(6, accept, got(props, 3), recv, send(props, 4), send(call, 0), got(reply, 1), recv, send(call, 1)), ""},
		"a reverse XID twice":        {recvs(6, accept, got(props, 3), recv, send(props, 4), send(call, 0), send(call, 0)), "outstanding already"},
		"a key that is no handle":    {more(send(func() peer2.Message { m := call; m.Key = 5; return m }(), 1)), "rdma_inv_handle"},
	} {
		o := newOracle()
		for i := range c.list {
			o.event(&c.list[i])
		}
		err := o.result()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
