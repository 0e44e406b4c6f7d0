package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// Duties of behaviour at an endpoint, most of them tested with a raw peer that only knows the
// documents.

// R34, R126: the credit field is filled in every message. In an answer it is a grant, at most as
// many as requested and as the server has; in a Call it is the number that the client requests.
func TestCreditField(t *testing.T) { rdmaiotest.Each(t, creditField) }

func creditField(t *testing.T, w *rdmaiotest.World) {
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		e := replyHeader(binary.BigEndian.Uint32(r.Message))
		if replyRoom(r) > 2000 {
			e.opaque("", rdmaiotest.Pattern(2000, 1))
		}
		r.Reply(e.message(), nil)
	}), &rdmaio.Config{Credits: 4})
	p := w.DialRaw(t)
	o := p.Offer(8192, rdmaiotest.AnyAccess)
	at := fmt.Sprintf("%08x %08x %016x", o.RKey(), 8192, o.RemoteAddr())
	for _, c := range []struct {
		name, rest string // the message behind the credit field
		proc       uint32 // procedure of the answer
	}{
		{"MSG", " 00000000 00000000 00000000 00000000" + goodCall, 0},
		{"NOMSG", " 00000000 00000000 00000000 00000001 00000001 " + at + goodCall, 1},
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
func TestCreditRequest(t *testing.T) {
	for _, credits := range []int{1, 7} {
		p, c := dialRaw(rdmaiotest.New(t), &rdmaio.Config{Credits: credits})
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), nullCall(9, 40))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		if len(got) < 68 || binary.BigEndian.Uint32(got[8:]) != uint32(credits) {
			t.Errorf("of %d credits: Call %v", credits, got)
		}
		o := readOffers(t, got)
		p.Send(unusedReply(got, &o, replyHeader(9).buf))
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// R136, R298: a new connection begins with one credit, whatever the server granted on the one
// before.
func TestCreditsBeginAgain(t *testing.T) {
	w := rdmaiotest.New(t)
	got := make(chan *rdmaio.Request, 8)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { got <- r }), &rdmaio.Config{Credits: 8})
	c := newClient(w, nil)
	errs := make(chan error, 8)
	call := func() {
		go func() {
			_, err := c.Call(context.Background(), nullCall(c.XID(), 40))
			errs <- err
		}()
	}
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: replyHeader(binary.BigEndian.Uint32(r.Message)).buf}, nil)
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

// R39: a reverse Call may be as long as a forward Reply, and a reverse Reply as a forward Call, if
// the two directions have different thresholds; and no longer.
func TestReverseThresholds(t *testing.T) { rdmaiotest.Each(t, reverseThresholds) }

func reverseThresholds(t *testing.T, w *rdmaiotest.World) {
	const toServer, toClient = 2048, 4096
	f := &file{t: t, data: rdmaiotest.Pattern(5000, 1)}
	b := newBoth(w, &file{t: t}, f,
		rdmaio.Config{InlineSend: toClient, InlineRecv: toServer}, rdmaio.Config{InlineSend: toServer, InlineRecv: toClient})
	mark := len(w.History.Events())
	var se *rdmaio.SizeError
	if _, err := b.server.Call(context.Background(), nullCall(1, toClient-28)); err != nil {
		t.Error(err)
	}
	if _, err := b.server.Call(context.Background(), nullCall(2, toClient-28+4)); !errors.As(err, &se) || se.Limit != toClient {
		t.Errorf("a Call over the threshold: %v", err)
	}
	const replyHead = 28 + 24 + 16 + 4 // headers of transport, RPC and READ, and the count
	reply, err := b.server.Call(context.Background(), readCall(3, 0, make([]byte, toServer-replyHead)))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := readReply(reply); err != nil || !bytes.Equal(data, f.data[:toServer-replyHead]) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	var pe *rdmaio.PeerError
	if _, err := b.server.Call(context.Background(), readCall(4, 0, make([]byte, toServer-replyHead+4))); !errors.As(err, &pe) {
		t.Errorf("a Reply over the threshold: %v", err)
	}
	longest := map[string]int{}
	for _, e := range w.Since(mark) {
		if e.Kind == trace.PostSend {
			longest[e.Device] = max(longest[e.Device], e.Length)
		}
	}
	if longest["server"] != toClient || longest["client"] != toServer {
		t.Errorf("the longest messages have %v bytes", longest)
	}
}

// R52: the length of a chunk is the sum of its segments, which may exceed 32 bits.
func TestChunkOver32Bits(t *testing.T) {
	const most = uint64(math.MaxUint32)
	w := rdmaiotest.New(t)
	places, room := make(chan []int, 1), make(chan int, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		places <- writeChunks(r)
		room <- replyRoom(r)
		echo{}.ServeRPC(r)
	}), nil)
	p := w.DialRaw(t)
	seg := fmt.Sprintf("%08x %08x %016x ", 1, most, 0)
	p.Send(peertest.Bytes(t, head+"00000000 00000000 00000001 00000002 "+seg+seg+"00000000 00000001 00000003 "+seg+seg+seg+goodCall))
	if got := p.Message(peertest.Patience); len(got) < 16 || binary.BigEndian.Uint32(got[12:]) != 0 {
		t.Fatalf("answer %v", got)
	}
	if got := <-places; len(got) != 1 || uint64(got[0]) != min(2*most, math.MaxInt) {
		t.Errorf("places of %d bytes", got)
	}
	if got := <-room; uint64(got) != min(3*most, math.MaxInt) {
		t.Errorf("room for a reply of %d bytes", got)
	}
}

// R92: a long Call may have many segments, all at position zero and first in the list. Behind
// another chunk they are refused.
func TestPositionZero(t *testing.T) { rdmaiotest.Each(t, positionZero) }

func positionZero(t *testing.T, w *rdmaiotest.World) {
	w.Serve(echo{}, nil)
	p := w.DialRaw(t)
	o := p.Offer(40, rdmaiotest.AnyAccess)
	o.Fill(peertest.Bytes(t, goodCall))
	part := func(pos uint32, at, n int) string {
		return rd(pos, fmt.Sprintf("%08x", o.RKey()), uint32(n), fmt.Sprintf("%016x", o.RemoteAddr()+uint64(at)))
	}
	inPieces := ""
	for at := range 10 {
		inPieces += part(0, 4*at, 4)
	}
	for _, c := range []struct {
		name, reads string
		proc        uint32 // procedure of the answer
	}{
		{"ten segments", inPieces, 0},
		{"behind another chunk", part(40, 0, 4) + part(0, 0, 40), 4},
		{"on both sides of another chunk", part(0, 0, 36) + part(40, 0, 4) + part(0, 36, 4), 4},
	} {
		p.Send(peertest.Bytes(t, nomsg(c.reads)))
		if got := p.Message(peertest.Patience); len(got) < 16 || binary.BigEndian.Uint32(got[12:]) != c.proc {
			t.Errorf("%s: answer %v", c.name, got)
		}
	}
}
