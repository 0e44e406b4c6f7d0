package xchar

import (
	"runtime"
	"testing"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// FuzzReceive feeds sequences of messages to an Endpoint that also makes requests and decisions. An
// input is a list of messages: operation, direction, xid, length and body (R313).
//
//fuzz:floor 100 each execution has two state machines and many messages
func FuzzReceive(f *testing.F) {
	for _, h := range []*xcharcarrier.Optional{
		initOf(f, wire.Subset{1}, ReceiveSize(8192), RemoteInvalidation(true)),
		reqOf(f, ReceiveSize(2048), Backward(wire.BackwardGeneral)),
		respOf(f, 1, 2, 4),
		updOf(f, ReceiveSize(9000), true),
	} {
		one := append([]byte{byte(h.Op), byte(h.Direction), 1, byte(len(h.Info))}, h.Info...)
		f.Add(one)
		f.Add(append(one, one...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		policy := &answers{decision: Accept}
		e := endpoint(t, &Config{Policy: policy})
		e.Init(0)
		for len(in) >= 4 {
			h := &xcharcarrier.Optional{Op: uint32(in[0] & 0x0f), Direction: xcharcarrier.Direction(in[1] & 3)}
			policy.decision = Decision(in[1] >> 2 & 3)
			xid, act := uint32(in[2]&0x0f), in[2]>>4
			n := min(int(in[3]), len(in)-4)
			h.Info, in = in[4:4+n], in[4+n:]
			switch act {
			case 1:
				_, _ = e.Request(xid, ReceiveSize(uint32(n)<<6), RemoteInvalidation(n&1 == 0))
			case 2:
				_, _ = e.Settle(wire.ID(n), n&4 == 0)
			case 3:
				_, _ = e.Set(Value{wire.ID(n & 3), uint32(n) << 6})
			case 4:
				e.PeerError(xid, 3)
			case 5:
				e.ReceivesReplaced(uint32(n) << 6)
			}
			judge(t, e, e.Receive(xid, h))
		}
	})
}

// judge fails if one message had more effects than any may have, or left an invalid value.
func judge(t *testing.T, e *Endpoint, out Effects) {
	if len(out.Send) > slots+1 || len(out.Changed) > slots || len(out.Outcomes) > slots {
		t.Fatalf("one message had the effects %+v", out)
	}
	if len(e.requests) > MaxRequests || cap(e.requests) > 2*MaxRequests {
		t.Fatalf("%d requests, capacity %d", len(e.requests), cap(e.requests))
	}
	for s := range slot(slots) {
		for _, word := range []uint32{e.own[s].word, e.peer[s].word} {
			if err := s.value(word).valid(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range out.Send {
		sent(t, m)
	}
}

// TestClaimedCountsCostNoMemory proves R324 for an Endpoint: counts that claim much cost an error,
// long lists cost no memory for each element but the bits of a RESP, and nothing remains.
func TestClaimedCountsCostNoMemory(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector allocates")
	}
	long := make(wire.Spec, 1<<16)
	for n := range long {
		long[n].Which = wire.ID(n + 4)
	}
	huge := []byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		name  string
		h     *xcharcarrier.Optional
		bytes uint64
	}{
		{"INIT of 65536 elements", body(t, wire.OpInit, &wire.Init{Start: long, NoChange: make(wire.Subset, 1<<16)}), 512},
		{"REQ of 65536 elements", body(t, wire.OpReq, &wire.Req{Want: long}), 1024},
		{"REQ of 1024 elements", body(t, wire.OpReq, &wire.Req{Want: long[:MaxElements]}), 2048},
		{"RESP of 65536 words", body(t, wire.OpResp, &wire.Resp{Done: make(wire.Subset, 1<<16)}), 512},
		{"UPD of 65536 bytes", body(t, wire.OpUpd, &wire.Upd{Now: wire.Value{Which: 9, Data: make([]byte, 1<<16)}}), 512},
		{"count in INIT", &xcharcarrier.Optional{Op: wire.OpInit, Info: huge}, 1024},
		{"count in REQ", &xcharcarrier.Optional{Op: wire.OpReq, Info: huge}, 1024},
		{"count in RESP", &xcharcarrier.Optional{Op: wire.OpResp, Direction: 1, Info: huge}, 1024},
		{"length in UPD", &xcharcarrier.Optional{Op: wire.OpUpd, Info: huge}, 1024},
		{"unknown operation", &xcharcarrier.Optional{Op: 99, Info: huge}, 512},
	} {
		e := endpoint(t, nil)
		const rounds = 100
		var before, after runtime.MemStats
		least := ^uint64(0)
		for range 3 { // other goroutines count too
			runtime.ReadMemStats(&before)
			for range rounds {
				e.Receive(1, c.h)
			}
			runtime.ReadMemStats(&after)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/rounds)
		}
		if least > c.bytes {
			t.Errorf("%s: %d bytes of memory for a message, at most %d expected", c.name, least, c.bytes)
		}
	}
}
