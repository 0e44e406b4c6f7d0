package reverse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// A handler of the server calls back before it answers, and the client's handler calls again, with
// the same XID each time, in both directions (R268, R269, R273, R274; T116).
func TestHandlersCallBackBothWays(t *testing.T) { rdmaiotest.EachVersion(t, bothWays) }

func bothWays(t *testing.T, w *rdmaiotest.World) {
	served := make(chan uint32, 10)
	var b *rpctest.Both
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf, r.Message[20:24]...)}, nil)
	}
	call := func(c *rdmaio.Conn, proc uint32) error {
		reply, err := c.Call(context.Background(), &rdmaio.Call{Message: rpctest.CallHeader(7, proc).Message()})
		if err != nil {
			return err
		}
		if got := binary.BigEndian.Uint32(reply.Message[24:]); got != proc {
			return fmt.Errorf("the answer is to %d, not to %d", got, proc)
		}
		return nil
	}
	b = rpctest.NewBoth(w, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		proc := binary.BigEndian.Uint32(r.Message[20:])
		if proc < 2 {
			r.Conn().AllowReverse()
			if err := call(r.Conn().(*rdmaio.Conn), proc+10); err != nil {
				t.Error(err)
			}
		}
		served <- proc
		answer(r)
	}), rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		served <- binary.BigEndian.Uint32(r.Message[20:])
		answer(r)
	}), rdmaio.Config{}, rdmaio.Config{})
	for proc := range uint32(2) {
		if err := call(b.Client, proc); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []uint32{10, 0, 11, 1} {
		if got := <-served; got != want {
			t.Errorf("procedure %d was served, want %d", got, want)
		}
	}
	b.Quiet(t)
	for _, c := range []*rdmaio.Conn{b.Client, b.Server} {
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
			return st.Calls == 3 && st.Replies == 3 && st.Reverse.Calls == 2 && st.Reverse.Replies == 2 && (st.Version == 2 || st.Granted == 32 && st.Reverse.Granted == 8)
		})
	}
}

// R280: no reverse Call is sent before the upper layer allows it, nor without ReverseCredits.
func TestReverseCallWaitsForTheUpperLayer(t *testing.T) {
	w := rdmaiotest.New(t)
	s := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{ReverseCredits: 1})
	c := w.Dial(&rdmaio.Config{ReverseHandler: rpctest.Quick(nil)})
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
	conn := rdmaiotest.ServerConn(t, s)
	_, err := conn.Call(context.Background(), rpctest.NullCall(1, 40))
	var ce *rdmaio.CallError
	if !errors.Is(err, rdmaio.ErrReverse) || errors.Is(err, verbs.ErrNotSupported) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Errorf("before it is allowed: %v", err)
	}
	rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool { return st.Reverse.Calls == 0 && st.Sent == 1 })
	conn.AllowReverse()
	if _, err := conn.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
		t.Error(err)
	}
}

// Chunks in the reverse direction work as in the forward one when they are on (R275): the same READ
// and WRITE, with the client as the server.
func TestReverseChunksWorkWhenTheyAreOn(t *testing.T) { rdmaiotest.EachVersion(t, reverseChunks) }

func reverseChunks(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	b := rpctest.NewBoth(w, &rpctest.File{T: t}, f, rdmaio.Config{ReverseChunks: true}, rdmaio.Config{ReverseChunks: true})
	mark := len(w.History.Events())
	rpctest.Writes(t, b.Server, f)
	rpctest.Reads(t, b.Server, f)
	b.Quiet(t)
	keys := 0
	for _, e := range w.Since(mark) {
		switch {
		case e.Device == "server" && e.RKey != 0 && (e.Kind == trace.Register || e.Kind == trace.Reregister):
			keys++
			if e.Access&verbs.AccessRemoteInvalidate != 0 {
				t.Errorf("key %#x may be ended by the peer: only those of forward Calls are", e.RKey)
			}
		case e.Opcode == verbs.SendWithInvalidate:
			t.Errorf("%v", e)
		}
	}
	if keys != 2 {
		t.Errorf("%d keys were given out, want 2", keys)
	}
}

// Without ReverseChunks a reverse message goes only if it fits inline. If not, the sender gets an
// error (R276).
func TestReverseMessageMustFitInline(t *testing.T) { rdmaiotest.Each(t, reverseInlineOnly) }

func reverseInlineOnly(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}
	b := rpctest.NewBoth(w, &rpctest.File{T: t}, f, rdmaio.Config{}, rdmaio.Config{})
	mark := len(w.History.Events())
	xid := uint32(0)
	call := func(c *rdmaio.Call) ([]byte, error) {
		xid++
		binary.BigEndian.PutUint32(c.Inline, xid)
		reply, err := b.Server.Call(context.Background(), c)
		if err != nil || len(c.Results) == 0 {
			return nil, err
		}
		return rpctest.ReadReply(reply)
	}
	// A Call of exactly the threshold, header included, and one of one word more.
	if _, err := call(rpctest.NullCall(0, 1024-28)); err != nil {
		t.Error(err)
	}
	var se *rdmaio.SizeError
	if _, err := call(rpctest.NullCall(0, 1024-28+4)); !errors.As(err, &se) || se.Need != 1028 || se.Limit != 1024 {
		t.Errorf("a Call over the threshold: %v", err)
	}
	if _, err := call(rpctest.WriteCall(0, 0, make([]byte, 2000))); !errors.As(err, &se) {
		t.Errorf("a Call with a large item: %v", err)
	}
	// Results are not offered: a result that fits comes inline, and a larger one is an error at
	// both ends.
	if data, err := call(rpctest.ReadCall(0, 0, make([]byte, 900))); err != nil || !bytes.Equal(data, f.Data[:900]) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	big := rpctest.ReadCall(0, 0, make([]byte, 5000))
	big.ReplyBuf = make([]byte, 6000)
	var pe *rdmaio.PeerError
	if _, err := call(big); !errors.As(err, &pe) || pe.Code != rdmaio.PeerErrChunk {
		t.Errorf("a Reply over the threshold: %v", err)
	}
	for _, e := range w.Since(mark) {
		if (e.Kind == trace.Register || e.Kind == trace.Reregister) && e.RKey != 0 || e.Kind == trace.PostSend && e.Length > 1024 {
			t.Errorf("%v", e)
		}
	}
}

// R124, R277, T118: a raw server that offers chunks without ReverseChunks gets ERR_CHUNK, and the
// connection stays up.
func TestReverseChunkIsRefused(t *testing.T) {
	w := rdmaiotest.New(t)
	ran := 0
	p, c := rdmaiotest.DialRaw(w, &rdmaio.Config{ReverseHandler: rdmaio.HandlerFunc(func(r *rdmaio.Request) { ran++; rpctest.Quick(nil).ServeRPC(r) })})
	o := p.Offer(8192, rdmaiotest.AnyAccess)
	key, at := fmt.Sprintf("%08x", o.RKey()), fmt.Sprintf("%016x", o.RemoteAddr())
	for _, m := range []string{
		peertest.Msg(peertest.ReadSegment(40, key, 8, at)), peertest.Nomsg(peertest.ReadSegment(0, key, 40, at)),
		peertest.Head + "00000000 00000000 00000001 00000001 " + key + " 00000100 " + at + " 00000000 00000000" + peertest.GoodCall,
		peertest.Head + "00000000 00000000 00000000 00000001 00000001 " + key + " 00001000 " + at + peertest.GoodCall,
	} {
		p.Send(peertest.Bytes(t, m))
		if got, want := p.Message(peertest.Patience), peertest.Bytes(t, "cafe0001 00000001 00000008 00000004 00000002"); !bytes.Equal(got, want) {
			t.Errorf("answer %v, want %v", got, want)
		}
	}
	p.Send(peertest.Bytes(t, peertest.Msg("")))
	if got := p.Message(peertest.Patience); len(got) != 28+24 || ran != 1 {
		t.Errorf("a Call without chunks is answered with %v", got)
	}
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
		return st.FaultyMessages == 4 && st.Reverse.Calls == 5 && st.ErrorMessages == 4
	})
}

// R281, T117: a client without a handler, and one whose handler is busy, drop 10,000 unrequested
// reverse Calls (T119, B21). Forward Calls are served at the same time.
func TestUnrequestedReverseCallsAreDropped(t *testing.T) {
	for _, serves := range []int{0, 3} {
		t.Run(fmt.Sprint(serves), func(t *testing.T) {
			w := rdmaiotest.New(t)
			h := rpctest.Silent{Got: make(chan *rdmaio.Request, 64)}
			cfg := &rdmaio.Config{Credits: 2, ReverseHandler: h, ReverseCredits: serves}
			if serves == 0 {
				cfg.ReverseHandler = nil
			}
			p, c := rdmaiotest.DialRaw(w, cfg)
			const flood, every = 10000, 1000
			for i := range flood {
				p.Send(peertest.Bytes(t, peertest.Msg("")))
				if i%every != every/2 {
					continue
				}
				done := make(chan error, 1)
				go func() {
					_, err := c.Call(context.Background(), rpctest.NullCall(uint32(i), 40))
					done <- err
				}()
				call := p.Message(peertest.Patience)
				p.Send(append(append(call[:8:8], peertest.Bytes(t, "00000002 00000000 00000000 00000000 00000000")...), rpctest.ReplyHeader(uint32(i)).Buf...))
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			for range serves {
				rpctest.Quick(nil).ServeRPC(<-h.Got)
			}
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
				return st.Reverse.Calls == uint64(serves) && st.DroppedMessages == uint64(flood-serves) && st.Replies == flood/every &&
					(serves == 0 || st.CallsOverCredit == st.DroppedMessages)
			})
			if len(h.Got) != 0 || c.Err() != nil {
				t.Errorf("%d more were served; %v", len(h.Got), c.Err())
			}
		})
	}
}

// Callers on both sides at once, more than there are credits, with messages of all shapes. Each
// gets its own answer, and the two directions share the Receives (R266, R270, R271).
func TestBothSidesCallAtOnce(t *testing.T) { rdmaiotest.EachWithHeads(t, bothBusy) }

func bothBusy(t *testing.T, w *rdmaiotest.World) {
	const callers, each = 16, 40
	files := [2]*rpctest.File{{T: t, Data: rdmaiotest.Pattern(70000, 1)}, {T: t, Data: rdmaiotest.Pattern(70000, 2)}}
	slow := [2]*rpctest.Later{{Handler: files[0]}, {Handler: files[1]}} // so that Calls overlap
	t.Cleanup(slow[0].Running.Wait)
	t.Cleanup(slow[1].Running.Wait)
	b := rpctest.NewBoth(w, slow[0], slow[1],
		rdmaio.Config{Credits: 5, ReverseCredits: 3, ReverseChunks: true, SendQueue: 16},
		rdmaio.Config{Credits: 6, ReverseCredits: 4, ReverseChunks: true, SendQueue: 16})
	var wg sync.WaitGroup
	for i, c := range []*rdmaio.Conn{b.Client, b.Server} {
		var xid atomic.Uint32
		for range callers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				buf := make([]byte, 5000)
				for range each {
					x := xid.Add(1)
					n := 1 + int(x*37)%len(buf)
					reply, err := c.Call(context.Background(), rpctest.ReadCall(x, uint64(x), buf[:n]))
					if err != nil {
						t.Error(err)
						return
					}
					if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, files[i].Data[x:int(x)+n]) {
						t.Errorf("other data: %v", err)
						return
					}
				}
			}()
		}
	}
	wg.Wait()
	b.Quiet(t)
	for c, recvs := range map[*rdmaio.Conn]int{b.Client: 6 + 4, b.Server: 5 + 3} {
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
			return st.Calls == callers*each+1 && st.Reverse.Calls == callers*each && st.PostedRecvs == recvs &&
				st.Granted == 5 && st.Reverse.Granted == 3 && st.CallsOverCredit == 0
		})
	}
	list := w.Since(0)
	for device, want := range map[string]struct{ calls, most int }{"client": {callers*each + 1, 5}, "server": {callers * each, 3}} {
		l, err := rdmaiotest.Audit(list, device)
		if err != nil {
			t.Error(err)
		}
		if l.Calls != want.calls || l.Replies != want.calls || l.MostOutstanding != want.most || len(l.Outstanding)+len(l.Unanswered) != 0 {
			t.Errorf("%s: %d Calls and %d replies, %d out at a time, %d and %d left over", device, l.Calls, l.Replies, l.MostOutstanding, len(l.Outstanding), len(l.Unanswered))
		}
	}
}

// When the connection is lost, the Calls of both sides fail, and the errors say which may have run
// (R278: the owner of the next connection sends again; T120).
func TestLostConnectionEndsCallsBothWays(t *testing.T) { rdmaiotest.EachVersion(t, reverseLost) }

func reverseLost(t *testing.T, w *rdmaiotest.World) {
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 4)}
	b := rpctest.NewBoth(w, h, h, rdmaio.Config{}, rdmaio.Config{})
	failed := make(chan error, 2)
	for _, c := range []*rdmaio.Conn{b.Client, b.Server} {
		go func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(1, 40))
			failed <- err
		}()
	}
	held := []*rdmaio.Request{<-h.Got, <-h.Got}
	closed := make(chan error, 1)
	go func() { closed <- b.Client.Close() }()
	for range 2 {
		var ce *rdmaio.CallError
		if err := <-failed; !errors.As(err, &ce) || !ce.MayHaveRun || !(errors.Is(err, rdmaio.ErrClosed) || errors.Is(err, verbs.ErrPeerDisconnected)) {
			t.Error(err)
		}
	}
	for _, r := range held {
		rpctest.Quick(nil).ServeRPC(r)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
