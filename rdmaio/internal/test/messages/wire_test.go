package messages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The messages and the memory of a client, as a raw server sees them that knows only the documents.

// fetchAll reads a segment of the other side.
func fetchAll(t *testing.T, p *peertest.Peer, s peertest.Segment) (b []byte) {
	t.Helper()
	for uint32(len(b)) < s.Length {
		part := p.Read(s.Key, s.Addr+uint64(len(b)), min(int(s.Length)-len(b), peertest.Size))
		if part == nil {
			t.Fatalf("cannot read %d bytes at %#x by key %#x", s.Length, s.Addr, s.Key)
		}
		b = append(b, part...)
	}
	return b
}

// putTogether is an oracle for read lists: it returns the stream with each chunk, and its roundup,
// inserted at its position (RFC 8166 §3.4.5). It works on whole byte strings, from the back to the
// front.
func putTogether(t *testing.T, p *peertest.Peer, o *peertest.Offers) []byte {
	t.Helper()
	stream := bytes.Clone(o.Rest)
	chunks := make(map[uint32][]byte)
	var order []uint32
	for _, s := range o.Reads {
		if _, ok := chunks[s.Position]; !ok {
			order = append(order, s.Position)
		} else if order[len(order)-1] != s.Position {
			t.Errorf("position %d comes again", s.Position)
		}
		chunks[s.Position] = append(chunks[s.Position], fetchAll(t, p, s)...)
	}
	for i, pos := range order {
		c := chunks[pos]
		switch {
		case pos == 0 && i == 0 && o.Proc == 1:
			stream = c // R95: roundup included
			if len(c)&3 != 0 {
				t.Errorf("position-zero chunk of %d bytes", len(c))
			}
			continue
		case pos&3 != 0 || pos == 0 || i > 0 && pos <= order[i-1]:
			t.Fatalf("positions %v", order)
		}
		c = append(c, make([]byte, xdr.Padded(len(c))-len(c))...)
		stream = append(stream[:pos:pos], append(c, stream[pos:]...)...)
	}
	return stream
}

// Calls of all shapes, as the server sees them. Each Send begins with a header of four words and
// whole lists (R13, R15). A chunk is one item, to the byte, with no segment for its roundup (R51,
// R69), whose segments have one position (R61). The counts of arrays, and of arrays in arrays, stay
// in the stream (R49, R50). The rest may travel by a chunk too, eligible or not (R46), with all its
// roundup (R95). A reply chunk goes with any Call (R96). Messages without items are never reduced
// (R45): so credentials, and messages under GSS integrity or privacy, are sent whole (R305, R306,
// T61).
func TestCallsHaveTheirShapeOnTheWire(t *testing.T) { rdmaiotest.Each(t, callsOnTheWire) }

func callsOnTheWire(t *testing.T, w *rdmaiotest.World) {
	p, c := rdmaiotest.DialRaw(w, &rdmaio.Config{SegmentSize: 3000})
	xid := uint32(1)
	for _, s := range []struct {
		name           string
		inline         int
		items          []int
		results        []int
		replyBuf       int
		long, replyDue bool
		chunks         int
	}{
		{name: "inline"},
		{name: "inline, with a large reply to come", replyBuf: 3000, replyDue: true},
		{name: "one item", items: []int{5001}, chunks: 1},
		{name: "an array of three opaques", items: []int{1, 7002, 250}, chunks: 3},
		{name: "an item and a result", items: []int{1001}, results: []int{4001}, chunks: 1},
		{name: "T61: sealed by the upper layer", inline: 5000, replyBuf: 5000, long: true, replyDue: true},
		{name: "T61: sealed, a reply that may come inline", inline: 5000, replyBuf: 500, long: true},
		{name: "items in a long Call", inline: 3000, items: []int{6001, 3}, results: []int{10, 20}, replyBuf: 9000, long: true, chunks: 2, replyDue: true},
	} {
		e := rpctest.CallHeader(xid, 0)
		e.Buf = append(e.Buf, rdmaiotest.Pattern(s.inline, 1)...)
		e.Words(uint32(len(s.items)))
		for i, n := range s.items {
			e.Opaque("item", rdmaiotest.Pattern(n, uint64(i)))
		}
		call := &rdmaio.Call{Message: e.Message()}
		for _, n := range s.results {
			call.Results = append(call.Results, make([]byte, n))
		}
		if s.replyBuf > 0 {
			call.ReplyBuf = make([]byte, s.replyBuf)
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), call)
			done <- err
		}()
		got := p.Message(peertest.Patience)
		if len(got) < 28 || !bytes.Equal(got[:8], append(e.Buf[:4:4], 0, 0, 0, 1)) {
			t.Fatalf("%s: header %v", s.name, got)
		}
		o := peertest.ReadOffers(t, got)
		if diff := cmp.Diff(rpctest.Whole(call.Message), putTogether(t, p, &o)); diff != "" {
			t.Errorf("%s: another message: %s", s.name, diff)
		}
		if (o.Proc == 1) != s.long || s.long && len(o.Rest) != 0 {
			t.Errorf("%s: procedure %d with %d bytes behind its lists", s.name, o.Proc, len(o.Rest))
		}
		sizes, total := make(map[uint32]int), 0
		for _, r := range o.Reads {
			if r.Position != 0 {
				sizes[r.Position] += int(r.Length)
				total += int(r.Length)
			}
			if r.Length > 3000 || r.Length == 0 {
				t.Errorf("%s: segment of %d bytes", s.name, r.Length)
			}
		}
		want := 0
		for _, it := range call.Items {
			if want += len(it.Data); s.chunks > 0 && sizes[uint32(it.Position)] != len(it.Data) {
				t.Errorf("%s: %d bytes at %d, want %d", s.name, sizes[uint32(it.Position)], it.Position, len(it.Data))
			}
		}
		if len(sizes) != s.chunks || s.chunks > 0 && total != want {
			t.Errorf("%s: %d chunks with %d bytes, want %d with %d", s.name, len(sizes), total, s.chunks, want)
		}
		if len(o.Writes) != len(s.results) || o.HasReply != s.replyDue {
			t.Errorf("%s: %d write chunks, reply chunk: %v", s.name, len(o.Writes), o.HasReply)
		}
		for i, chunk := range o.Writes {
			n := 0
			for _, seg := range chunk {
				n += int(seg.Length)
			}
			if n != s.results[i] {
				t.Errorf("%s: place of %d bytes, want %d", s.name, n, s.results[i])
			}
		}
		p.Send(peertest.UnusedReply(got, &o, rpctest.ReplyHeader(xid).Buf))
		if err := <-done; err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		xid++
	}
}

// T67, R53, R81: a result shorter than the count in the stream is refused, and no earlier bytes of
// the memory are returned. R83: a returned length that includes the roundup is accepted.
func TestShortResultIsRefused(t *testing.T) { rdmaiotest.Each(t, resultTooShort) }

func resultTooShort(t *testing.T, w *rdmaiotest.World) {
	p, c := rdmaiotest.DialRaw(w, nil)
	for i, count := range []uint32{100, 104, 96, 97} {
		buf := bytes.Repeat([]byte("stale "), 100)
		call := rpctest.ReadCall(uint32(i), 0, buf)
		var reply *rdmaio.Reply
		done := make(chan error, 1)
		go func() {
			var err error
			reply, err = c.Call(context.Background(), call)
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := peertest.ReadOffers(t, got)
		data := rdmaiotest.Pattern(100, 1)
		p.Write(o.Writes[0][0].Key, o.Writes[0][0].Addr, data)
		e := rpctest.ReplyHeader(uint32(i))
		e.Words(0, 0, count, 1, count)
		b := peertest.UnusedReply(got, &o, e.Buf)
		binary.BigEndian.PutUint32(b[16+4+8+4:], 100)
		p.Send(b)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(reply.Items[0].Data) != 100 || bytes.Contains(reply.Items[0].Data, []byte("stale")) {
			t.Errorf("an item of %d bytes", len(reply.Items[0].Data))
		}
		data2, err := rpctest.ReadReply(reply)
		switch {
		case count == 104 || count == 96:
			if !errors.Is(err, xdr.ErrChunk) {
				t.Errorf("count %d: %d bytes, %v", count, len(data2), err)
			}
		case err != nil || !bytes.Equal(data2, data[:count]): // R83: 97 with its roundup
			t.Errorf("count %d: %d bytes, %v", count, len(data2), err)
		}
	}
}

// R103, R96: a reply that grows, for a larger verifier say, arrives up to the length of ReplyBuf,
// inline or by the reply chunk, also around the threshold.
func TestReplyOfAnySizeArrives(t *testing.T) { rdmaiotest.EachVersion(t, replyOfAnySize) }

func replyOfAnySize(t *testing.T, w *rdmaiotest.World) {
	size := 0
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
		e.Buf = append(e.Buf, rdmaiotest.Pattern(size-24, 1)...)
		r.Reply(e.Message(), nil)
	}), nil)
	c := w.Dial(nil)
	xid := uint32(0)
	for room := 1024 - 28 - 40; room <= 1024+400; room += 20 {
		// 400: the largest verifier (RFC 5531 §8.2).
		for _, size = range []int{24, 24 + 400, room - 4, room} {
			xid++
			call := rpctest.NullCall(xid, 40)
			call.ReplyBuf = make([]byte, room)
			reply, err := c.Call(context.Background(), call)
			if err != nil || len(reply.Message) != size || !bytes.Equal(reply.Message[24:], rdmaiotest.Pattern(size-24, 1)) {
				t.Fatalf("%d bytes with room for %d: %v", size, room, err)
			}
		}
	}
}
