package xchar

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// answers is a Policy that gives the same decision to all requests, and counts them.
type answers struct {
	decision Decision
	asked    []string
}

func (a *answers) CutReceiveSize(from, to uint32) Decision {
	a.asked = append(a.asked, "cut")
	return a.decision
}

func (a *answers) RaiseReceiveSize(from, to uint32) Decision {
	a.asked = append(a.asked, "raise")
	return a.decision
}

func (a *answers) Invalidation(bool) Decision {
	a.asked = append(a.asked, "invalidation")
	return a.decision
}

func (a *answers) Backward(from, to wire.BackwardSupport) Decision {
	a.asked = append(a.asked, "backward")
	return a.decision
}

// endpoint returns an Endpoint with a configuration that must be valid.
func endpoint(t testing.TB, cfg *Config) *Endpoint {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// body returns the header of an operation. RESP has the direction of a response.
func body(t testing.TB, op uint32, v xdr.Value) *xcharcarrier.Optional {
	t.Helper()
	dir := xcharcarrier.XIDOfSender
	if op == wire.OpResp {
		dir = xcharcarrier.XIDOfReceiver
	}
	h := message(0, dir, op, v).Header
	return &h
}

// initOf returns an INIT with values. Those in fixed do not change.
func initOf(t testing.TB, fixed wire.Subset, values ...Value) *xcharcarrier.Optional {
	t.Helper()
	return body(t, wire.OpInit, &wire.Init{Start: spec(values...), NoChange: fixed})
}

// reqOf returns a REQ of values.
func reqOf(t testing.TB, values ...Value) *xcharcarrier.Optional {
	t.Helper()
	return body(t, wire.OpReq, &wire.Req{Want: spec(values...)})
}

// respOf returns a RESP with three subsets, each one word long.
func respOf(t testing.TB, done, rejected, pending uint32) *xcharcarrier.Optional {
	t.Helper()
	return body(t, wire.OpResp, &wire.Resp{Done: wire.Subset{done}, Rejected: wire.Subset{rejected}, Pending: wire.Subset{pending}})
}

// updOf returns a UPD.
func updOf(t testing.TB, v Value, clear bool) *xcharcarrier.Optional {
	t.Helper()
	return body(t, wire.OpUpd, &wire.Upd{Now: v.wire(), PendClear: clear})
}

func spec(values ...Value) wire.Spec {
	var out wire.Spec
	for _, v := range values {
		out = append(out, v.wire())
	}
	return out
}

// sent decodes a message of an Endpoint.
func sent(t testing.TB, m Message) any {
	t.Helper()
	ext := wire.Extension()
	v := ext.Find(xdr.Operations, m.Header.Op).New()
	if err := v.(interface{ UnmarshalBinary([]byte) error }).UnmarshalBinary(m.Header.Info); err != nil {
		t.Fatalf("operation %d of an Endpoint does not decode: %v", m.Header.Op, err)
	}
	return v
}

// wantSent fails unless the messages of out are the wanted operations.
func wantSent(t testing.TB, out Effects, want ...any) {
	t.Helper()
	var got []any
	for _, m := range out.Send {
		got = append(got, sent(t, m))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("messages sent (-want +got):\n%s", diff)
	}
}

// same fails unless got equals want.
func same[T any](t testing.TB, name string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", name, diff)
	}
}

// receive passes a message that must cause no error message.
func receive(t testing.TB, e *Endpoint, xid uint32, h *xcharcarrier.Optional) Effects {
	t.Helper()
	out := e.Receive(xid, h)
	if out.Fault != nil {
		t.Fatal(out.Fault)
	}
	return out
}

// ask makes a request that must be valid.
func ask(t testing.TB, e *Endpoint, xid uint32, values ...Value) Message {
	t.Helper()
	m, err := e.Request(xid, values...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
