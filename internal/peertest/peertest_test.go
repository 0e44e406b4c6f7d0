package peertest_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// pair connects two peers.
func pair(t *testing.T, addr string, open func(name string) (verbs.Device, error)) (a, b *peertest.Peer) {
	t.Helper()
	dev := func(name string) verbs.Device {
		d, err := open(name)
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
	a, b = peertest.New(t, one), peertest.New(t, other)
	ln, err := other.Listen(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	accepted := make(chan bool)
	go func() { accepted <- b.Accept(ln, []byte("yes")) }()
	if got := a.Dial(one, ln.Addr(), []byte("may I")); string(got) != "yes" {
		t.Errorf("private data %q", got)
	}
	if !<-accepted {
		t.FailNow()
	}
	return a, b
}

// A message arrives with the bytes that the peer sent. Changes of its memory are recorded. A
// forbidden access ends the connection.
func TestPeerSeesMessagesAndChanges(t *testing.T) {
	network := mem.New(nil)
	for name, c := range map[string]struct {
		addr string
		open func(name string) (verbs.Device, error)
	}{
		"mem":     {"here", func(name string) (verbs.Device, error) { return network.Open(name, nil) }},
		"rdmatcp": {"127.0.0.1:0", func(name string) (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{Name: name}) }},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, c.addr, c.open)
			a.SendHex("00 0102 fe")
			if got := b.Message(time.Second); !bytes.Equal(got, []byte{0, 1, 2, 0xfe}) {
				t.Errorf("got %x", got)
			}
			o := b.Offer(100, verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteRead|verbs.AccessRemoteInvalidate)
			if list := o.Changes(); len(list) != 0 {
				t.Errorf("changed without an access: %v", list)
			}
			was := bytes.Clone(o.Data)
			if got := a.Read(o.RKey(), o.RemoteAddr()+10, 20); !bytes.Equal(got, was[10:30]) {
				t.Errorf("read %x", got)
			}
			other := bytes.Clone(was[50:53])
			for i := range other {
				other[i] ^= 0xff
			}
			if !a.Write(o.RKey(), o.RemoteAddr()+50, other) {
				t.Error("write failed")
			}
			a.SendInvalidate([]byte("over"), o.RKey())
			if got := b.Message(time.Second); string(got) != "over" {
				t.Errorf("got %q", got)
			}
			list := o.Changes()
			if diff := cmp.Diff([]peertest.Range{{At: 50, Data: other}}, list); diff != "" {
				t.Error(diff)
			}
			if !peertest.Within(list, 50, 3) || peertest.Within(list, 51, 10) || peertest.Within(list, 0, 52) {
				t.Error("Within is wrong")
			}
			if b.Message(time.Millisecond) != nil {
				t.Error("a message that was not sent")
			}
			a.Write(o.RKey(), o.RemoteAddr(), []byte("late"))
			<-b.Lost
			if list := o.Changes(); len(list) != 0 {
				t.Errorf("a write with an invalid key changed %v", list)
			}
		})
	}
}
