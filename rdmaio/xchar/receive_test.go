package xchar

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestDescriptionHasAllCharacteristics proves R243: the description has all characteristics and the
// subset that is fixed. R254: it fits the smallest initial Receive, 1024 bytes, with the prefix of
// version 2. R234, R235, R236: until then the defaults hold.
func TestDescriptionHasAllCharacteristics(t *testing.T) {
	a := endpoint(t, &Config{
		Local: Characteristics{ReceiveSize: 65536, RemoteInvalidation: true, Backward: wire.BackwardGeneral},
		Fixed: []wire.ID{wire.IDBackwardSupport, wire.IDRemoteInvalidation},
	})
	m := a.Init(7)
	same(t, "xid", m.XID, 7)
	same[any](t, "INIT", sent(t, m), &wire.Init{
		Start: wire.Spec{
			{Which: 1, Data: []byte{0, 1, 0, 0}},
			{Which: 2, Data: []byte{0, 0, 0, 1}},
			{Which: 3, Data: []byte{0, 0, 0, 3}},
		},
		NoChange: wire.Subset{6},
	})
	if n := 20 + m.Header.XDRSize(); n > 1024 {
		t.Errorf("the INIT has %d bytes, at most 1024 fit the smallest Receive", n)
	}
	b := endpoint(t, nil)
	same(t, "peer before INIT", b.Peer(), Characteristics{4096, false, wire.BackwardSizeLimited})
	same(t, "limit before INIT", b.SendLimit(8192), 8192)
	out := receive(t, b, 7, &m.Header)
	same(t, "peer", b.Peer(), a.Own())
	same(t, "changed", out.Changed, []Value{ReceiveSize(65536), RemoteInvalidation(true), Backward(wire.BackwardGeneral)})
	same(t, "limit", b.SendLimit(8192), 65536)
	same(t, "invalidation", b.MayInvalidate(), true)
	for id, want := range map[wire.ID]State{1: StateSettled, 2: StateFixed, 3: StateFixed, 4: StateSettled} {
		same(t, "state at the peer", b.PeerState(id), want)
		same(t, "state", a.OwnState(id), want)
	}

	// A second INIT is counted and not applied.
	out = receive(t, b, 8, initOf(t, nil, ReceiveSize(1)))
	same(t, "effects", out, Effects{})
	same(t, "peer", b.Peer(), a.Own())
	same(t, "stats", b.Stats(), Stats{RepeatedInits: 1})
}

// TestUnknownSkipped proves R233 and R231: unknown characteristics, and the order, change nothing.
func TestUnknownSkipped(t *testing.T) {
	e := endpoint(t, nil)
	receive(t, e, 1, body(t, wire.OpInit, &wire.Init{
		Start: wire.Spec{
			{Which: 4294967040, Data: []byte("abc")},
			Backward(wire.BackwardNone).wire(),
			{Which: 0},
			{Which: 4294967040}, // twice
			ReceiveSize(2048).wire(),
		},
		NoChange: wire.Subset{1<<4 | 1<<0, 1}, // element 32 does not exist
	}))
	same(t, "peer", e.Peer(), Characteristics{2048, false, wire.BackwardNone})
	same(t, "state", e.PeerState(wire.IDReceiveBufferSize), StateFixed)
	same(t, "state", e.PeerState(wire.IDBackwardSupport), StateSettled)
	out := receive(t, e, 2, body(t, wire.OpUpd, &wire.Upd{Now: wire.Value{Which: 4}, PendClear: true}))
	same(t, "UPD of an unknown one", out, Effects{})
	same(t, "stats", e.Stats(), Stats{})

	// The subset of element 33 is bit 1 of word 1.
	long := &wire.Init{Start: make(wire.Spec, 34), NoChange: wire.Subset{0, 2}}
	long.Start[33] = Backward(wire.BackwardGeneral).wire()
	e = endpoint(t, nil)
	receive(t, e, 1, body(t, wire.OpInit, long))
	same(t, "peer", e.Peer(), Characteristics{4096, false, wire.BackwardGeneral})
	same(t, "state", e.PeerState(wire.IDBackwardSupport), StateFixed)
}

// TestFaultySetIsNotApplied proves R232: data that do not fit are an XDR error, and nothing of the
// set is applied (A33). Duplicates are refused in the same way.
func TestFaultySetIsNotApplied(t *testing.T) {
	good := ReceiveSize(9000).wire()
	bad := func(id wire.ID, data ...byte) wire.Spec { return wire.Spec{good, {Which: id, Data: data}} }
	start := func(s wire.Spec) xdr.Value { return &wire.Init{Start: s} }
	want := func(s wire.Spec) xdr.Value { return &wire.Req{Want: s} }
	upd := func(id wire.ID, data ...byte) xdr.Value { return &wire.Upd{Now: wire.Value{Which: id, Data: data}} }
	for _, c := range []struct {
		name string
		op   uint32
		v    xdr.Value
		is   error
	}{
		{"zero length in INIT", wire.OpInit, start(bad(2)), xdr.ErrShort},
		{"boolean 2 in INIT", wire.OpInit, start(bad(2, 0, 0, 0, 2)), xdr.ErrBool},
		{"level 4 in INIT", wire.OpInit, start(bad(3, 0, 0, 0, 4)), xdr.ErrEnum},
		{"duplicate in INIT", wire.OpInit, start(bad(1, 0, 0, 1, 0)), nil},
		{"zero length in REQ", wire.OpReq, want(bad(2)), xdr.ErrShort},
		{"too long in REQ", wire.OpReq, want(bad(3, 0, 0, 0, 1, 0)), xdr.ErrTrailing},
		{"too short in REQ", wire.OpReq, want(bad(3, 0, 0, 1)), xdr.ErrShort},
		{"duplicate in REQ", wire.OpReq, want(bad(1, 0, 0, 1, 0)), nil},
		{"zero length in UPD", wire.OpUpd, upd(1), xdr.ErrShort},
		{"two words in UPD", wire.OpUpd, upd(1, 0, 0, 0, 0, 0, 0, 0, 0), xdr.ErrTrailing},
		{"level in UPD", wire.OpUpd, upd(3, 0xff, 0xff, 0xff, 0xff), xdr.ErrEnum},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &answers{decision: Accept}
			e := endpoint(t, &Config{Policy: policy})
			before := *e
			out := e.Receive(1, body(t, c.op, c.v))
			if out.Fault == nil || out.Fault.Code != rpcrdma2.ErrBadXDR || c.is != nil && !errors.Is(out.Fault, c.is) {
				t.Fatalf("%v, want BAD_XDR because of %v", out.Fault, c.is)
			}
			before.stats.Faults = 1
			if len(policy.asked) != 0 || len(out.Send)+len(out.Changed) != 0 || out.Post != 0 {
				t.Errorf("a message that is refused had effects: %+v, policy %v", out, policy.asked)
			}
			same(t, "peer", e.Peer(), before.Peer())
			same(t, "own", e.Own(), before.Own())
			same(t, "stats", e.Stats(), before.stats)
		})
	}
}

// TestHeaderFaults proves R252 for numbers that are not operations, that each operation has one
// direction, and that no error message answers an answer (R193).
func TestHeaderFaults(t *testing.T) {
	e := endpoint(t, nil)
	for _, op := range []uint32{0, 5, 6, 1 << 31, 0xffffffff} {
		for _, dir := range []xcharcarrier.Direction{0, 1} {
			out := e.Receive(1, &xcharcarrier.Optional{Direction: dir, Op: op, Info: []byte{1}})
			want := rpcrdma2.ErrCode(3)
			if dir == xcharcarrier.XIDOfReceiver {
				want = 0
			}
			if out.Fault == nil || out.Fault.Code != want {
				t.Errorf("operation %d, direction %v: %+v, want error %d", op, dir, out.Fault, want)
			}
		}
	}
	for _, h := range []*xcharcarrier.Optional{
		initOf(t, nil), reqOf(t), respOf(t, 0, 0, 0), updOf(t, ReceiveSize(1), false),
	} {
		h.Direction ^= 1
		if out := e.Receive(1, h); out.Fault == nil || out.Fault.Code != badXDR(h) {
			t.Errorf("operation %d with direction %v: %+v, want error %d", h.Op, h.Direction, out.Fault, badXDR(h))
		}
		h.Direction ^= 1
		h.Info = append(h.Info, 0, 0, 0, 0)
		if out := e.Receive(1, h); !errors.Is(out.Fault, xdr.ErrTrailing) {
			t.Errorf("operation %d with a word too many: %v, want xdr.ErrTrailing", h.Op, out.Fault)
		}
	}
	same(t, "error", e.Receive(1, &xcharcarrier.Optional{Op: 9}).Fault.Error(),
		"xchar: header: operation is 9, expected 1 to 4 (section 4, table 2)")
	same(t, "error", e.Receive(1, reqOf(t, ReceiveSize(1), Backward(1), ReceiveSize(2))).Fault.Error(),
		"xchar: REQ: element 2: characteristic 1 is element 0 already, expected each once")
}

// badXDR returns the error code for a message that is not valid XDR, or no code if the message
// claims to be an answer.
func badXDR(h *xcharcarrier.Optional) rpcrdma2.ErrCode {
	if h.Direction == xcharcarrier.XIDOfReceiver {
		return 0
	}
	return rpcrdma2.ErrBadXDR
}

// TestTruncatedOperationHasNoEffect proves R232: each prefix of each operation is an XDR error
// without an effect.
func TestTruncatedOperationHasNoEffect(t *testing.T) {
	for _, h := range []*xcharcarrier.Optional{
		initOf(t, wire.Subset{2}, ReceiveSize(8192), RemoteInvalidation(true)),
		reqOf(t, ReceiveSize(8192), Backward(wire.BackwardNone)),
		respOf(t, 1, 2, 4),
		updOf(t, Backward(wire.BackwardNone), true),
	} {
		for n := range h.Info {
			e := endpoint(t, &Config{Policy: &answers{decision: Accept}})
			out := e.Receive(1, &xcharcarrier.Optional{Direction: h.Direction, Op: h.Op, Info: h.Info[:n]})
			if out.Fault == nil || out.Fault.Code != badXDR(h) {
				t.Fatalf("operation %d, %d of %d bytes: %+v, want error %d", h.Op, n, len(h.Info), out.Fault, badXDR(h))
			}
			same(t, "peer", e.Peer(), Defaults())
			same(t, "own", e.Own(), Characteristics{ReceiveSize: 4096})
		}
	}
}
