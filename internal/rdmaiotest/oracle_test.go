package rdmaiotest

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// R13, R304, T85: the oracle reports each rule that is broken, and raw peers may break all.
func TestOracleReportsBrokenRules(t *testing.T) {
	const (
		none  = "00000000 00000000 00000000 "
		call  = "00000001 00000000"
		reply = "00000001 00000001"
	)
	head := func(proc string) string { return "00000001 00000001 00000001 " + proc + " " }
	ev := func(kind trace.Kind, hex string) trace.Event {
		return trace.Event{Device: "client", QP: 1, Kind: kind, Opcode: verbs.Send, WCOpcode: verbs.WCRecv, Head: string(peertest.Bytes(t, hex))}
	}
	send := func(hex string) trace.Event { return ev(trace.PostSend, hex) }
	got := func(hex string) trace.Event { return ev(trace.Complete, hex) }
	recv := trace.Event{Device: "client", QP: 1, Kind: trace.PostRecv}
	reg := func(a verbs.Access) trace.Event {
		return trace.Event{Device: "client", Kind: trace.Register, RKey: 0x11, RemoteAddr: 0x1000, Length: 8, Access: a}
	}
	ended := trace.Event{Device: "client", Kind: trace.Invalidate, RKey: 0x11}
	reads := "00000001 00000008 00000011 00000008 00000000 00001000 " + none
	rd, wr := reg(verbs.AccessRemoteRead), reg(verbs.AccessRemoteWrite|verbs.AccessLocalWrite)
	accept := trace.Event{Device: "client", QP: 1, Kind: trace.Accept}
	for name, c := range map[string]struct {
		list []trace.Event
		want string // part of the error
	}{
		"good":                    {[]trace.Event{recv, rd, send(head("00000000") + reads + call), got(head("00000000") + none + reply), ended}, ""},
		"a key left":              {[]trace.Event{recv, rd}, "live at the end"},
		"a key that never was":    {[]trace.Event{recv, send(head("00000000") + reads + call)}, "not live"},
		"a key that has ended":    {[]trace.Event{recv, rd, ended, send(head("00000000") + reads + call)}, "not live"},
		"another right":           {[]trace.Event{recv, wr, send(head("00000000") + reads + call)}, "rights"},
		"more rights than needed": {[]trace.Event{recv, reg(AnyAccess), send(head("00000000") + reads + call)}, "rights"},
		"more than the key has":   {[]trace.Event{recv, rd, send(strings.Replace(head("00000000")+reads+call, "00000011 00000008", "00000011 00000009", 1))}, "which covers"},
		"two RPCs by one key":     {[]trace.Event{recv, recv, rd, send(head("00000000") + reads + call), got(head("00000000") + none + reply), send("00000002 00000001 00000001 00000000 " + reads + "00000002 00000000")}, "offer the same key"},
		"a key invalidated that was never offered": {[]trace.Event{recv, {Device: "client", QP: 1, Kind: trace.Complete, WCOpcode: verbs.WCRecv, InvalidateRKey: 5}}, "was not given"},
		"no header":                     {[]trace.Event{recv, send("00000001 00000001 00000001")}, "without a good header"},
		"half a list":                   {[]trace.Event{recv, send(head("00000001") + reads[:40])}, "without a good header"},
		"an answer to an ERROR":         {[]trace.Event{recv, accept, got(head("00000004") + "00000002"), recv, send(head("00000004") + "00000002")}, "not to be answered"},
		"an answer to garbage":          {[]trace.Event{recv, recv, accept, got(head("00000009")), send(head("00000004") + "00000002")}, ""},
		"two answers to garbage":        {[]trace.Event{recv, recv, accept, got(head("00000009")), send(head("00000004") + "00000002"), send(head("00000004") + "00000002")}, "not to be answered"},
		"an answer to less than a head": {[]trace.Event{recv, recv, accept, got("00000001 00000001"), send(head("00000004") + "00000002")}, "not to be answered"},
		"two Calls at first":            {[]trace.Event{recv, recv, send(head("00000000") + none + call), send("00000002 00000001 00000001 00000000 " + none + "00000002 00000000")}, "2 Calls outstanding"},
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
	// A raw peer, with a bad message and a key that stays.
	o := newOracle()
	d := device{o: o, name: "client"}
	d.ExemptQP(1)
	d.ExemptKey(0x11)
	for _, e := range []trace.Event{rd, send("00")} {
		o.event(&e)
	}
	if err := o.result(); err != nil {
		t.Errorf("a raw peer: %v", err)
	}
	// Poison, as a device gives it.
	dev := New(t)
	pd, err := dev.Client.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	b, err := pd.Alloc(40)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.RegisterMemory(b, verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if checkFilled(verbs.SGE{MR: mr, Offset: 3, Length: 20}) == nil {
		t.Error("poison was not noticed")
	}
	clear(b[:16])
	if err := checkFilled(verbs.SGE{MR: mr, Length: 16}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(mr.Deregister(), pd.Free(b), pd.Close()); err != nil {
		t.Error(err)
	}
}
