package xchar_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/xchar"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// scripted is a scripted client of our server with the extension. Its INIT was not sent.
type scripted struct {
	*peer2.Peer
	t   *testing.T
	ctx context.Context
	x   *xchar.Conn // at the server
}

func script(t *testing.T, cfg *xchar.Config) *scripted {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	w := rdmaiotest.New(t)
	s := &server{conn: make(chan *rdmaio.Conn, 1)}
	w.Serve(s, side(t, cfg))
	p := peer2.New(t, w.Client, peer2.Config{Client: true, Size: 16384})
	p.Dial(w.Client, w.Addr, nil)
	p.Send(peer2.Props(1, peer2.Prop(peer2.ReceiveSize, 16384)))
	if m := p.Next(); m.Type != peer2.ConnProp {
		t.Fatalf("%v, want CONNPROP", m)
	}
	r := &scripted{Peer: p, t: t, ctx: ctx}
	r.op(wire.OpInit, false) // R254: before any other message of the extension
	p.Send(peer2.Call(2, rpc(2, 0, 40)))
	if m := p.Next(); !m.IsReply() {
		t.Fatalf("%v, want a Reply", m)
	}
	r.x = of(t, <-s.conn)
	return r
}

// op returns the next message, which must be this operation, and its body.
func (p *scripted) op(op uint32, answer bool) (peer2.Message, []byte) {
	p.t.Helper()
	m := p.Next()
	var body xcharcarrier.Optional
	if err := body.UnmarshalBinary(m.Payload); err != nil || m.Type != xcharcarrier.HeaderType || body.Op != op {
		p.t.Fatalf("%v, want operation %d: %v", m, op, err)
	}
	if got := m.Flags&peer2.Response != 0; got != answer || got != (body.Direction == xcharcarrier.XIDOfReceiver) {
		p.t.Fatalf("%v, direction %v, want an answer: %t", m, body.Direction, answer)
	}
	return m, body.Info
}

// send sends an operation.
func (p *scripted) send(xid, op uint32, answer bool, body xdr.Value) {
	p.t.Helper()
	enc := xdr.NewEncoder(nil)
	if err := body.EncodeXDR(enc); err != nil {
		p.t.Fatal(err)
	}
	o := xcharcarrier.Optional{Op: op, Info: enc.Bytes()}
	m := peer2.Message{XID: xid, Type: xcharcarrier.HeaderType}
	if answer {
		o.Direction, m.Flags = xcharcarrier.XIDOfReceiver, peer2.Response
	}
	m.Payload, _ = o.MarshalBinary()
	p.Send(m)
}

// refused waits for an ERROR.
func (p *scripted) refused(what string, xid, code uint32) {
	p.t.Helper()
	if m := p.Next(); m.Type != peer2.Error || m.XID != xid || m.Code != code {
		p.t.Errorf("%s: %v, want error %d", what, m, code)
	}
}

// until waits until the server has what f looks for.
func (p *scripted) until(what string, f func() bool) {
	p.t.Helper()
	for {
		changed := p.x.Changed()
		if f() {
			return
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			p.t.Fatalf("%s: peer %+v, stats %+v", what, p.x.Peer(), p.x.Stats())
		}
	}
}

// answer is the result of Request.
type answer struct {
	results []xchar.Result
	err     error
}

// ask lets the server request changes, and returns the xid of the REQ.
func (p *scripted) ask(v ...xchar.Value) (uint32, <-chan answer) {
	p.t.Helper()
	done := make(chan answer, 1)
	go func() {
		r, err := p.x.Request(p.ctx, v...)
		done <- answer{r, err}
	}()
	m, _ := p.op(wire.OpReq, false)
	return m.XID, done
}

func (p *scripted) answered(what string, done <-chan answer, want ...xchar.Result) {
	p.t.Helper()
	if a := <-done; a.err != nil || !slices.Equal(a.results, want) {
		p.t.Errorf("%s: %v, %v, want %v", what, a.results, a.err, want)
	}
}

func value(id wire.ID, data ...byte) wire.Value { return wire.Value{Which: id, Data: data} }

func sized(n uint32) wire.Value {
	return value(wire.IDReceiveBufferSize, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// T108, R233, R244 to R246, R248: a REQ with unknown ids is answered, and all is rejected.
func TestPeerUnknownRequest(t *testing.T) {
	p := script(t, &xchar.Config{Policy: everything{}})
	p.send(9, wire.OpReq, false, &wire.Req{Want: wire.Spec{value(77, 1), value(78)}})
	m, body := p.op(wire.OpResp, true)
	var r wire.Resp
	if err := r.UnmarshalBinary(body); err != nil || m.XID != 9 || len(r.Rejected) != 1 || r.Rejected[0] != 3 || len(r.Done)+len(r.Pending) != 0 {
		t.Errorf("%v: %+v, %v", m, r, err)
	}
}

// T109, T110, R246, R256: a RESP with an overlap, a gap or bits past the REQ rejects the request as
// a whole, and one that comes again or for no request is ignored.
func TestPeerResponses(t *testing.T) {
	p := script(t, &xchar.Config{})
	bad := uint64(0)
	for _, c := range []struct {
		name string
		resp wire.Resp
		want xchar.Result
	}{
		{"done", wire.Resp{Done: wire.Subset{1}}, xchar.Done},
		{"rejected", wire.Resp{Rejected: wire.Subset{1, 0}}, xchar.Rejected},
		{"an overlap", wire.Resp{Done: wire.Subset{1}, Pending: wire.Subset{1}}, 0},
		{"a gap", wire.Resp{}, 0},
		{"bits past the REQ", wire.Resp{Done: wire.Subset{3}}, 0},
		{"a word past the REQ", wire.Resp{Done: wire.Subset{1, 1}}, 0},
	} {
		xid, done := p.ask(xchar.RemoteInvalidation(true))
		p.send(xid+1000, wire.OpResp, true, &wire.Resp{Done: wire.Subset{1}}) // for no request
		p.send(xid, wire.OpResp, true, &c.resp)
		want := c.want
		if want == 0 {
			want = xchar.Rejected
			bad++
		}
		p.answered(c.name, done, want)
		p.send(xid, wire.OpResp, true, &wire.Resp{Pending: wire.Subset{1}}) // again
		if s := p.x.PeerState(wire.IDRemoteInvalidation); s != xchar.StateSettled {
			t.Errorf("%s: state %v", c.name, s)
		}
		if got := p.x.Stats().BadResponses; got != bad {
			t.Errorf("%s: %d bad responses, want %d", c.name, got, bad)
		}
	}
	p.until("ignored", func() bool { return p.x.Stats().UnknownResponses == 12 })
}

// T111, R249 to R251: a UPD without the clear flag leaves the request pending, and one with the
// flag completes it, whether or not the value changed.
func TestPeerPending(t *testing.T) {
	for _, changed := range []bool{false, true} {
		p := script(t, &xchar.Config{})
		p.send(5, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(4096)}})
		xid, done := p.ask(xchar.ReceiveSize(8192))
		p.send(xid, wire.OpResp, true, &wire.Resp{Pending: wire.Subset{1}})
		p.answered("pending", done, xchar.Pending)
		p.send(6, wire.OpUpd, false, &wire.Upd{Now: sized(6144)})
		p.until("UPD without clear", func() bool { return p.x.Peer().ReceiveSize == 6144 })
		if s := p.x.PeerState(wire.IDReceiveBufferSize); s != xchar.StatePending {
			t.Errorf("state %v after a UPD without clear", s)
		}
		to := map[bool]uint32{true: 8192, false: 6144}[changed]
		p.send(7, wire.OpUpd, false, &wire.Upd{Now: sized(to), PendClear: true})
		got, err := p.x.Settled(p.ctx, wire.IDReceiveBufferSize)
		if err != nil || got.ReceiveSize != to {
			t.Errorf("%+v, %v, want %d", got, err, to)
		}
	}
}

// T112, R255: a UPD of a characteristic that was declared fixed changes nothing. R240: the value of
// another one does. A second INIT changes nothing either.
func TestPeerFixed(t *testing.T) {
	p := script(t, &xchar.Config{})
	p.send(5, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(8192), value(wire.IDRemoteInvalidation, 0, 0, 0, 1)}, NoChange: wire.Subset{1}})
	p.send(6, wire.OpUpd, false, &wire.Upd{Now: sized(4096)})
	p.send(7, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(2048)}})
	p.send(8, wire.OpUpd, false, &wire.Upd{Now: value(wire.IDRemoteInvalidation, 0, 0, 0, 0)})
	p.until("the second UPD", func() bool {
		s := p.x.Stats()
		return s.FixedChanges == 1 && s.RepeatedInits == 1 && !p.x.Peer().RemoteInvalidation
	})
	if n := p.x.Peer().ReceiveSize; n != 8192 {
		t.Errorf("receive size %d", n)
	}
}

// R232, R233, R242, R252, R145, A33: a message that is not valid is refused and changes nothing,
// and the connection stays up. Data of length 0 are an error. An answer is never answered.
func TestPeerFaults(t *testing.T) {
	p := script(t, &xchar.Config{})
	p.send(20, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(8192), {Which: wire.IDRemoteInvalidation}}})
	p.refused("no data", 20, peer2.ErrBadXDR)
	p.send(21, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(8192), value(wire.IDRemoteInvalidation, 0, 1)}})
	p.refused("short data", 21, peer2.ErrBadXDR)
	p.send(22, wire.OpInit, false, &wire.Init{Start: wire.Spec{sized(8192), sized(8192)}})
	p.refused("twice", 22, peer2.ErrBadXDR)
	p.send(23, 5, false, &wire.Init{})
	p.refused("an unknown operation", 23, peer2.ErrHeaderType)
	p.send(24, wire.OpResp, false, &wire.Resp{})
	p.refused("a RESP that is no answer", 24, peer2.ErrBadXDR)
	enc, _ := (&xcharcarrier.Optional{Op: wire.OpUpd, Direction: xcharcarrier.XIDOfReceiver}).MarshalBinary()
	p.Send(peer2.Message{XID: 25, Type: xcharcarrier.HeaderType, Payload: enc})
	p.refused("a direction that is not the flag's", 25, peer2.ErrFlag)
	enc, _ = (&xcharcarrier.Optional{Op: wire.OpUpd}).MarshalBinary()
	p.Send(peer2.Message{XID: 26, Type: xcharcarrier.HeaderType, Payload: append(enc, 0, 0, 0, 0)})
	p.refused("a payload", 26, peer2.ErrBadXDR)
	p.Send(peer2.Message{XID: 27, Type: xcharcarrier.HeaderType, Flags: peer2.Response, Payload: enc})
	p.send(28, wire.OpUpd, true, &wire.Upd{Now: sized(1)})
	if got := p.x.Peer(); got != xchar.Defaults() {
		t.Errorf("the peer has %+v", got)
	}
	p.send(29, wire.OpInit, false, &wire.Init{Start: wire.Spec{value(99, 1, 2, 3), sized(0)}}) // R229
	p.until("a good INIT", func() bool { return p.x.Peer().ReceiveSize == 0 })
	p.Send(peer2.Call(30, rpc(30, 0, 40)))
	if m := p.Next(); !m.IsReply() {
		t.Errorf("%v, want a Reply", m)
	}
}

// T115, R258 at the server: the client answers the INIT, or the REQ, with error 3.
func TestPeerUnsupported(t *testing.T) {
	p := script(t, &xchar.Config{})
	xid, done := p.ask(xchar.ReceiveSize(4096), xchar.RemoteInvalidation(true))
	p.Send(peer2.Err(xid, uint32(rpcrdma2.ErrInvalHtype)))
	p.answered("not supported", done, xchar.Rejected, xchar.Rejected)
	if _, err := p.x.Request(p.ctx, xchar.ReceiveSize(4096)); !errors.Is(err, xchar.ErrUnsupported) {
		t.Errorf("a second request: %v", err)
	}
}

// If the peer does not answer, a request returns when its context is done, and a cut holds while it
// waits (R238).
func TestPeerSilent(t *testing.T) {
	p := script(t, &xchar.Config{})
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := p.x.Request(ctx, xchar.ReceiveSize(2048))
		done <- err
	}()
	p.op(wire.OpReq, false)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b := rpc(40, 0, 40)
	b[10] = 4000 >> 8 // a reply of 3840 bytes
	p.Send(peer2.Call(40, b))
	if m, parts := p.Whole(); parts != 2 || len(m.Payload) != 3840 {
		t.Errorf("%d bytes in %d parts", len(m.Payload), parts)
	}
}
