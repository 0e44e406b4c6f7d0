package rdmaio_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// oneSendEach checks the history of one RPC, from mark on: one Send in each direction, at most two
// signaled requests of each side, and no refused requests.
func oneSendEach(t *testing.T, w *rdmaiotest.World, mark int) {
	t.Helper()
	list := w.Since(mark)
	for _, dev := range []string{"client", "server"} {
		if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
			return e.Device == dev && rdmaiotest.IsSend(e)
		}); n != 1 {
			t.Errorf("%s posted %d Sends for one RPC", dev, n)
		}
		if n := rdmaiotest.Count(list, func(e *trace.Event) bool { return e.Device == dev && signaled(e) }); n > 2 {
			t.Errorf("%s asked for %d completions for one RPC, want at most 2", dev, n)
		}
	}
	completeOnce(t, w.History.Events())
	if n := rdmaiotest.Count(list, func(e *trace.Event) bool { return e.Err != nil || e.Status != verbs.StatusSuccess }); n != 0 {
		t.Errorf("%d events with an error", n)
	}
}

// completeOnce checks that each completion of a send queue belongs to a signaled request, and is
// its only one. The history must be complete: the last Send of an RPC may complete after the Call
// has returned, even during the next RPC.
func completeOnce(t *testing.T, all []trace.Event) {
	t.Helper()
	type request struct {
		dev string
		qp  uint32
		id  uint64
	}
	due := make(map[request]bool)
	for i := range all {
		e := &all[i]
		r := request{e.Device, e.QP, e.WRID}
		switch {
		case signaled(e):
			due[r] = true
		case e.Kind == trace.Complete && e.WCOpcode != verbs.WCRecv && !due[r]:
			t.Errorf("%s: a completion of request %#x that no signaled request is waiting for", e.Device, e.WRID)
		case e.Kind == trace.Complete && e.WCOpcode != verbs.WCRecv:
			delete(due, r)
		}
	}
}

// signaled reports whether e posts a request that asks for a completion.
func signaled(e *trace.Event) bool {
	return e.Kind == trace.PostSend && e.Flags&verbs.SendSignaled != 0
}

// keysEnded checks that every key that the client registered was invalidated once in this history,
// by itself or by the server. A key that was redirected counts as well.
func keysEnded(t *testing.T, list []trace.Event, want int) {
	t.Helper()
	live, seen := make(map[uint32]bool), 0
	for _, e := range list {
		key := max(e.RKey, e.InvalidateRKey) // an event has one of them
		if e.Device != "client" || key == 0 {
			continue
		}
		switch e.Kind {
		case trace.Register, trace.Reregister:
			live[key] = true
			seen++
		case trace.Redirect:
			delete(live, key)
		case trace.Invalidate, trace.Complete:
			if !live[key] {
				t.Errorf("T79: key %#x was ended twice", key)
			}
			delete(live, key)
		}
	}
	if seen != want || len(live) != 0 {
		t.Errorf("%d keys were given out, want %d; %d reach memory of a Call that returned", seen, want, len(live))
	}
}

// writes makes a WRITE-like Call and checks the data received.
func writes(t *testing.T, c *rdmaio.Conn, f *file) {
	t.Helper()
	data := rdmaiotest.Pattern(65536+3, 1) // with roundup
	reply, err := c.Call(context.Background(), writeCall(0x11, 0, data))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.data, data) {
		t.Error("the server has other data")
	}
	if want := 24 + 16; len(reply.Message) != want {
		t.Errorf("reply of %d bytes, want %d", len(reply.Message), want)
	}
}

// A WRITE-like Call: the server reads the data from the caller's own slice directly to its place in
// the message (R57, R60, R63, R72, R302, R304), and invalidates the key with the Reply (R265).
func TestWriteLike(t *testing.T) { rdmaiotest.EachSteady(t, writeLike) }

func writeLike(t *testing.T, w *rdmaiotest.World) {
	f := &file{t: t}
	w.Serve(f, &rdmaio.Config{NonBlocking: true}) // the same order of events in each run
	c := w.Dial(nil)
	writes(t, c, f) // from now on such a Call has its memory at once (TestMemoryFollowsDelivery)
	mark := w.Mark()
	writes(t, c, f)
	list := w.Since(mark)
	w.Golden(t, "testdata/write.golden", list)
	oneSendEach(t, w, mark)
	keysEnded(t, list, 1)
	if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
		return e.Kind == trace.PostSend && e.Opcode == verbs.RDMARead && e.Length == len(f.data)
	}); n != 1 {
		t.Errorf("%d RDMA Reads of the data, want 1", n)
	}
}

// reads makes a READ-like Call and checks the data received, and its place.
func reads(t *testing.T, c *rdmaio.Conn, f *file) {
	t.Helper()
	f.data = rdmaiotest.Pattern(50001, 2)
	const poison = 0xa5
	buf := bytes.Repeat([]byte{poison}, 65536)
	reply, err := c.Call(context.Background(), readCall(0x12, 1, buf))
	if err != nil {
		t.Fatal(err)
	}
	data, err := readReply(reply)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, f.data[1:]) {
		t.Error("other data came")
	}
	if &data[0] != &buf[0] {
		t.Error("the data is not where the caller wants it: it was copied")
	}
	// R82, R83, R314: no byte after the requested ones changes, roundup included.
	if rest := bytes.Trim(buf[len(data):], "\xa5"); len(rest) != 0 {
		t.Errorf("%d bytes behind the data were touched", len(rest))
	}
}

// A READ-like Call: the server writes from the file's memory into the caller's
// slice (R76, R78 to R81, R90).
func TestReadLike(t *testing.T) { rdmaiotest.EachSteady(t, readLike) }

func readLike(t *testing.T, w *rdmaiotest.World) {
	f := &file{t: t}
	w.Serve(f, &rdmaio.Config{NonBlocking: true})
	c := w.Dial(nil)
	mark := w.Mark()
	reads(t, c, f)
	list := w.Since(mark)
	w.Golden(t, "testdata/read.golden", list)
	oneSendEach(t, w, mark)
	keysEnded(t, list, 1)
	if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
		return e.Kind == trace.PostSend && e.Opcode == verbs.RDMAWrite && e.Length == len(f.data)-1
	}); n != 1 {
		t.Errorf("%d RDMA Writes of the data, want 1", n)
	}
}

// Small data is not worth a chunk: it goes inline, with no registration (R35).
func TestSmallWriteIsInline(t *testing.T) { rdmaiotest.Each(t, smallWriteIsInline) }

func smallWriteIsInline(t *testing.T, w *rdmaiotest.World) {
	f := &file{t: t}
	w.Serve(f, nil)
	c := w.Dial(nil)
	mark := w.Mark()
	data := rdmaiotest.Pattern(501, 3)
	if _, err := c.Call(context.Background(), writeCall(1, 0, data)); err != nil {
		t.Fatal(err)
	}
	list := w.Since(mark)
	oneSendEach(t, w, mark)
	keysEnded(t, list, 0)
	if !bytes.Equal(f.data, data) {
		t.Error("the server has other data")
	}
}

// The read that ends the file has no data: the chunk comes back unused (R85, T55).
func TestReadOfNothing(t *testing.T) { rdmaiotest.Each(t, readOfNothing) }

func readOfNothing(t *testing.T, w *rdmaiotest.World) {
	w.Serve(&file{t: t}, nil)
	c := w.Dial(nil)
	reply, err := c.Call(context.Background(), readCall(1, 0, make([]byte, 4096)))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := readReply(reply); err != nil || len(data) != 0 || reply.Items[0].Data != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// An empty element of Results requests that result inline (R86, R89): no chunk is offered, and the
// data is in the reply.
func TestReadInline(t *testing.T) { rdmaiotest.Each(t, readInline) }

func readInline(t *testing.T, w *rdmaiotest.World) {
	f := &file{t: t, data: rdmaiotest.Pattern(301, 4)}
	w.Serve(f, nil)
	c := w.Dial(nil)
	call := readCall(1, 0, make([]byte, 301))
	call.Results = [][]byte{nil}
	reply, err := c.Call(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := readReply(reply); err != nil || !bytes.Equal(data, f.data) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Every size around the threshold, both ways: the same bytes arrive, whatever
// the shape (R33, R37, R44).
func TestSizesAroundTheThreshold(t *testing.T) { rdmaiotest.EachVersion(t, sizesAroundTheThreshold) }

func sizesAroundTheThreshold(t *testing.T, w *rdmaiotest.World) {
	f := &file{t: t}
	w.Serve(f, nil)
	c := w.Dial(nil)
	xid := uint32(100)
	for n := 1024 - 200; n <= 1024+64; n++ {
		data := rdmaiotest.Pattern(n, uint64(n))
		xid++
		if _, err := c.Call(context.Background(), writeCall(xid, 0, data)); err != nil {
			t.Fatal(n, err)
		}
		if !bytes.Equal(f.data, data) {
			t.Fatalf("%d bytes: the server has other data", n)
		}
		for _, inline := range []bool{false, true} {
			buf := make([]byte, n)
			xid++
			call := readCall(xid, 0, buf)
			if inline {
				call.Results, call.ReplyBuf = nil, make([]byte, n+64)
			}
			reply, err := c.Call(context.Background(), call)
			if err != nil {
				t.Fatal(n, inline, err)
			}
			if got, err := readReply(reply); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, inline %v: %d came, %v", n, inline, len(got), err)
			}
		}
	}
}

// The first item sent by chunk begins on a cache line, where copying is fastest, whatever precedes
// it.
func TestItemOnCacheLine(t *testing.T) {
	w := rdmaiotest.New(t)
	f, placed := &file{t: t}, make(chan []byte, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		placed <- r.Placed[0].Data
		f.ServeRPC(r)
	}), nil)
	c := w.Dial(nil)
	for i, n := range []int{5000, 64 << 10, 1 << 20} {
		data := rdmaiotest.Pattern(n, uint64(i))
		if _, err := c.Call(context.Background(), writeCall(uint32(i), 0, data)); err != nil {
			t.Fatal(err)
		}
		got := <-placed
		if at := reflect.ValueOf(got).Pointer() % 64; at != 0 || !bytes.Equal(f.data[:n], data) {
			t.Errorf("%d bytes are %d behind a cache line", n, at)
		}
	}
}
