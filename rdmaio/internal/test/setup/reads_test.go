package setup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	wire "github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// refusedThenServed sends Calls that the server refuses by ERR_CHUNK, and then one that it serves:
// the connection stays up.
func refusedThenServed(t *testing.T, p *rdmaiotest.SocketPeer, calls ...[]byte) {
	t.Helper()
	for _, call := range calls {
		p.Write(p.Sends(1, func(int) []byte { return call }))
		got := p.ReadMessage()
		if want := peertest.Words(binary.BigEndian.Uint32(call), 1, binary.BigEndian.Uint32(got[8:]), 4, 2); !bytes.Equal(got, want) {
			t.Fatalf("answer %v, want ERR_CHUNK %x", got, want)
		}
	}
	p.Write(p.Sends(1, func(int) []byte { return peertest.NullCall(77, 4, false) }))
	if got := p.ReadMessage(); binary.BigEndian.Uint32(got) != 77 || got[15] != 0 {
		t.Errorf("the next Call is answered by %v", got)
	}
}

// R118, R297, T124: where the peer serves no RDMA Reads a Call with a read chunk is refused at any
// time, and the others are served.
func TestReadChunkIsRefusedWithoutReads(t *testing.T) {
	w := rdmaiotest.NewBare(t)
	w.Serve(rpctest.Quick(nil), nil)
	for _, together := range []bool{false, true} {
		p := rdmaiotest.DialSocket(t, w.Addr)
		none := rdmaiotest.Hello(nil)
		binary.BigEndian.PutUint16(none[12:], 0)
		first := p.Segment(wire.Header{Type: wire.Write}, none, nil)
		if together { // maybe before Accept has returned
			first = append(first, p.Sends(1, func(int) []byte { return peertest.NullCall(5, 4, true) })...)
		}
		p.Write(first)
		if h, _, ok := p.Read(); !ok || h.Type != wire.Write {
			t.Fatalf("the answer is %+v, want a hello", h)
		}
		if together {
			if got := p.ReadMessage(); binary.BigEndian.Uint32(got) != 5 || got[15] != 4 || got[19] != 2 {
				t.Errorf("answer %v, want ERR_CHUNK", got)
			}
		}
		refusedThenServed(t, p, peertest.NullCall(6, 4, true), peertest.NullCall(7, 4, true))
	}
}

// noResources is a device whose connections serve no RDMA Reads.
type noResources struct{ verbs.Device }

func (d noResources) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	var p verbs.ConnParams
	if params != nil {
		p = *params
	}
	p.ResponderResources = -1
	return d.Device.Dial(ctx, addr, qp, &p)
}

// R297: a client whose queue pair cannot serve RDMA Reads makes no read chunks, and its error says
// what to do.
func TestClientWithoutReadsMakesNoReadChunk(t *testing.T) {
	w := rdmaiotest.NewBare(t)
	w.Client = noResources{w.Client}
	w.Serve(rpctest.Quick(nil), nil)
	c := w.Dial(nil)
	if terms := c.Terms(); !terms.NoReadChunks {
		t.Errorf("%+v", terms)
	}
	var size *rdmaio.SizeError
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 5000))); !errors.As(err, &size) {
		t.Error(err)
	}
	if err := c.SetTerms(c.Terms()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 5000))); !errors.As(err, &size) {
		t.Error(err)
	}
	rpctest.Again(t, c, rpctest.SmallCall(), 3)
}

// R118, T48: a chunk at addresses that the provider cannot name is refused in any list, and the
// others are served.
func TestChunkAtUnknownAddressIsRefused(t *testing.T) {
	w := rdmaiotest.NewBare(t)
	w.Serve(rpctest.Quick(nil), nil)
	p := rdmaiotest.DialSocket(t, w.Addr)
	p.Connect(nil)
	rpc := func(xid uint32) []uint32 { return []uint32{xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0} }
	var calls [][]byte
	for i, lists := range [][]uint32{
		{1, 40, 0x1234, 1000, 1, 0, 0, 0, 0},                         // a read chunk at 2^32
		{1, 40, 0x1234, 1000, 0, 0xffffff00, 0, 0, 0},                // one that exceeds it
		{0, 1, 1, 0x1234, 1000, 1, 0, 0, 0},                          // a write chunk
		{0, 0, 1, 1, 0x1234, 1000, 0x80000000, 0},                    // a reply chunk
		{1, 40, 0x1234, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0, 0}, // past 2^64
	} {
		xid := uint32(10 + i)
		calls = append(calls, peertest.Words(append(append([]uint32{xid, 1, 4, 0}, lists...), rpc(xid)...)...))
	}
	refusedThenServed(t, p, calls...)
}
