package carriers_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A device with TLS, and TCP without: an RDMA address that does not resolve does not lead to
// plaintext.
func TestUnresolvedNameDoesNotEndTLS(t *testing.T) {
	_, at := listens(t, &carriers.Choice{Open: noCard, Prefer: carriers.TCPOnly})
	secure := tlstest.NewAuthority(t).Config()
	at["rdma"] = "no-such-host.invalid:20200"
	if _, err := dials(t, at, carriers.Choice{Open: software(t, secure)}); err == nil {
		t.Error("it is connected, in plaintext")
	}
}

// A name has two servers, and the first one closes while it has a Call that is not idempotent: the
// other one does not get it.
func TestDialSendsNoCallTwice(t *testing.T) {
	var ran atomic.Int32
	var first atomic.Pointer[carriers.Servers]
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if _, _, proc, _ := oncrpc.Procedure(r.Message); proc == 0 {
			xid, _, _ := oncrpc.Peek(r.Message)
			b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: b}, nil)
			return
		}
		n := ran.Add(1)
		if n == 1 {
			go first.Load().Close()
			<-r.Context().Done()
			r.Drop(nil)
			return
		}
		xid, _, _ := oncrpc.Peek(r.Message)
		b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
	})
	a, err := carriers.Start(t.Context(), h, carriers.TCP("127.0.0.1:0", nil))
	must(t, err)
	_, port, _ := net.SplitHostPort(a.List()[0].Addr)
	b, err := carriers.Start(t.Context(), h, carriers.TCP("127.0.0.2:"+port, nil))
	if err != nil {
		t.Skip(err)
	}
	defer a.Close()
	defer b.Close()
	fakeDNS(t)
	c, err := carriers.Dial(t.Context(), "two.example:"+port, &carriers.Choice{Open: noCard})
	must(t, err)
	defer c.Close()
	msg, _ := oncrpc.NewCall(c.XID(), 400000, 1, 1, oncrpc.None()).AppendBinary(nil)
	first.Store(a)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: msg}})
	if ran.Load() != 1 {
		t.Errorf("executed %d times: %v", ran.Load(), err)
	}
}

// fakeDNS answers with 127.0.0.1 and 127.0.0.2.
func fakeDNS(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	go func() {
		b := make([]byte, 1500)
		for {
			_, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			end := 12
			for b[end] != 0 {
				end += int(b[end]) + 1
			}
			qtype := b[end+2]
			end += 5
			out := append([]byte{b[0], b[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end]...)
			if qtype == 1 {
				out[7] = 2
				for i := byte(1); i <= 2; i++ {
					out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, i)
				}
			}
			_, _ = pc.WriteTo(out, from)
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = old; pc.Close() })
}
