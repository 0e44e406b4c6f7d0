package credits

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// R34, R126: the credit field is filled in every message. In an answer it is a grant, at most as
// many as requested and as the server has; in a Call it is the number that the client requests.
func TestEachMessageFillsTheCreditField(t *testing.T) { rdmaiotest.Each(t, creditField) }

func creditField(t *testing.T, w *rdmaiotest.World) {
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
		if rpctest.ReplyRoom(r) > 2000 {
			e.Opaque("", rdmaiotest.Pattern(2000, 1))
		}
		r.Reply(e.Message(), nil)
	}), &rdmaio.Config{Credits: 4})
	p := w.DialRaw(t)
	o := p.Offer(8192, rdmaiotest.AnyAccess)
	at := fmt.Sprintf("%08x %08x %016x", o.RKey(), 8192, o.RemoteAddr())
	for _, c := range []struct {
		name, rest string // the message after the credit field
		proc       uint32 // procedure of the answer
	}{
		{"MSG", " 00000000 00000000 00000000 00000000" + peertest.GoodCall, 0},
		{"NOMSG", " 00000000 00000000 00000000 00000001 00000001 " + at + peertest.GoodCall, 1},
		{"ERR_CHUNK", " 00000005 00000000 00000000 00000000", 4},
	} {
		for _, want := range []uint32{1, 2, 4, 5, 0xffff, 0xffffffff, 0} {
			p.Send(peertest.Bytes(t, fmt.Sprintf("cafe0001 00000001 %08x", want)+c.rest))
			got := p.Message(peertest.Patience)
			if len(got) < 16 || binary.BigEndian.Uint32(got[12:]) != c.proc {
				t.Fatalf("%s: answer %v", c.name, got)
			}
			// R129: the grant is never 0.
			if grant := binary.BigEndian.Uint32(got[8:]); grant != max(1, min(want, 4)) {
				t.Errorf("%s that requests %d credits: %d granted", c.name, want, grant)
			}
		}
	}
}

// R126: a client's Calls request as many credits as it can use.
func TestCallsRequestTheCreditsTheyCanUse(t *testing.T) {
	for _, credits := range []int{1, 7} {
		p, c := rdmaiotest.DialRaw(rdmaiotest.New(t), &rdmaio.Config{Credits: credits})
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(9, 40))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		if len(got) < 68 || binary.BigEndian.Uint32(got[8:]) != uint32(credits) {
			t.Errorf("of %d credits: Call %v", credits, got)
		}
		o := peertest.ReadOffers(t, got)
		p.Send(peertest.UnusedReply(got, &o, rpctest.ReplyHeader(9).Buf))
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// R136, R298: a new connection begins with one credit, whatever the server granted on the one
// before.
func TestNewConnectionBeginsWithOneCredit(t *testing.T) {
	w := rdmaiotest.New(t)
	got := make(chan *rdmaio.Request, 8)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { got <- r }), &rdmaio.Config{Credits: 8})
	c := rdmaiotest.NewClient(w, nil)
	errs := make(chan error, 8)
	call := func() {
		go func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			errs <- err
		}()
	}
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var old *rdmaio.Conn
	for range 2 {
		call()
		first := <-got
		if first.Conn().(*rdmaio.Conn) == old {
			t.Fatal("the connection that was closed goes on")
		}
		old = first.Conn().(*rdmaio.Conn)
		call()
		call()
		select {
		case <-got:
			t.Error("a second Call before the first Reply")
		case <-time.After(5 * time.Millisecond):
		}
		answer(first)
		a, b := <-got, <-got // the grant allows both
		answer(a)
		answer(b)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// T7: an ERROR's grant counts as a Reply's does: more Calls may go out, or fewer.
func TestErrorGrantsCredits(t *testing.T) { rdmaiotest.Each(t, grantOfError) }

func grantOfError(t *testing.T, w *rdmaiotest.World) {
	p, c := rdmaiotest.DialRaw(w, &rdmaio.Config{Credits: 8, NoCancel: true})
	errs := make(chan error, 20)
	for xid := range uint32(12) {
		go func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(xid, 40))
			errs <- err
		}()
	}
	var out [][]byte
	take := func(n int) {
		t.Helper()
		for range n {
			m := p.Message(peertest.Patience)
			if m == nil {
				t.Fatal("a Call did not come")
			}
			out = append(out, m)
		}
		if m := p.Message(5 * time.Millisecond); m != nil {
			t.Fatalf("a Call too many, %d out", len(out)+1)
		}
	}
	refuse := func(grant uint32) {
		p.Send(append(append(bytes.Clone(out[0][:8]), byte(grant>>24), byte(grant>>16), byte(grant>>8), byte(grant)), 0, 0, 0, 4, 0, 0, 0, 2))
		out = out[1:]
		var pe *rdmaio.PeerError
		if err := <-errs; !errors.As(err, &pe) {
			t.Error(err)
		}
	}
	take(1)
	refuse(3)
	take(3)
	refuse(1)
	take(0)
	refuse(0) // is 1
	take(0)
	refuse(0xffffffff)
	take(8)
	for len(out) > 0 {
		refuse(0)
	}
}
