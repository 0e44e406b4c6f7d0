package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A procedure that does not set its results answers with their zero value, not with the results of
// an earlier call.
func TestResultsBeginAtZero(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	calls := 0
	rpc.Handle(svc, store.ProcWrite, func(_ *rpc.Request, _ *store.WriteArgs, res *store.WriteRes) error {
		if calls++; calls%2 == 1 {
			res.Count = 4711
		}
		return nil
	})
	w.serve(rpc.NewHandler(nil, svc), nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	for i := range 20 {
		var res store.WriteRes
		if err := c.Call(context.Background(), store.ProcWrite, new(store.WriteArgs), &res, nil); err != nil {
			t.Fatal(err)
		}
		if want := uint32(4711 * (1 - i%2)); res.Count != want {
			t.Fatalf("call %d: %d, want %d", i, res.Count, want)
		}
	}
}

// RFC 5531 §12.1: procedure 0 may always be called, whatever Allow returns and with any credential.
// All others need a credential that Allow accepts. The default refuses AUTH_SHORT, which no server
// here issues.
func TestWhoMayCall(t *testing.T) {
	short := oncrpc.OpaqueAuth{Flavor: oncrpc.AuthShort, Body: []byte("abcd")}
	for name, allow := range map[string]func(*rpc.Request) error{
		"default": nil,
		"none":    func(*rpc.Request) error { return oncrpc.Refused(oncrpc.AuthStatTooWeak) },
	} {
		w := newWorld(t, "mem")
		svc := newService()
		svc.Allow = allow
		w.serve(rpc.NewHandler(nil, svc), nil)
		c := rpc.NewClient(w.dial(nil), storeV1, &rpc.ClientConfig{Cred: short})
		if err := c.Call(context.Background(), store.ProcNull, nil, nil, nil); err != nil {
			t.Errorf("%s: procedure 0: %v", name, err)
		}
		var res store.WriteRes
		var refused *oncrpc.ReplyError
		if err := c.Call(context.Background(), store.ProcWrite, new(store.WriteArgs), &res, nil); !errors.As(err, &refused) || refused.Auth != oncrpc.AuthStatTooWeak {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// padded is a Carrier whose replies were sent as RDMA_MSGP.
type padded struct{}

func (padded) XID() uint32 { return 1 }

func (padded) Call(context.Context, *oncrpc.Call) (*oncrpc.Reply, error) {
	m, _ := oncrpc.NewReply(1, oncrpc.Success).AppendBinary(nil)
	return &oncrpc.Reply{Message: append(m, 0, 0, 0, 0, 0, 0, 0, 9), Padding: oncrpc.Padding{Align: 4, Threshold: 256}}, nil
}

// Generated decoders do not support the padding of RDMA_MSGP: a padded reply is an error, and a
// padded call is answered with GARBAGE_ARGS.
func TestPaddedMessagesAreRefused(t *testing.T) {
	var res store.WriteRes
	var e *rpc.Error
	if err := rpc.NewClient(padded{}, storeV1, nil).Call(context.Background(), store.ProcWrite, new(store.WriteArgs), &res, nil); !errors.Is(err, rpc.ErrPadded) || !errors.As(err, &e) || !e.MayHaveRun {
		t.Errorf("padded results: %d, %v", res.Count, err)
	}
	h := rpc.NewHandler(nil, newService())
	call, _ := oncrpc.NewCall(7, store.Program, store.Version1, store.ProcNull, oncrpc.None()).AppendBinary(nil)
	for align, want := range map[uint32]oncrpc.AcceptStat{0: oncrpc.Success, 4: oncrpc.GarbageArgs} {
		var got answer
		h.ServeRPC(&oncrpc.Request{Message: call, Padding: oncrpc.Padding{Align: align, Threshold: 256}, Responder: &got})
		var m oncrpc.Header
		if err := m.UnmarshalBinary(got.reply.Inline); err != nil || m.Body.Reply.Accepted.Data.Stat != want {
			t.Errorf("alignment %d: answer %x, want %v", align, got.reply.Inline, want)
		}
	}
}

// answer is a Responder that records the reply.
type answer struct {
	oncrpc.Responder
	reply oncrpc.Message
}

func (a *answer) Reply(m oncrpc.Message, done func(error)) {
	a.reply = m.Clone()
	done(nil)
}
