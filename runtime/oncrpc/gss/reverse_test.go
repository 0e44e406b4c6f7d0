package gss_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A server's calls to its client on the same connection have their own contexts, with other users
// (RFC 8167 §8; R282).
func TestReverseCallsHaveTheirOwnContexts(t *testing.T) {
	for name, connect := range carriers {
		t.Run(name, func(t *testing.T) {
			realm, back := gsstest.NewRealm(2), gsstest.NewRealm(3)
			var caller, calledBack atomic.Pointer[gss.Caller]
			server := gss.NewHandler(rpc.NewHandler(nil, serviceOf(func(r *rpc.Request) error {
				caller.Store(gss.FromContext(r.Context()))
				r.Conn().AllowReverse()
				c, err := gss.NewCarrier(r.Conn(), back.Initiator("server", "callback@client"), &gss.CarrierConfig{Service: gss.Privacy})
				if err != nil {
					return err
				}
				if err := rpc.NewClient(c, plainProgram, nil).Call(r.Context(), 1, nil, nil, nil); err != nil {
					return err
				}
				return c.Close(r.Context())
			})), realm.Acceptor(), nil)
			client := gss.NewHandler(rpc.NewHandler(nil, serviceOf(func(r *rpc.Request) error {
				calledBack.Store(gss.FromContext(r.Context()))
				return nil
			})), back.Acceptor(), &gss.HandlerConfig{Required: gss.Privacy})
			c := secure(t, connect(t, server, client), realm.Initiator("alice", "s"), gss.Integrity)
			if err := rpc.NewClient(c, plainProgram, nil).Call(soon(t), 1, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if a, b := caller.Load(), calledBack.Load(); a == nil || a.Principal != "alice" || b == nil || b.Principal != "server" {
				t.Errorf("callers %+v and %+v", a, b)
			}
			if s := client.Stats(); s.Contexts != 0 || back.Live() != 0 {
				t.Errorf("%+v, %d contexts", s, back.Live())
			}
		})
	}
}

// Over version 2 of RPC-over-RDMA a call is sent again if its reply is larger than the memory for
// it. It gets a new sequence number then, too (RFC 2203 §5.3.3.1; R208).
func TestLargerReply(t *testing.T) {
	for _, service := range services {
		t.Run(service.String(), func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			calls := 0
			h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				calls++
				xid, _, _ := oncrpc.Peek(r.Message)
				b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
				r.Reply(oncrpc.Message{Inline: append(b, make([]byte, 100_000)...)}, nil)
			}), realm.Acceptor(), nil)
			c := secure(t, overRDMAWith(rdmaio.Config{Versions: []int{2}, MaxContinued: 20_000})(t, h, nil), realm.Initiator("alice", "s"), service)
			b, err := oncrpc.NewCall(c.XID(), testProgram, testVersion, 1, oncrpc.None()).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: b}, MaxReply: 5000})
			if err != nil || !bytes.Equal(reply.Message[24:], make([]byte, 100_000)) {
				t.Fatal(err)
			}
			if s := h.Stats(); s.Replays != 0 || calls != 2 {
				t.Errorf("%d calls, %+v", calls, s)
			}
		})
	}
}
