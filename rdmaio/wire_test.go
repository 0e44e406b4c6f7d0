package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The messages and the memory of a client, as a raw server sees them that knows only the documents.

// segment and offers are a header's lists (RFC 8166 §4.1), read by hand.
type segment struct {
	pos, key, n uint32
	at          uint64
}

type offers struct {
	proc    uint32
	reads   []segment
	writes  [][]segment
	reply   []segment
	hasRply bool
	rest    []byte
}

func readOffers(t *testing.T, b []byte) (o offers) {
	t.Helper()
	at := 12
	word := func() (v uint32) {
		if at+4 > len(b) {
			t.Fatalf("%x ends in its header", b)
		}
		v = binary.BigEndian.Uint32(b[at:])
		at += 4
		return v
	}
	seg := func() (s segment) {
		s.key, s.n = word(), word()
		s.at = uint64(word()) << 32
		s.at |= uint64(word())
		return s
	}
	segs := func() (list []segment) {
		for range word() {
			list = append(list, seg())
		}
		return list
	}
	for o.proc = word(); word() == 1; {
		pos := word()
		s := seg()
		s.pos = pos
		o.reads = append(o.reads, s)
	}
	for word() == 1 {
		o.writes = append(o.writes, segs())
	}
	if o.hasRply = word() == 1; o.hasRply {
		o.reply = segs()
	}
	o.rest = b[at:]
	return o
}

// fetchAll reads a segment of the other side.
func fetchAll(t *testing.T, p *peertest.Peer, s segment) (b []byte) {
	t.Helper()
	for uint32(len(b)) < s.n {
		part := p.Read(s.key, s.at+uint64(len(b)), min(int(s.n)-len(b), peertest.Size))
		if part == nil {
			t.Fatalf("cannot read %d bytes at %#x by key %#x", s.n, s.at, s.key)
		}
		b = append(b, part...)
	}
	return b
}

// putTogether is an oracle for read lists: it returns the stream with each chunk, and its roundup,
// inserted at its position (RFC 8166 §3.4.5). It works on whole byte strings, from the back to the
// front.
func putTogether(t *testing.T, p *peertest.Peer, o *offers) []byte {
	t.Helper()
	stream := bytes.Clone(o.rest)
	chunks := make(map[uint32][]byte)
	var order []uint32
	for _, s := range o.reads {
		if _, ok := chunks[s.pos]; !ok {
			order = append(order, s.pos)
		} else if order[len(order)-1] != s.pos {
			t.Errorf("position %d comes again", s.pos)
		}
		chunks[s.pos] = append(chunks[s.pos], fetchAll(t, p, s)...)
	}
	for i, pos := range order {
		c := chunks[pos]
		switch {
		case pos == 0 && i == 0 && o.proc == 1:
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
func TestCallsOnTheWire(t *testing.T) { rdmaiotest.Each(t, callsOnTheWire) }

func callsOnTheWire(t *testing.T, w *rdmaiotest.World) {
	p, c := dialRaw(w, &rdmaio.Config{SegmentSize: 3000})
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
		e := callHeader(xid, 0)
		e.buf = append(e.buf, rdmaiotest.Pattern(s.inline, 1)...)
		e.words(uint32(len(s.items)))
		for i, n := range s.items {
			e.opaque("item", rdmaiotest.Pattern(n, uint64(i)))
		}
		call := &rdmaio.Call{Message: e.message()}
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
		if len(got) < 28 || !bytes.Equal(got[:8], append(e.buf[:4:4], 0, 0, 0, 1)) {
			t.Fatalf("%s: header %v", s.name, got)
		}
		o := readOffers(t, got)
		if diff := cmp.Diff(whole(call.Message), putTogether(t, p, &o)); diff != "" {
			t.Errorf("%s: another message: %s", s.name, diff)
		}
		if (o.proc == 1) != s.long || s.long && len(o.rest) != 0 {
			t.Errorf("%s: procedure %d with %d bytes behind its lists", s.name, o.proc, len(o.rest))
		}
		sizes, total := make(map[uint32]int), 0
		for _, r := range o.reads {
			if r.pos != 0 {
				sizes[r.pos] += int(r.n)
				total += int(r.n)
			}
			if r.n > 3000 || r.n == 0 {
				t.Errorf("%s: segment of %d bytes", s.name, r.n)
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
		if len(o.writes) != len(s.results) || o.hasRply != s.replyDue {
			t.Errorf("%s: %d write chunks, reply chunk: %v", s.name, len(o.writes), o.hasRply)
		}
		for i, chunk := range o.writes {
			n := 0
			for _, seg := range chunk {
				n += int(seg.n)
			}
			if n != s.results[i] {
				t.Errorf("%s: place of %d bytes, want %d", s.name, n, s.results[i])
			}
		}
		p.Send(unusedReply(got, &o, replyHeader(xid).buf))
		if err := <-done; err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		xid++
	}
}

// unusedReply is a Reply by RDMA_MSG that returns what a Call offered unused.
func unusedReply(call []byte, o *offers, rpc []byte) []byte {
	b := append(bytes.Clone(call[:8]), 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0)
	add := func(v ...uint32) {
		for _, v := range v {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	segs := func(list []segment) {
		add(1, uint32(len(list)))
		for _, s := range list {
			add(s.key, 0, uint32(s.at>>32), uint32(s.at))
		}
	}
	for _, c := range o.writes {
		segs(c)
	}
	add(0)
	if o.hasRply {
		segs(o.reply)
	} else {
		add(0)
	}
	return append(b, rpc...)
}

// T67, R53, R81: a result shorter than the count in the stream is refused, and no earlier bytes of
// the memory are returned. R83: a returned length that includes the roundup is accepted.
func TestResultTooShort(t *testing.T) { rdmaiotest.Each(t, resultTooShort) }

func resultTooShort(t *testing.T, w *rdmaiotest.World) {
	p, c := dialRaw(w, nil)
	for i, count := range []uint32{100, 104, 96, 97} {
		buf := bytes.Repeat([]byte("stale "), 100)
		call := readCall(uint32(i), 0, buf)
		var reply *rdmaio.Reply
		done := make(chan error, 1)
		go func() {
			var err error
			reply, err = c.Call(context.Background(), call)
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := readOffers(t, got)
		data := rdmaiotest.Pattern(100, 1)
		p.Write(o.writes[0][0].key, o.writes[0][0].at, data)
		e := replyHeader(uint32(i))
		e.words(0, 0, count, 1, count)
		b := unusedReply(got, &o, e.buf)
		binary.BigEndian.PutUint32(b[16+4+8+4:], 100)
		p.Send(b)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(reply.Items[0].Data) != 100 || bytes.Contains(reply.Items[0].Data, []byte("stale")) {
			t.Errorf("an item of %d bytes", len(reply.Items[0].Data))
		}
		data2, err := readReply(reply)
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
func TestReplyOfAnySize(t *testing.T) { rdmaiotest.EachVersion(t, replyOfAnySize) }

func replyOfAnySize(t *testing.T, w *rdmaiotest.World) {
	size := 0
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		e := replyHeader(binary.BigEndian.Uint32(r.Message))
		e.buf = append(e.buf, rdmaiotest.Pattern(size-24, 1)...)
		r.Reply(e.message(), nil)
	}), nil)
	c := w.Dial(nil)
	xid := uint32(0)
	for room := 1024 - 28 - 40; room <= 1024+400; room += 20 {
		// 400: the largest verifier (RFC 5531 §8.2).
		for _, size = range []int{24, 24 + 400, room - 4, room} {
			xid++
			call := nullCall(xid, 40)
			call.ReplyBuf = make([]byte, room)
			reply, err := c.Call(context.Background(), call)
			if err != nil || len(reply.Message) != size || !bytes.Equal(reply.Message[24:], rdmaiotest.Pattern(size-24, 1)) {
				t.Fatalf("%d bytes with room for %d: %v", size, room, err)
			}
		}
	}
}

// T81, R8: a key is valid on its own connection only. Used on another one it breaks that one and
// touches nothing, and the Call goes on.
func TestKeyOfAnotherConnection(t *testing.T) { rdmaiotest.Each(t, keyOfAnotherConnection) }

func keyOfAnotherConnection(t *testing.T, w *rdmaiotest.World) {
	p, c := dialRaw(w, nil)
	for i, use := range []func(q *peertest.Peer, s segment){
		func(q *peertest.Peer, s segment) { q.Write(s.key, s.at, []byte("not yours")) },
		func(q *peertest.Peer, s segment) { q.Read(s.key, s.at, 8) },
		func(q *peertest.Peer, s segment) { q.SendInvalidate(nil, s.key) },
	} {
		q, d := dialRaw(w, nil)
		buf := make([]byte, 4096)
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), readCall(uint32(i), 0, buf))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := readOffers(t, got)
		use(q, o.writes[0][0])
		<-q.Lost
		<-d.Done()
		if !errors.Is(d.Err(), verbs.ErrConnectionBroken) {
			t.Errorf("%d: the other connection: %v", i, d.Err())
		}
		select {
		case err := <-done:
			t.Fatalf("%d: the Call ended: %v", i, err)
		default:
		}
		p.Send(unusedReply(got, &o, replyHeader(uint32(i)).buf))
		if err := <-done; err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if !bytes.Equal(buf, make([]byte, 4096)) {
			t.Errorf("%d: memory was written", i)
		}
	}
}

// T82, R301: from a known key the next one is not found by 2^16 tries around it, nor by the
// difference of the last two.
func TestKeysAreNoSequence(t *testing.T) { rdmaiotest.Each(t, keysAreNoSequence) }

func keysAreNoSequence(t *testing.T, w *rdmaiotest.World) {
	p, c := dialRaw(w, nil)
	var keys []uint32
	seen := make(map[uint32]bool)
	for xid := range uint32(200) {
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), readCall(xid, 0, make([]byte, 4096)))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := readOffers(t, got)
		key := o.writes[0][0].key
		if seen[key] {
			t.Errorf("key %#x comes again", key)
		}
		seen[key] = true
		keys = append(keys, key)
		p.Send(unusedReply(got, &o, replyHeader(xid).buf))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	hits := 0
	near := func(a, b uint32) bool { return a-b+1<<15 < 1<<16 }
	for i := 2; i < len(keys); i++ {
		if near(keys[i], keys[i-1]) || near(keys[i], 2*keys[i-1]-keys[i-2]) {
			hits++
		}
	}
	if hits > 2 { // 396 tries of one in 65,536
		t.Errorf("%d of %d keys could be guessed: %#x", hits, len(keys), keys[:8])
	}
}

// R307: whatever word of a Reply an attacker changes, the RPC ends as before, or fails, or the
// connection ends. No byte outside the offered memory changes, and nothing panics.
func TestTamperedReplies(t *testing.T) {
	const words = 96 / 4
	for at := range words {
		for _, v := range []uint32{0, 1, 4, 0x7fffffff, 0xffffffff} {
			w := rdmaiotest.New(t)
			p, c := dialRaw(w, nil)
			all := bytes.Repeat([]byte{0xa5}, 3*2048)
			call := readCall(7, 0, all[2048:4096])
			call.ReplyBuf = make([]byte, 2048)
			var wg sync.WaitGroup
			wg.Add(1)
			ctx, cancel := context.WithCancel(context.Background())
			var err error
			var reply *rdmaio.Reply
			go func() {
				defer wg.Done()
				reply, err = c.Call(ctx, call)
			}()
			got := p.Message(peertest.Patience)
			o := readOffers(t, got)
			b := unusedReply(got, &o, replyHeader(7).buf)
			if len(b) != 4*words {
				t.Fatalf("a Reply of %d bytes", len(b))
			}
			binary.BigEndian.PutUint32(b[4*at:], v)
			p.Send(b)
			counts(t, c, func(st *rdmaio.Stats) bool { return st.Received == 1 })
			cancel()
			wg.Wait()
			if err == nil && (reply.Message == nil || binary.BigEndian.Uint32(reply.Message) != 7) {
				t.Errorf("word %d, %#x: taken as %x", at, v, reply.Message)
			}
			if len(bytes.Trim(all[:2048], "\xa5"))+len(bytes.Trim(all[4096:], "\xa5")) != 0 {
				t.Errorf("word %d, %#x: memory that was not offered has changed", at, v)
			}
			if at == 0 && v != 7 && err == nil {
				t.Error("a Reply to another XID was taken")
			}
		}
	}
}

// T7: an ERROR's grant counts as a Reply's does: more Calls may go out, or fewer.
func TestGrantOfError(t *testing.T) { rdmaiotest.Each(t, grantOfError) }

func grantOfError(t *testing.T, w *rdmaiotest.World) {
	p, c := dialRaw(w, &rdmaio.Config{Credits: 8})
	errs := make(chan error, 20)
	for xid := range uint32(12) {
		go func() {
			_, err := c.Call(context.Background(), nullCall(xid, 40))
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
