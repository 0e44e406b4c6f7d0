package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	wire "github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// message reads up to the next message.
func (p *socketPeer) message() []byte {
	for {
		h, b, ok := p.read()
		if !ok {
			p.t.Fatal("no message")
		}
		if h.Type == wire.Send && len(b) > 0 {
			return b
		}
	}
}

// refusedThenServed sends Calls, each of which the server refuses by ERR_CHUNK, and then one that it serves: the connection stands.
func (p *socketPeer) refusedThenServed(calls ...[]byte) {
	p.t.Helper()
	for _, call := range calls {
		p.write(p.send(1, func(int) []byte { return call }))
		got := p.message()
		if want := wireWords(binary.BigEndian.Uint32(call), 1, binary.BigEndian.Uint32(got[8:]), 4, 2); !bytes.Equal(got, want) {
			p.t.Fatalf("answer %x, want ERR_CHUNK %x", got, want)
		}
	}
	p.write(p.send(1, func(int) []byte { return floodCall(77, 4, false) }))
	if got := p.message(); binary.BigEndian.Uint32(got) != 77 || got[15] != 0 {
		p.t.Errorf("the next Call is answered by %x", got)
	}
}

// R118, R297, T124: where the peer serves no RDMA Reads a Call with a read chunk is refused, whenever it comes, and the others go on.
func TestNoReadsServed(t *testing.T) {
	w := newBareWorld(t)
	w.serve(quick(nil), nil)
	for _, together := range []bool{false, true} {
		p := socketTo(t, w.addr)
		none := hello(nil)
		binary.BigEndian.PutUint16(none[12:], 0)
		first := p.segment(wire.Header{Type: wire.Write}, none, nil)
		if together { // maybe before Accept has returned
			first = append(first, p.send(1, func(int) []byte { return floodCall(5, 4, true) })...)
		}
		p.write(first)
		if h, _, ok := p.read(); !ok || h.Type != wire.Write {
			t.Fatalf("the answer is %+v, want a hello", h)
		}
		if together {
			if got := p.message(); binary.BigEndian.Uint32(got) != 5 || got[15] != 4 || got[19] != 2 {
				t.Errorf("answer %x, want ERR_CHUNK", got)
			}
		}
		p.refusedThenServed(floodCall(6, 4, true), floodCall(7, 4, true))
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

// R297: a client whose queue pair cannot serve RDMA Reads makes no read chunks, and says what to do.
func TestServesNoReads(t *testing.T) {
	w := newBareWorld(t)
	w.client = noResources{w.client}
	w.serve(quick(nil), nil)
	c := w.dial(nil)
	if terms := c.Terms(); !terms.NoReadChunks {
		t.Errorf("%+v", terms)
	}
	var size *rdmaio.SizeError
	if _, err := c.Call(context.Background(), writeCall(1, 0, make([]byte, 5000))); !errors.As(err, &size) {
		t.Error(err)
	}
	if err := c.SetTerms(c.Terms()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(context.Background(), writeCall(2, 0, make([]byte, 5000))); !errors.As(err, &size) {
		t.Error(err)
	}
	again(t, c, smallCall(), 3)
}

// R118, T48: a chunk at addresses that the provider cannot name is refused, whichever list it is in, and the others go on.
func TestAddressesOfNoProvider(t *testing.T) {
	w := newBareWorld(t)
	w.serve(quick(nil), nil)
	p := socketTo(t, w.addr)
	p.connect(nil)
	rpc := func(xid uint32) []uint32 { return []uint32{xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0} }
	var calls [][]byte
	for i, lists := range [][]uint32{
		{1, 40, 0x1234, 1000, 1, 0, 0, 0, 0},                         // a read chunk at 2^32
		{1, 40, 0x1234, 1000, 0, 0xffffff00, 0, 0, 0},                // one that ends behind it
		{0, 1, 1, 0x1234, 1000, 1, 0, 0, 0},                          // a write chunk
		{0, 0, 1, 1, 0x1234, 1000, 0x80000000, 0},                    // a reply chunk
		{1, 40, 0x1234, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0, 0}, // past 2^64
	} {
		xid := uint32(10 + i)
		calls = append(calls, wireWords(append(append([]uint32{xid, 1, 4, 0}, lists...), rpc(xid)...)...))
	}
	p.refusedThenServed(calls...)
}
