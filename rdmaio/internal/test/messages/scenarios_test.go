package messages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// What a server does with Calls whose headers are good, by a raw client. See also
// TestServerReactsToEachBadCall.

const garbageArgs = 4 // RFC 5531 §9

// strict is an upper layer that decodes one counted, eligible opaque, in the way of generated code.
type strict struct{ got [][]byte }

func (s *strict) ServeRPC(r *rdmaio.Request) {
	e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
	d := xdr.NewDecoder(r.Message, &xdr.DecoderOptions{Alias: true})
	err := errors.New("no RPC header")
	if len(r.Message) >= 40 {
		d.Next(40)
		d.ExpectAt(40, r.Placed)
		var data []byte
		if data, err = rpctest.TakeData(d, rpctest.SiteWriteData); err == nil {
			err = d.Done()
		}
		if err == nil {
			s.got = append(s.got, bytes.Clone(data))
		}
	}
	if err != nil {
		binary.BigEndian.PutUint32(e.Buf[20:], garbageArgs)
	}
	r.Reply(e.Message(), nil)
}

// A message that the transport has assembled, and the upper layer cannot use, gets an RPC answer:
// the transport reports no fault (R53, R70, R328; T31, T35, T45).
func TestUpperLayerMayRefuseAMessage(t *testing.T) { rdmaiotest.Each(t, upperLayerRefuses) }

func upperLayerRefuses(t *testing.T, w *rdmaiotest.World) {
	s := &strict{}
	srv := w.Serve(s, nil)
	p := w.DialRaw(t)
	o := p.Offer(64, verbs.AccessRemoteRead)
	key, at := fmt.Sprintf("%08x", o.RKey()), fmt.Sprintf("%016x", o.RemoteAddr())
	with := func(reads, rest string) string {
		return peertest.Head + "00000000 " + reads + "00000000 00000000 00000000" + peertest.GoodCall + rest
	}
	for _, c := range []struct {
		name, msg string
		want      int // bytes of the item; -1: GARBAGE_ARGS
	}{
		{"T31: no arguments", with("", ""), -1},
		{"T31: the RPC header is cut", peertest.Head + "00000000 00000000 00000000 00000000 cafe0001 00000000 00000002", -1},
		{"T31: an opaque longer than the rest", with("", "00000009 11223344 55667788"), -1},
		{"T35: the chunk is longer than the count", with(peertest.ReadSegment(44, key, 12, at), "00000008"), -1},
		{"T35: the chunk is shorter", with(peertest.ReadSegment(44, key, 8, at), "0000000c"), -1},
		{"T35: a chunk where no item begins", with(peertest.ReadSegment(24, key, 8, at), "00000000"), -1},
		{"the chunk is the item", with(peertest.ReadSegment(44, key, 8, at), "00000008"), 8},
		{"R68: not a multiple of four", with(peertest.ReadSegment(44, key, 5, at), "00000005"), 5},
		{"T45, R70: with its roundup", with(peertest.ReadSegment(44, key, 8, at), "00000005"), 5},
		{"T45: and four bytes more", with(peertest.ReadSegment(44, key, 12, at), "00000005"), -1},
	} {
		s.got = nil
		p.SendHex(c.msg)
		got := p.Message(peertest.Patience)
		if len(got) != 28+24 || got[15] != 0 {
			t.Fatalf("%s: answer %v", c.name, got)
		}
		if stat := int(got[28+23]); (stat == garbageArgs) != (c.want < 0) {
			t.Errorf("%s: accepted with status %d", c.name, stat)
		}
		if c.want >= 0 && (len(s.got) != 1 || !bytes.Equal(s.got[0], o.Data[:c.want])) || c.want < 0 && len(s.got) != 0 {
			t.Errorf("%s: the procedure ran with %x", c.name, s.got)
		}
	}
	if st := rdmaiotest.ServerConn(t, srv).Stats(); st.FaultyMessages != 0 || st.ErrorMessages != 0 {
		t.Errorf("%+v", st)
	}
	if list := o.Changes(); len(list) != 0 {
		t.Errorf("memory to be read was written: %v", list)
	}
}

// T49, R74: the peer's memory is deregistered between the Call and the Read: the connection is
// closed, nothing is dispatched, others are served.
func TestLateReadEndsTheConnection(t *testing.T) { rdmaiotest.Each(t, readComesLate) }

func readComesLate(t *testing.T, w *rdmaiotest.World) {
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 8)}
	w.Serve(h, &rdmaio.Config{MaxConnMemory: 4096})
	honest := w.Dial(nil)
	p := w.DialRaw(t)
	first, second := p.Offer(4000, verbs.AccessRemoteRead), p.Offer(3000, verbs.AccessRemoteRead)
	send := func(o *peertest.Offer) {
		p.SendHex(peertest.Msg(peertest.ReadSegment(40, fmt.Sprintf("%08x", o.RKey()), uint32(len(o.Data)), fmt.Sprintf("%016x", o.RemoteAddr()))))
	}
	send(first)
	held := <-h.Got
	conn := held.Conn().(*rdmaio.Conn)
	send(second) // waits for the memory that the first has
	rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool { return st.Received == 2 })
	if err := second.Invalidate(); err != nil {
		t.Fatal(err)
	}
	held.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(0xcafe0001).Buf}, nil)
	<-p.Lost
	<-conn.Done()
	if err := conn.Err(); err == nil || errors.Is(err, rdmaio.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	go func() {
		r := <-h.Got
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(5).Buf}, nil)
	}()
	if _, err := honest.Call(context.Background(), rpctest.NullCall(5, 40)); err != nil {
		t.Error(err)
	}
	if len(h.Got) != 0 {
		t.Error("the Call whose data never came was dispatched")
	}
}

// words is hexadecimal for numbers.
func words(w ...uint32) (s string) {
	for _, v := range w {
		s += fmt.Sprintf("%08x ", v)
	}
	return s
}

// rawRead is a READ of n bytes with a write list and a reply chunk.
func rawRead(n int, lists string) string {
	m := rpctest.ReadCall(0xcafe0001, 0, make([]byte, n)).Inline
	return peertest.Head + "00000000 00000000 " + lists + fmt.Sprintf("%x", m)
}

// T54, R86: a write chunk of no segments is returned unchanged, and the result goes inline, or to
// the reply chunk.
func TestEmptyWriteChunkIsReturned(t *testing.T) { rdmaiotest.Each(t, emptyWriteChunk) }

func emptyWriteChunk(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	w.Serve(f, nil)
	p := w.DialRaw(t)
	o := p.Offer(4096, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	empty := words(1, 0, 0)
	body := func(data []byte) []byte {
		e := rpctest.ReplyHeader(0xcafe0001)
		e.Words(0, 0, uint32(len(data)), 1)
		e.Opaque("", data)
		return e.Buf
	}
	f.Data = rdmaiotest.Pattern(301, 1)
	p.SendHex(rawRead(301, empty+words(0)))
	want := append(peertest.Bytes(t, peertest.Head+words(0, 0, 1, 0, 0, 0)), body(f.Data)...)
	if diff := cmp.Diff(want, p.Message(peertest.Patience)); diff != "" {
		t.Errorf("inline: %s", diff)
	}
	f.Data = rdmaiotest.Pattern(3001, 2)
	p.SendHex(rawRead(3001, empty+words(1, 1)+o.Segment()))
	used := uint32(24 + 16 + 4 + 3004)
	want = peertest.Bytes(t, peertest.Head+words(1, 0, 1, 0, 0, 1, 1)+o.Part(0, used))
	if diff := cmp.Diff(want, p.Message(peertest.Patience)); diff != "" {
		t.Errorf("in the reply chunk: %s", diff)
	}
	// R95, R314, T85: with its roundup, which is zero, and not a byte more.
	if !bytes.Equal(o.Data[:used], body(f.Data)) || !peertest.Within(o.Changes(), 0, int(used)) {
		t.Error("the reply chunk has other bytes")
	}
	p.SendHex(rawRead(3001, empty+words(0)))
	if got := p.Message(peertest.Patience); len(got) != 20 || got[15] != 4 {
		t.Errorf("without room: %x", got)
	}
}

// T59: segments that overlap each other and the reply chunk are written in order; no other memory
// of the peer changes.
func TestOverlappingOffersAreWrittenInOrder(t *testing.T) { rdmaiotest.Each(t, overlappingOffers) }

func overlappingOffers(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(180, 1)}
	w.Serve(f, nil)
	p := w.DialRaw(t)
	o := p.Offer(1000, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	p.SendHex(rawRead(200, words(1, 2)+o.Part(100, 100)+o.Part(150, 100)+words(0, 1, 1)+o.Part(100, 200)))
	got := p.Message(peertest.Patience)
	want := peertest.Bytes(t, peertest.Head+words(0, 0, 1, 2)+o.Part(100, 100)+o.Part(150, 80)+words(0, 1, 1)+o.Part(100, 0))
	if !bytes.HasPrefix(got, want) {
		t.Errorf("answer %v, want %v", got, want)
	}
	if !bytes.Equal(o.Data[100:150], f.Data[:50]) || !bytes.Equal(o.Data[150:230], f.Data[100:]) {
		t.Error("not written in order")
	}
	if list := o.Changes(); !peertest.Within(list, 100, 130) {
		t.Errorf("touched: %v", list)
	}
}

// T84: a Call is read once it is here; the peer may then change its memory. R102: a small Call goes
// by chunk as well.
func TestPeerMayChangeACallThatWasRead(t *testing.T) { rdmaiotest.Each(t, snapshot) }

func snapshot(t *testing.T, w *rdmaiotest.World) {
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
	w.Serve(h, nil)
	p := w.DialRaw(t)
	o := p.Offer(48, verbs.AccessRemoteRead)
	call := append(peertest.Bytes(t, peertest.GoodCall), rdmaiotest.Pattern(8, 1)...)
	o.Fill(call)
	p.SendHex(peertest.Nomsg(peertest.ReadSegment(0, fmt.Sprintf("%08x", o.RKey()), 48, fmt.Sprintf("%016x", o.RemoteAddr()))))
	r := <-h.Got
	o.Fill(make([]byte, 48)) // another XID, for one
	if !bytes.Equal(r.Message, call) {
		t.Error("the message changed under the handler")
	}
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(0xcafe0001).Buf}, nil)
	if got := p.Message(peertest.Patience); len(got) != 28+24 || !bytes.Equal(got[:4], call[:4]) {
		t.Errorf("answer %v", got)
	}
}
