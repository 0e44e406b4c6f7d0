package peer2_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// pair connects two peers over each provider.
func pair(t *testing.T, test func(t *testing.T, client, server *peer2.Peer)) {
	network := mem.New(nil)
	for name, c := range map[string]struct {
		addr string
		open func(name string) (verbs.Device, error)
	}{
		"mem":     {"here", func(name string) (verbs.Device, error) { return network.Open(name, nil) }},
		"rdmatcp": {"127.0.0.1:0", func(name string) (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{Name: name}) }},
	} {
		t.Run(name, func(t *testing.T) {
			dev := func(name string) verbs.Device {
				d, err := c.open(name)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := d.Close(); err != nil {
						t.Error(err)
					}
				})
				return d
			}
			one, other := dev("one"), dev("other")
			client, server := peer2.New(t, one, peer2.Config{Client: true, Ceiling: 2}), peer2.New(t, other, peer2.Config{Ceiling: 3, Size: 9000})
			ln, err := other.Listen(context.Background(), c.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ln.Close() })
			accepted := make(chan bool)
			go func() { accepted <- server.Accept(ln, nil) }()
			client.Dial(one, ln.Addr(), nil)
			if !<-accepted {
				t.FailNow()
			}
			test(t, client, server)
		})
	}
}

// Two peers exchange messages of all kinds. Their books agree, and Send waits for a credit.
func TestTwoPeersExchangeAllKinds(t *testing.T) {
	pair(t, func(t *testing.T, client, server *peer2.Peer) {
		client.Send(peer2.Props(1, peer2.Prop(peer2.ReceiveSize, 4096)))
		if m := server.Next(); m.Type != peer2.ConnProp || m.Credit != peer2.Word(2, 2) {
			t.Errorf("got %v", m)
		}
		server.SendWith(peer2.Props(2), 3, 1)
		client.Next()
		rpc := bytes.Repeat([]byte("12345678"), 1000)
		done := make(chan peer2.Message, 1)
		client.Send(peer2.Call(7, rpc[:10]))
		if m := server.Next(); !m.IsCall() || m.XID != 7 {
			t.Errorf("got %v", m)
		}
		server.Send(peer2.Grant()) // without it Send would wait
		go func() {
			m, parts := server.Whole()
			if parts != 3 {
				t.Errorf("%d parts", parts)
			}
			done <- m
		}()
		for _, part := range peer2.Call(8, rpc).Split(4000, 4001) {
			client.Send(part)
		}
		if m := <-done; !bytes.Equal(m.Payload, rpc) {
			t.Errorf("got %v", m)
		}
		client.Quiet()
		if client.Grants != 1 || client.Book.Out != server.Book.In || client.Book.In != server.Book.Out {
			t.Errorf("%d grants, %+v, %+v", client.Grants, client.Book, server.Book)
		}
		server.Send(peer2.Err(8, 99))
		if b := client.Raw(); len(b) != 24 {
			t.Errorf("got %x", b)
		}
		if err := server.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		client.Ends()
	})
}
