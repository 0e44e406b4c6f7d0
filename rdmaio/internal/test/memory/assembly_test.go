package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// bigRead is a Call of a few bytes whose read chunk names n bytes.
func bigRead(xid uint32, n uint32) []byte {
	return peertest.Words(xid, 1, 16, 0, 1, 40, 0x1234, n, 0, 0, 0, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
}

// R309, A13: a connection retains for Calls with chunks at most 64 KiB and four times the bytes
// that the peer has delivered, however much its Calls claim, and wherever the peer stops serving
// RDMA Reads.
func TestMemoryFollowsDelivery(t *testing.T) {
	for name, serves := range map[string]int{"no Read served": 0, "one Read served": 1, "two Reads served": 2, "three Reads served": 3} {
		t.Run(name, func(t *testing.T) {
			w := rdmaiotest.NewBare(t)
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { t.Error("a Call was delivered") }), nil)
			p := rdmaiotest.DialSocket(t, w.Addr)
			p.Connect(nil)
			const calls, each = 16, 1 << 20
			p.Write(p.Sends(calls, func(i int) []byte { return bigRead(0xcafe0000+uint32(i), each) }))
			delivered := calls * len(bigRead(0, 0))
			for i := 0; ; i++ {
				h, ok := p.ReadRequest()
				if !ok {
					t.Fatal("no Read")
				}
				if i == serves {
					break
				}
				p.ServeRead(h)
				delivered += int(h.RDMALength)
			}
			conn := rdmaiotest.ServerConn(t, s)
			for conn.Stats().Received < calls {
				time.Sleep(time.Millisecond)
			}
			st := conn.Stats()
			const messages = (32 + 1) * 1024 // Receives, and a send buffer
			if got, most := int(st.BufferBytes)-messages, 64<<10+4*delivered; got > most || got <= 0 {
				t.Errorf("%d bytes for Calls with chunks after %d were delivered, want at most %d", got, delivered, most)
			}
			// The Call that is fetched counts with its whole length.
			if got := s.Stats().Memory; got > int64(each+100+4*delivered) || got < each {
				t.Errorf("%d bytes of Config.MaxMemory are taken", got)
			}
		})
	}
}

// Calls that begin in short buffers arrive whole, in each shape and with any number of concurrent
// RDMA Reads, and their memory is released.
func TestGrowingCallsArrive(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		for _, reads := range []int{0, 1, 3} {
			if w.Net != nil {
				w.ListenAddr = fmt.Sprint("there ", reads)
			}
			var mu sync.Mutex
			got := make(map[uint32][]byte)
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				mu.Lock()
				got[rpctest.XID(r.Message)] = bytes.Clone(r.Message)
				mu.Unlock()
				r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
			}), nil)
			c := w.Dial(&rdmaio.Config{SegmentSize: 30_001})
			conn := rdmaiotest.ServerConn(t, s)
			if reads > 0 {
				if err := conn.SetTerms(rdmaio.Terms{Reads: reads}); err != nil {
					t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			calls := make(map[uint32]*rdmaio.Call)
			for xid := range uint32(8) {
				call := rpctest.WriteCall(xid, 0, rdmaiotest.Pattern(20_000+60_000*int(xid), uint64(xid)))
				if xid%3 == 2 { // a whole message by chunk
					call.Inline = append(call.Inline, rdmaiotest.Pattern(4000*int(xid), 7)...)
				}
				calls[xid] = call
				wg.Go(func() {
					if _, err := c.Call(context.Background(), call); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for xid, call := range calls {
				if want := rpctest.Whole(call.Message); !bytes.Equal(got[xid], want) {
					t.Errorf("with %d Reads at a time Call %d came as %d bytes, want %d, or differs", reads, xid, len(got[xid]), len(want))
				}
			}
			rdmaiotest.AwaitStats(t, conn, func(*rdmaio.Stats) bool { return s.Stats().Memory == 0 })
		}
	})
}

// If a connection is closed while a Call is growing, and others wait for memory, all of them fail,
// and their memory is released.
func TestGrowingCallsEndWithTheConnection(t *testing.T) {
	w := rdmaiotest.NewBare(t)
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { t.Error("a Call was delivered") }), nil)
	for serves := range 3 {
		p := rdmaiotest.DialSocket(t, w.Addr)
		p.Connect(nil)
		p.Write(p.Sends(8, func(i int) []byte { return bigRead(uint32(i), 900_000) }))
		for i := range serves + 1 {
			h, ok := p.ReadRequest()
			if !ok {
				t.Fatal("no Read")
			}
			if i < serves {
				p.ServeRead(h)
			}
		}
		p.Conn.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for (len(s.Conns()) > 0 || s.Stats().Memory != 0) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if st := s.Stats(); st.Conns != 0 || st.Memory != 0 {
		t.Errorf("%+v", st)
	}
}
