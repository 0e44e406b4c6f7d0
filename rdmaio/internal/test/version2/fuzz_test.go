package version2

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The input of FuzzVersion2: a byte with the role of our end, and then items, each with these bits,
// two bytes with a length, and the bytes of a message.
const (
	fuzzClient = 1 << iota // our end dials

	fuzzXID    = 1 << iota // the message has the XID of our last message
	fuzzCredit             // it has version 2, and grants up to 8 credits
	fuzzWait               // before, our end gets time to answer
)

// Words of messages that stand for the key and the address of memory that our end may access.
const (
	fuzzKey  = 0xfeedc0de
	fuzzAddr = 0xfeedadd0
)

// fuzzInput encodes messages. An item with an XID of 0 gets one of ours.
func fuzzInput(role byte, list ...peer2.Message) []byte {
	b := []byte{role}
	for _, m := range list {
		bits := byte(fuzzCredit | fuzzWait)
		if m.XID == 0 {
			bits |= fuzzXID
		}
		msg := m.Bytes()
		b = append(binary.BigEndian.AppendUint16(append(b, bits), uint16(len(msg))), msg...)
	}
	return b
}

// fuzzSeeds returns inputs with messages of all kinds.
func fuzzSeeds() (list [][]byte) {
	segment := []peertest.Segment{{Key: fuzzKey, Length: 512, Addr: fuzzAddr}}
	read := peer2.Call(3, rpctest.CallBytes(3, 44))
	read.Reads = []peertest.Segment{{Position: 44, Key: fuzzKey, Length: 512, Addr: fuzzAddr}}
	long := peer2.Message{XID: 4, Type: peer2.NoMsg, Reads: []peertest.Segment{{Key: fuzzKey, Length: 512, Addr: fuzzAddr}}}
	write := peer2.Call(5, rpctest.CallBytes(5, 60))
	write.Writes, write.Reply = [][]peertest.Segment{segment}, segment
	write.Key = fuzzKey
	props := peer2.Props(1, peer2.Prop(peer2.SendSize, 4096), peer2.Prop(peer2.Reverse, 2))
	more := props
	more.Flags = peer2.More
	call := func(xid uint32, n int) peer2.Message { return peer2.Call(xid, rpctest.CallBytes(xid, n)) }
	reply := peer2.Reply(0, rpctest.ReplyBytes(0, 24))
	other := peer2.Message{XID: 6, Type: peer2.Experiments, Payload: make([]byte, 8)}
	for _, l := range [][]peer2.Message{
		{props, call(2, 40), call(3, 60), peer2.Grant(), call(4, 44)},
		append([]peer2.Message{props}, call(2, 600).Split(0, 100, 101, 500)...),
		{props, call(2, 600).Split(100)[0], peer2.Grant(), peer2.Err(9, 10), call(2, 600).Split(100)[1]},
		{props, call(2, 600).Split(100)[0], call(9, 40), call(2, 40)},
		{props, read, long, write, write, peer2.Grant()},
		{more, more, props, props, call(2, 40)},
		{props, call(2, 600).Split(100)[0]},
		{props, more},
		{call(2, 40), {XID: 3, Vers: 1, Payload: make([]byte, 20)}, call(2, 40)},
		{props, reply, peer2.Err(0, peer2.ErrWriteChunks, 1), peer2.Err(0, peer2.ErrReplyResource, 9000), peer2.Err(0, peer2.ErrSegments, 1), reply},
		append([]peer2.Message{props, call(2, 40)}, reply.Split(4, 8, 20)...),
		{props, other, peer2.Err(7, 99), {XID: 8, Type: 3}, {XID: 8, Flags: 1 << 20}},
		{peer2.Err(0, peer2.ErrVers, 1, 1), {XID: 1, Vers: 1, Credit: 32}},
	} {
		for role := range byte(2) {
			list = append(list, fuzzInput(role, l...))
		}
	}
	return list
}

// fuzzPeer sends the items of an input to our end.
type fuzzPeer struct {
	*peertest.Peer
	xid    uint32 // of the last message that our end sent
	memory *peertest.Offer
	sent   int // bytes
}

// drain takes what our end has sent.
func (p *fuzzPeer) drain(wait time.Duration) {
	for {
		b := p.Message(wait)
		if b == nil {
			return
		}
		if len(b) >= 4 {
			p.xid = binary.BigEndian.Uint32(b)
		}
		wait = 0
	}
}

// down reports whether the connection is lost.
func (p *fuzzPeer) down() bool {
	select {
	case <-p.Lost:
		return true
	default:
		return false
	}
}

// play sends all items.
func (p *fuzzPeer) play(input []byte) {
	for len(input) >= 3 && !p.down() {
		bits, n := input[0], int(binary.BigEndian.Uint16(input[1:]))
		n = min(n, len(input)-3, 4096)
		msg := bytes.Clone(input[3 : 3+n])
		input = input[3+n:]
		wait := time.Duration(0)
		if bits&fuzzWait != 0 {
			wait = 200 * time.Microsecond
		}
		p.drain(wait)
		for at := 0; at+4 <= n; at += 4 {
			switch binary.BigEndian.Uint32(msg[at:]) {
			case fuzzKey:
				binary.BigEndian.PutUint32(msg[at:], p.memory.RKey())
			case fuzzAddr:
				if at >= 4 {
					binary.BigEndian.PutUint64(msg[at-4:], p.memory.RemoteAddr())
				}
			}
		}
		if bits&fuzzXID != 0 && n >= 4 {
			binary.BigEndian.PutUint32(msg, p.xid)
			if n >= 48 { // and in an RPC message without chunks
				binary.BigEndian.PutUint32(msg[36:], p.xid)
			}
		}
		if bits&fuzzCredit != 0 && n >= 12 {
			binary.BigEndian.PutUint32(msg[4:], 2)
			binary.BigEndian.PutUint32(msg[8:], peer2.Word(8, 1+int(bits>>4)&7))
		}
		p.Send(msg)
		p.sent += n
	}
	p.drain(200 * time.Microsecond)
}

// FuzzVersion2 sends any messages to a server or a client of ours. Our end must not panic, must
// close without an error, and must release all memory. All that it allocates until then must be
// bounded by the bytes sent. A server continues to serve another client (R306, R310, T127).
//
//fuzz:floor 50 each execution makes a connection, with its goroutines
func FuzzVersion2(f *testing.F) {
	for _, b := range fuzzSeeds() {
		f.Add(b)
	}
	cfg := rdmaio.Config{
		Versions: []int{2, 1}, InlineSend: 4096, InlineRecv: 4096, Credits: 4, WorkTimeout: time.Second, OfferTimeout: time.Second,
		ReverseCredits: 2, ReverseChunks: true, MaxContinued: 8192, MaxMemory: 64 << 10, RemoteInvalidate: 1,
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 || len(input) > 1<<14 {
			return
		}
		w := rdmaiotest.NewWith(t, rdmaiotest.Options{Bare: true})
		before, play := rdmaiotest.Allocated(), fuzzServer
		if input[0]&fuzzClient != 0 {
			play = fuzzDialed
		}
		began := time.Now()
		sent := play(t, w, cfg, input[1:])
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("it took %v", d)
		}
		if got, most := rdmaiotest.Allocated()-before, uint64(4<<20+512*sent+len(input)); got > most {
			t.Errorf("%d bytes were allocated for %d bytes of messages, want %d at most", got, sent, most)
		}
	})
}

// fuzzHandler answers each Call with a reply of a length that the Call decides.
func fuzzHandler() rdmaio.Handler {
	return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
		e.Reduce = true
		for range rpctest.WriteChunks(r) {
			e.Opaque(xdr.Site("item"), r.Message)
		}
		for range 4 {
			e.Opaque("", r.Message)
		}
		r.Reply(e.Message(), nil)
	})
}

// fuzzServer plays the input to a server.
func fuzzServer(t *testing.T, w *rdmaiotest.World, cfg rdmaio.Config, input []byte) int {
	s, err := rdmaio.Listen(context.Background(), w.Server, w.ListenAddr, fuzzHandler(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &fuzzPeer{Peer: peertest.NewSized(t, w.Client, 16, 4096)}
	p.Dial(w.Client, s.Addr(), nil)
	p.memory = p.Offer(4096, rdmaiotest.AnyAccess)
	p.play(input)
	honest, err := rdmaio.Dial(context.Background(), w.Client, s.Addr(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	call := rpctest.BigCall(7, 40)
	call.MaxReply = 1000
	if r, err := honest.Call(context.Background(), call); err != nil || len(r.Message) != 24+4*44 {
		t.Errorf("the honest client: %v", err)
	}
	if err := honest.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := s.Stats().Memory; n != 0 {
		t.Errorf("%d bytes are in use after Close", n)
	}
	return p.sent
}

// fuzzDialed plays the input to a client that makes Calls at the same time.
func fuzzDialed(t *testing.T, w *rdmaiotest.World, cfg rdmaio.Config, input []byte) int {
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := &fuzzPeer{Peer: peertest.NewSized(t, w.Server, 16, 4096)}
	p.memory = p.Offer(4096, rdmaiotest.AnyAccess)
	cfg.ReverseHandler = fuzzHandler()
	ctx, cancel := context.WithCancel(context.Background())
	var client sync.WaitGroup
	client.Go(func() {
		conn, err := rdmaio.Dial(ctx, w.Client, ln.Addr(), &cfg)
		if err != nil {
			return
		}
		var calls sync.WaitGroup
		for i := range 3 {
			calls.Go(func() {
				call := rpctest.BigCall(uint32(100+i), 40+3000*i)
				if i > 0 {
					call.Results = [][]byte{make([]byte, 300), make([]byte, 40)}
					call.MaxReply = 6000
				}
				_, _ = conn.Call(ctx, call)
			})
		}
		calls.Wait()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	if p.Accept(ln, nil) {
		p.drain(time.Millisecond)
		p.play(input)
	}
	cancel()
	client.Wait()
	return p.sent
}
