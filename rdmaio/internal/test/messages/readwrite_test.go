package messages

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// A WRITE-like Call: the server reads the data from the caller's own slice directly to its place in
// the message (R57, R60, R63, R72, R302, R304), and invalidates the key with the Reply (R265).
func TestWriteComesFromTheCallersSlice(t *testing.T) { rdmaiotest.EachSteady(t, writeLike) }

func writeLike(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	w.Serve(f, &rdmaio.Config{NonBlocking: true}) // the same order of events in each run
	c := w.Dial(nil)
	// From now on such a Call has its memory at once (TestMemoryFollowsDelivery).
	rpctest.Writes(t, c, f)
	mark := w.Mark()
	rpctest.Writes(t, c, f)
	list := w.Since(mark)
	w.Golden(t, "testdata/write.golden", list)
	rdmaiotest.OneSendEach(t, w, mark)
	rdmaiotest.KeysEnded(t, list, 1)
	if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
		return e.Kind == trace.PostSend && e.Opcode == verbs.RDMARead && e.Length == len(f.Data)
	}); n != 1 {
		t.Errorf("%d RDMA Reads of the data, want 1", n)
	}
}

// A READ-like Call: the server writes from the file's memory into the caller's
// slice (R76, R78 to R81, R90).
func TestReadGoesToTheCallersSlice(t *testing.T) { rdmaiotest.EachSteady(t, readLike) }

func readLike(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	w.Serve(f, &rdmaio.Config{NonBlocking: true})
	c := w.Dial(nil)
	mark := w.Mark()
	rpctest.Reads(t, c, f)
	list := w.Since(mark)
	w.Golden(t, "testdata/read.golden", list)
	rdmaiotest.OneSendEach(t, w, mark)
	rdmaiotest.KeysEnded(t, list, 1)
	if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
		return e.Kind == trace.PostSend && e.Opcode == verbs.RDMAWrite && e.Length == len(f.Data)-1
	}); n != 1 {
		t.Errorf("%d RDMA Writes of the data, want 1", n)
	}
}

// Small data is not worth a chunk: it goes inline, with no registration (R35).
func TestSmallWriteIsInline(t *testing.T) { rdmaiotest.Each(t, smallWriteIsInline) }

func smallWriteIsInline(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	w.Serve(f, nil)
	c := w.Dial(nil)
	mark := w.Mark()
	data := rdmaiotest.Pattern(501, 3)
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, data)); err != nil {
		t.Fatal(err)
	}
	list := w.Since(mark)
	rdmaiotest.OneSendEach(t, w, mark)
	rdmaiotest.KeysEnded(t, list, 0)
	if !bytes.Equal(f.Data, data) {
		t.Error("the server has other data")
	}
}

// The read at the end of the file has no data: the chunk comes back unused (R85, T55).
func TestReadOfNothingReturnsTheChunk(t *testing.T) { rdmaiotest.Each(t, readOfNothing) }

func readOfNothing(t *testing.T, w *rdmaiotest.World) {
	w.Serve(&rpctest.File{T: t}, nil)
	c := w.Dial(nil)
	reply, err := c.Call(context.Background(), rpctest.ReadCall(1, 0, make([]byte, 4096)))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := rpctest.ReadReply(reply); err != nil || len(data) != 0 || reply.Items[0].Data != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// An empty element of Results requests that result inline (R86, R89): no chunk is offered, and the
// data is in the reply.
func TestEmptyResultIsReadInline(t *testing.T) { rdmaiotest.Each(t, readInline) }

func readInline(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(301, 4)}
	w.Serve(f, nil)
	c := w.Dial(nil)
	call := rpctest.ReadCall(1, 0, make([]byte, 301))
	call.Results = [][]byte{nil}
	reply, err := c.Call(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, f.Data) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Every size around the threshold, both ways: the same bytes arrive, whatever
// the shape (R33, R37, R44).
func TestSizesAroundTheThresholdArrive(t *testing.T) {
	rdmaiotest.EachVersion(t, sizesAroundTheThreshold)
}

func sizesAroundTheThreshold(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	w.Serve(f, nil)
	c := w.Dial(nil)
	xid := uint32(100)
	for n := 1024 - 200; n <= 1024+64; n++ {
		data := rdmaiotest.Pattern(n, uint64(n))
		xid++
		if _, err := c.Call(context.Background(), rpctest.WriteCall(xid, 0, data)); err != nil {
			t.Fatal(n, err)
		}
		if !bytes.Equal(f.Data, data) {
			t.Fatalf("%d bytes: the server has other data", n)
		}
		for _, inline := range []bool{false, true} {
			buf := make([]byte, n)
			xid++
			call := rpctest.ReadCall(xid, 0, buf)
			if inline {
				call.Results, call.ReplyBuf = nil, make([]byte, n+64)
			}
			reply, err := c.Call(context.Background(), call)
			if err != nil {
				t.Fatal(n, inline, err)
			}
			if got, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, inline %v: %d came, %v", n, inline, len(got), err)
			}
		}
	}
}

// The first item sent by chunk begins on a cache line, where copying is fastest, whatever precedes
// it.
func TestItemBeginsOnACacheLine(t *testing.T) {
	w := rdmaiotest.New(t)
	f, placed := &rpctest.File{T: t}, make(chan []byte, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		placed <- r.Placed[0].Data
		f.ServeRPC(r)
	}), nil)
	c := w.Dial(nil)
	for i, n := range []int{5000, 64 << 10, 1 << 20} {
		data := rdmaiotest.Pattern(n, uint64(i))
		if _, err := c.Call(context.Background(), rpctest.WriteCall(uint32(i), 0, data)); err != nil {
			t.Fatal(err)
		}
		got := <-placed
		if at := reflect.ValueOf(got).Pointer() % 64; at != 0 || !bytes.Equal(f.Data[:n], data) {
			t.Errorf("%d bytes are %d behind a cache line", n, at)
		}
	}
}
