package messages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// R104 to R107: if both ends have Legacy, a result without offered memory arrives nevertheless: the
// client reads it and sends RDMA_DONE, and the server's key is invalidated. The same holds for a
// whole long Reply.
func TestLegacyReplyIsRead(t *testing.T) { rdmaiotest.Each(t, legacyReply) }

func legacyReply(t *testing.T, w *rdmaiotest.World) {
	l := &rpctest.ReadChunkFile{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(60000, 5)}, Sent: make(chan error, 1)}
	long := false
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if long {
			rpctest.Echo{}.ServeRPC(r)
			return
		}
		l.ServeRPC(r)
	}), &rdmaio.Config{Legacy: true})
	// ReverseChunks has no effect here: no reverse Call is served.
	c := w.Dial(&rdmaio.Config{Legacy: true, ReverseChunks: true})
	// The lengths rise because memory follows delivery (TestMemoryFollowsDelivery).
	for i, n := range []int{3000, 30001, 50001} {
		mark := len(w.History.Events())
		reply, err := c.Call(context.Background(), rpctest.PlainRead(uint32(i), 7, n))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, l.Data[7:7+n]) {
			t.Errorf("%d bytes of %d, %v", len(data), n, err)
		}
		if err := <-l.Sent; err != nil {
			t.Errorf("the handler: %v", err)
		}
		live, reads := 0, 0
		for _, e := range w.Since(mark) {
			switch {
			case e.Device == "client" && e.Kind == trace.PostSend && e.Opcode == verbs.RDMARead:
				reads++
			case e.Device != "server" || e.RKey == 0:
			case e.Kind == trace.Register, e.Kind == trace.Reregister:
				if live++; e.Access != verbs.AccessRemoteRead {
					t.Errorf("R304: rights %v", e.Access)
				}
			case e.Kind == trace.Invalidate:
				live--
			}
		}
		if reads != 1 || live != 0 {
			t.Errorf("%d Reads, %d keys live after done", reads, live)
		}
	}
	long = true
	e := rpctest.CallHeader(9, 0)
	e.Opaque("item", rdmaiotest.Pattern(3000, 1))
	call := &rdmaio.Call{Message: e.Message()}
	reply, err := c.Call(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rpctest.Unecho(reply, 0); err != nil || !bytes.Equal(got, rpctest.Whole(call.Message)[8:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
		return st.DoneMessages == 4 && st.InFlight == 0 && st.SendQueueFilled == 0 && st.FaultyMessages+st.DroppedMessages+st.ErrorMessages == 0
	})
}

// Many callers, few credits: DONE always has a credit, and no Reply waits indefinitely (R106,
// R108).
func TestDoneAlwaysHasACredit(t *testing.T) { rdmaiotest.Each(t, legacyBusy) }

func legacyBusy(t *testing.T, w *rdmaiotest.World) {
	const callers, each = 12, 30
	l := &rpctest.ReadChunkFile{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(60000, 6)}}
	s := w.Serve(l, &rdmaio.Config{Legacy: true, Credits: 3})
	c := w.Dial(&rdmaio.Config{Legacy: true, Credits: 4})
	var xid atomic.Uint32
	var wg sync.WaitGroup
	for range callers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				x := xid.Add(1)
				n := 900 + int(x*97)%3000
				reply, err := c.Call(context.Background(), rpctest.PlainRead(x, uint64(x), n))
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, l.Data[x:int(x)+n]) {
					t.Errorf("%d bytes of %d, %v", len(data), n, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	for _, conn := range []*rdmaio.Conn{c, rdmaiotest.ServerConn(t, s)} {
		rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool {
			return st.Calls == callers*each && st.DoneMessages > 0 && st.DoneMessagesDue == 0 && st.InFlight == 0 && st.Waiting == 0 &&
				st.FaultyMessages+st.DroppedMessages+st.ErrorMessages+st.CallsOverCredit == 0
		})
	}
	if a, b := c.Stats().DoneMessages, rdmaiotest.ServerConn(t, s).Stats().DoneMessages; a != b {
		t.Errorf("%d DONEs sent, %d received", a, b)
	}
}

// R109, T122: a client that never sends DONE loses the connection, and the handler gets its memory
// back.
func TestClientThatSendsNoDoneIsLost(t *testing.T) {
	w := rdmaiotest.New(t)
	l := &rpctest.ReadChunkFile{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}, Sent: make(chan error, 1)}
	s := w.Serve(l, &rdmaio.Config{Legacy: true, WorkTimeout: 30 * time.Millisecond})
	p := w.DialRaw(t)
	m := rpctest.PlainRead(0xcafe0001, 0, 4000).Inline
	p.Send(append(peertest.Bytes(t, peertest.Head+"00000000 00000000 00000000 00000000"), m...))
	if got := p.Message(peertest.Patience); len(got) < 28+24 || got[19] != 1 {
		t.Fatalf("reply %v", got)
	}
	conn := rdmaiotest.ServerConn(t, s)
	if err := <-l.Sent; !errors.Is(err, rdmaio.ErrNoDone) {
		t.Errorf("the handler: %v", err)
	}
	<-conn.Done()
	if !errors.Is(conn.Err(), rdmaio.ErrNoDone) {
		t.Errorf("ended with %v", conn.Err())
	}
	<-p.Lost
}

// T70, R326: a client of RFC 8166 treats such a Reply as an error, and reads nothing; a server of
// RFC 8166 offers none.
func TestLegacyNeedsBothSides(t *testing.T) {
	for _, server := range []bool{true, false} {
		w := rdmaiotest.New(t)
		l := &rpctest.ReadChunkFile{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}, Sent: make(chan error, 1)}
		w.Serve(l, &rdmaio.Config{Legacy: server, WorkTimeout: 30 * time.Millisecond})
		c := w.Dial(&rdmaio.Config{Legacy: !server})
		_, err := c.Call(context.Background(), rpctest.PlainRead(1, 0, 4000))
		var f *rdmaio.Fault
		var pe *rdmaio.PeerError
		if server != errors.As(err, &f) || server == errors.As(err, &pe) {
			t.Errorf("switch at the server %v: %v", server, err)
		}
		if n := rdmaiotest.Count(w.Since(0), func(e *trace.Event) bool { return e.Kind == trace.PostSend && e.Opcode == verbs.RDMARead }); n != 0 {
			t.Errorf("%d Reads", n)
		}
		if err := <-l.Sent; err == nil {
			t.Error("done reported success to the handler")
		}
	}
}

// R111, A20: the bytes to skip in a message whose data is aligned by hand. No number of the peer
// leads to a skip beyond its alignment (T123).
func TestPaddingIsSkipped(t *testing.T) {
	w := rdmaiotest.New(t)
	got := make(chan string, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		const at = 40 + 4 // after the length word
		n := int(binary.BigEndian.Uint32(r.Message[40:]))
		skip := r.Padding.Skip(at, n)
		got <- fmt.Sprintf("%d %q", skip, r.Message[min(at+skip, len(r.Message)):])
		rpctest.Quick(nil).ServeRPC(r)
	}), &rdmaio.Config{Legacy: true})
	p := w.DialRaw(t)
	for _, c := range []struct{ align, threshold, want string }{
		{"00000080", "00000008", `48 "aligned."`},
		// 8 bytes: under the threshold.
		{"00000080", "00000009", `0 "` + string(bytes.Repeat([]byte("p"), 48)) + `aligned."`},
		// Past the end: the decoder refuses it.
		{"00040000", "00000001", `262064 ""`},
		{"00000001", "00000001", `0 "` + string(bytes.Repeat([]byte("p"), 48)) + `aligned."`},
	} {
		m := peertest.Bytes(t, peertest.Head+"00000002 "+c.align+c.threshold+"00000000 00000000 00000000"+peertest.GoodCall+"00000008")
		m = append(m, bytes.Repeat([]byte("p"), 48)...) // header 36, Call 40, length 4: data at 128
		p.Send(append(m, "aligned."...))
		if s := <-got; s != c.want {
			t.Errorf("align %s, threshold %s: %s, want %s", c.align, c.threshold, s, c.want)
		}
		if p.Message(peertest.Patience) == nil {
			t.Fatal("no reply")
		}
	}
}

// Config.Legacy concerns version 1 alone: on the same server, a reply that fits nowhere goes by
// read chunks and RDMA_DONE in version 1, and in several Sends in version 2, or by the reply chunk
// that the client then offers.
func TestLegacyConcernsVersion1Alone(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		runs := 0
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			runs++
			n := int(binary.BigEndian.Uint32(r.Message[40:]))
			r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf, make([]byte, n-24)...)}, nil)
		}), &rdmaio.Config{Legacy: true, Versions: []int{1, 2}, MaxContinued: 100_000})
		for i, tt := range []struct {
			version, reply, done int
		}{{1, 20_000, 1}, {2, 20_000, 0}, {2, 200_000, 0}, {1, 200_000, 1}} {
			c := w.Dial(&rdmaio.Config{Legacy: true, Versions: []int{tt.version}, InlineSend: 4096, InlineRecv: 4096})
			call := rpctest.CallHeader(uint32(100+i), rpctest.ProcNull)
			call.Words(uint32(tt.reply))
			reply, err := c.Call(context.Background(), &rdmaio.Call{Message: call.Message(), MaxReply: -1})
			if err != nil {
				t.Errorf("version %d, %d bytes: %v", tt.version, tt.reply, err)
				continue
			}
			if len(reply.Message) != tt.reply {
				t.Errorf("version %d: a reply of %d bytes, want %d", tt.version, len(reply.Message), tt.reply)
			}
			if runs != i+1 {
				t.Errorf("version %d, %d bytes: %d Calls were executed, want %d", tt.version, tt.reply, runs, i+1)
			}
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.Version == tt.version && st.DoneMessages == uint64(tt.done) })
		}
	})
}
