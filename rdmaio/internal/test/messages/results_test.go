package messages

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Results that come inline, because the caller knows the size of the whole reply (Call.WholeReply).

// readHead is the length in bytes of a READ's reply without data and transport header.
const readHead = 24 + 16 + 4

// room is the longest RPC message without chunks that fits a Send of size bytes, by version.
func room(size, version int) int { return size - [...]int{1: 28, 2: 36}[version] }

// sent returns the lengths of the messages sent since a mark.
func sent(w *rdmaiotest.World, mark int) (list []int) {
	for _, e := range w.Since(mark) {
		if rdmaiotest.IsSend(&e) {
			list = append(list, e.Length)
		}
	}
	slices.Sort(list)
	return list
}

// Results come inline if the whole reply fits the message that the device prefers, and the inline
// size by which both ends pass 4096 bytes (RFC 8797 §4.2; R37, R76). With smaller sizes the Call
// and its reply have the same length as if the size of the reply were not known.
func TestResultsComeInline(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		preferred := w.Client.Attributes().InlineSize
		for _, tt := range []struct {
			name       string
			send, recv int // of the server, of the client
			fits       int // inline size that a whole reply has to fit; 0: none does
		}{
			{name: "both have the preferred size", send: preferred, recv: preferred, fits: preferred},
			{name: "both have more", send: 9 << 10, recv: 9 << 10, fits: preferred},
			{name: "the server has more", send: 64 << 10, recv: preferred, fits: preferred},
			{name: "the client has more", send: preferred, recv: 64 << 10, fits: preferred},
			{name: "the server has 4096", send: 4096, recv: preferred},
			{name: "the server has less than a unit more", send: 4096 + 1023, recv: preferred},
			{name: "the client has 4096", send: preferred, recv: 4096},
			{name: "both have 4096", send: 4096, recv: 4096},
		} {
			f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(8000, 1)}
			s := w.Serve(f, &rdmaio.Config{InlineSend: tt.send, InlineRecv: tt.send})
			c := w.Dial(&rdmaio.Config{InlineSend: tt.recv, InlineRecv: tt.recv})
			version := c.Terms().Version
			// Over version 2 the server's properties have come.
			edge := room(max(tt.fits, 4096), version)
			xid := uint32(0)
			read := func(whole, data int) (inline bool, lengths []int) {
				xid++
				buf := bytes.Repeat([]byte{0xa5}, data)
				call := rpctest.ReadCall(xid, 3, buf)
				call.WholeReply, call.MaxReply, call.ReplyBuf = whole, -1, make([]byte, edge)
				before, mark := c.Stats().Registrations, w.Mark()
				reply, err := c.Call(context.Background(), call)
				if err != nil {
					t.Fatalf("%s: a reply of %d bytes at most: %v", tt.name, whole, err)
				}
				got, err := rpctest.ReadReply(reply)
				if err != nil || !bytes.Equal(got, f.Data[3:3+data]) {
					t.Errorf("%s: %d bytes, other than the server's: %v", tt.name, len(got), err)
				}
				inline = reply.Items[0].Data == nil
				if inline != (c.Stats().Registrations == before) {
					t.Errorf("%s: inline: %v, with %d registrations", tt.name, inline, c.Stats().Registrations-before)
				}
				if untouched := bytes.Equal(buf, bytes.Repeat([]byte{0xa5}, data)); inline != untouched {
					t.Errorf("%s: inline: %v, the buffer for the result is untouched: %v", tt.name, inline, untouched)
				}
				return inline, sent(w, mark)
			}
			for _, whole := range []int{0, -1, 1000, edge - 1, edge, edge + 1, 100_000} {
				data := min(edge, max(whole, 0))&^3 - readHead // as long a reply as the Call allows
				if data <= 0 {
					data = 100
				}
				inline, lengths := read(whole, data)
				if want := tt.fits > 0 && whole > 0 && whole <= edge; inline != want {
					t.Errorf("%s: a reply of %d bytes at most, of %d that fit: inline: %v", tt.name, whole, edge, inline)
				}
				if _, unknown := read(0, data); !inline && !slices.Equal(lengths, unknown) {
					t.Errorf("%s: messages of %v bytes, without WholeReply %v", tt.name, lengths, unknown)
				}
			}
			if err := errors.Join(c.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// masked is a Call with one write chunk of one segment, without its XID, key and address.
func masked(t *testing.T, b []byte) []byte {
	t.Helper()
	if o := peertest.ReadOffers(t, b); len(o.Reads) != 0 || len(o.Writes) != 1 || len(o.Writes[0]) != 1 || o.HasReply {
		t.Fatalf("a Call with %+v", o)
	}
	b = bytes.Clone(b)
	for _, at := range []int{0, 28, 36, 40, 52} { // rdma_xid, the key, the address, the RPC's XID
		copy(b[at:], make([]byte, 4))
	}
	return b
}

// rawReads connects to a raw server with this private data. It returns a function that begins a
// READ of n bytes whose reply has at most whole, and returns the Call as the server gets it.
func rawReads(t *testing.T, w *rdmaiotest.World, private string) (p *peertest.Peer, read func(n, whole int) ([]byte, *rdmaio.Call, <-chan error)) {
	t.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p = peertest.New(t, w.Server)
	accepted := make(chan bool, 1)
	go func() { accepted <- p.Accept(ln, peertest.Bytes(t, private)) }()
	w.Addr = ln.Addr()
	size := w.Client.Attributes().InlineSize
	c := w.Dial(&rdmaio.Config{InlineSend: size, InlineRecv: size})
	if !<-accepted {
		t.FailNow()
	}
	xid := uint32(0)
	return p, func(n, whole int) ([]byte, *rdmaio.Call, <-chan error) {
		xid++
		call := rpctest.ReadCall(xid, 0, make([]byte, n))
		call.WholeReply, call.MaxReply = whole, -1
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), call)
			done <- err
		}()
		b := p.Message(peertest.Patience)
		if b == nil {
			t.Fatalf("no Call; it has failed: %v", <-done)
		}
		return b, call, done
	}
}

// A server without private data, or with 4096 bytes as Linux has, gets byte for byte the Calls of a
// client that does not know the size of a reply, except for keys and addresses.
func TestSmallServersSeeNoDifference(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		for name, private := range map[string]string{
			"no private data":                     "",
			"Linux":                               "f6ab0e18 01 00 03 03",
			"1024 bytes":                          "f6ab0e18 01 00 00 00",
			"receives more, but does not send it": "f6ab0e18 01 00 03 0f",
			"another format":                      "f6ab0e18 02 00 0f 0f",
		} {
			p, read := rawReads(t, w, private)
			for _, n := range []int{1, 500, 4000} {
				var seen [][]byte
				for _, whole := range []int{0, readHead + n + 3, 1 << 20} {
					b, _, done := read(n, whole)
					o := peertest.ReadOffers(t, b)
					p.Send(peertest.UnusedReply(b, &o, failedRead(o.Rest)))
					if err := <-done; err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					seen = append(seen, masked(t, b))
				}
				if !bytes.Equal(seen[0], seen[1]) || !bytes.Equal(seen[0], seen[2]) {
					t.Errorf("%s: Calls differ: %x", name, seen)
				}
			}
		}
	})
}

// failedRead is the RPC message of a reply to a Call, without data.
func failedRead(call []byte) []byte {
	e := rpctest.ReplyHeader(0)
	e.Words(5, 0, 0, 0)
	return append(bytes.Clone(call[:4]), e.Buf[4:]...)
}

// fullRead is the RPC message of a reply to a READ, with data of n bytes.
func fullRead(call []byte, n int) []byte {
	e := rpctest.ReplyHeader(0)
	e.Words(0, 0, uint32(n), 1)
	e.Opaque(rpctest.SiteReadData, rdmaiotest.Pattern(n, 9))
	return append(bytes.Clone(call[:4]), e.Buf[4:]...)
}

// A server may send a result inline although it has a chunk (RFC 8166 §4.3.2.3; R86). One that
// returns a chunk which it was not offered breaks the rules, and only its Call fails (R78, R79).
func TestServersThatChooseTheOtherWay(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		p, read := rawReads(t, w, "f6ab0e18 01 00 0f 0f")
		const n = 1000
		b, call, done := read(n, 0)
		o := peertest.ReadOffers(t, b)
		p.Send(peertest.UnusedReply(b, &o, fullRead(o.Rest, n)))
		if err := <-done; err != nil || len(o.Writes) != 1 {
			t.Fatalf("%d write chunks, %v", len(o.Writes), err)
		}
		if got, err := rpctest.ReadReply(&call.Reply); err != nil || !bytes.Equal(got, rdmaiotest.Pattern(n, 9)) || call.Reply.Items[0].Data != nil {
			t.Errorf("%d bytes came, %v", len(got), err)
		}

		b, call, done = read(n, readHead+n)
		o = peertest.ReadOffers(t, b)
		if len(o.Writes) != 0 || o.HasReply {
			t.Fatalf("the Call offers %+v", o)
		}
		o.Writes = [][]peertest.Segment{{{Key: 1, Addr: 0, Length: n}}}
		p.Send(peertest.UnusedReply(b, &o, failedRead(o.Rest)))
		var fault *rdmaio.Fault
		if err := <-done; !errors.As(err, &fault) {
			t.Errorf("a chunk that was not offered: %v", err)
		}
		if !bytes.Equal(call.Results[0], make([]byte, n)) {
			t.Error("the buffer for the result was written")
		}

		b, call, done = read(n, readHead+n)
		o = peertest.ReadOffers(t, b)
		longer := n + 2000 // more than it may have, and it fits the Receive
		p.Send(peertest.UnusedReply(b, &o, fullRead(o.Rest, longer)))
		if err := <-done; err != nil {
			t.Errorf("the connection did not survive: %v", err)
		}
		if got, err := rpctest.ReadReply(&call.Reply); err != nil || len(got) != longer {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
	})
}

// Over version 2, a server that sends less than it said refuses the reply. The Call comes again
// with chunks, under its XID (R204, R207, R208).
func TestRefusedInlineResultsGoByChunk(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		size := w.Client.Attributes().InlineSize
		p, c := v2test.Client(t, w, peer2.Config{}, &rdmaio.Config{Versions: []int{2}, InlineSend: size, InlineRecv: size, Continue: -1},
			peer2.Prop(peer2.SendSize, uint32(size)))
		const n = 4096
		call := rpctest.ReadCall(7, 0, make([]byte, n))
		call.WholeReply, call.MaxReply = readHead+n, -1
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), call)
			done <- err
		}()
		first := p.Next()
		if len(first.Writes) != 0 || first.Reply != nil {
			t.Fatalf("the Call offers chunks: %v", first)
		}
		p.Send(peer2.Err(7, peer2.ErrReplyResource, readHead+n))
		second := p.Next()
		if len(second.Writes) != 1 || second.XID != 7 {
			t.Fatalf("the Call comes again as %v", second)
		}
		p.Send(second.Unused(failedRead(second.Payload)))
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
