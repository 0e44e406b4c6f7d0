package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	wire "github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// fill puts anything into bytes.
func fill(b []byte) {
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
}

// T1, T2, T12, T50, T119, T122, T125, T128, A13 to A20: a peer on a bare socket repeats an attack
// on a server thousands of times. Another client is served at the same time. After the peer has
// gone, its connections, goroutines and memory are released.
func TestServerSurvivesFloods(t *testing.T) {
	many := 2000
	if testing.Short() {
		many = 500
	}
	flood := func(message func(i int) []byte) func(t *testing.T, p *rdmaiotest.SocketPeer) {
		return func(t *testing.T, p *rdmaiotest.SocketPeer) {
			p.Connect(nil)
			go p.Drain()
			p.Write(p.Sends(many, message))
		}
	}
	xid := func(i int) uint32 { return 0xcafe0000 + uint32(i) }
	for name, attack := range map[string]func(t *testing.T, p *rdmaiotest.SocketPeer){
		"RDMA_DONE of nothing":     flood(func(i int) []byte { return peertest.Words(xid(i), 1, 1, 3) }),
		"RDMA_ERROR to nothing":    flood(func(i int) []byte { return peertest.Words(xid(i), 1, 1, 4, 2) }),
		"Replies to nothing":       flood(func(i int) []byte { return peertest.Words(xid(i), 1, 1, 0, 0, 0, 0, xid(i), 1, 0, 0, 0, 0) }),
		"Calls beyond the grant":   flood(func(i int) []byte { return peertest.NullCall(xid(i), 1, false) }),
		"one Call again and again": flood(func(i int) []byte { return peertest.NullCall(xid(0), 1, false) }),
		"credits that jump": flood(func(i int) []byte {
			return peertest.NullCall(xid(i), []uint32{0, 0xffffffff, 1, 0x80000000, rand.Uint32()}[i%5], false)
		}),
		"headers that are wrong": flood(func(i int) []byte { return peertest.Words(xid(i), 1, 1, 5, 0, 0, 0) }),
		"messages of nothing":    flood(func(i int) []byte { return nil }),
		"bytes":                  flood(func(i int) []byte { b := make([]byte, 1+i%1000); fill(b); return b }),
		"RDMA Reads that never end": func(t *testing.T, p *rdmaiotest.SocketPeer) {
			p.Connect(nil)
			p.Write(p.Sends(16, func(i int) []byte { return peertest.NullCall(xid(i), 16, true) }))
			for reads := 0; ; {
				h, _, ok := p.Read()
				if ok && h.Type == wire.ReadRequest {
					reads++
				}
				if !ok { // it had enough of waiting
					if reads == 0 {
						t.Error("nothing was read: the test proves nothing")
					}
					return
				}
			}
		},
		"Replies that the peer does not read": func(t *testing.T, p *rdmaiotest.SocketPeer) {
			p.Connect(nil)
			p.Write(p.Sends(many, func(i int) []byte { return peertest.NullCall(xid(i), 1, false) }))
		},
		"private data of any kind": func(t *testing.T, p *rdmaiotest.SocketPeer) {
			p.Conn.Close()
			for i := range 40 {
				private := make([]byte, i%57)
				fill(private)
				copy(private[min(len(private), i%7):], []byte{0xf6, 0xab, 0x0e, 0x18, byte(i % 3), byte(i), byte(i), byte(i)}[:min(8, max(0, len(private)-i%7))])
				q := rdmaiotest.DialSocket(t, p.Conn.RemoteAddr().String())
				q.Connect(private)
				q.Conn.Close()
			}
		},
		"connections dropped at each byte": func(t *testing.T, p *rdmaiotest.SocketPeer) {
			addr := p.Conn.RemoteAddr().String()
			p.Conn.Close()
			first := p.Segment(wire.Header{Type: wire.Write}, rdmaiotest.Hello(make([]byte, 20)), nil)
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := g; i < many/2; i += 4 {
						conn, err := net.Dial("tcp", addr)
						if err != nil {
							continue // the system refuses connections for now
						}
						if i%2 == 0 {
							_ = conn.(*net.TCPConn).SetLinger(0) // a reset
						}
						_, _ = conn.Write(first[:i%(len(first)+1)])
						conn.Close()
					}
				})
			}
			wg.Wait()
		},
		// The length field is too large.
		"private data cut": func(t *testing.T, p *rdmaiotest.SocketPeer) {
			control := rdmaiotest.Hello(make([]byte, 20))
			control[7] = 200
			p.Write(p.Segment(wire.Header{Type: wire.Write}, control, nil))
			p.Drain()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, legacy := range []bool{false, true} {
				underFlood(t, attack, legacy)
			}
		})
	}
}

// underFlood has several attackers at a server that also has an honest client.
func underFlood(t *testing.T, attack func(t *testing.T, p *rdmaiotest.SocketPeer), legacy bool) {
	w := rdmaiotest.NewBare(t)
	base := rdmaiotest.Goroutines()
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
	}), &rdmaio.Config{Credits: 8, WorkTimeout: 100 * time.Millisecond, Legacy: legacy})
	c := w.Dial(nil)
	honest := func(n uint32) {
		if _, err := c.Call(context.Background(), rpctest.NullCall(n, 40)); err != nil {
			t.Error(err)
		}
	}
	honest(1)
	before := rdmaiotest.HeapInUse()
	var done atomic.Bool
	var client, attackers sync.WaitGroup
	served := uint32(1)
	client.Go(func() {
		for n := 0; n < 20 || !done.Load(); n++ {
			served++
			honest(served)
			time.Sleep(100 * time.Microsecond)
		}
	})
	for range 3 {
		attackers.Go(func() {
			p := rdmaiotest.DialSocket(t, w.Addr)
			attack(t, p)
			p.Conn.Close()
		})
	}
	attackers.Wait()
	done.Store(true)
	client.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for len(s.Conns()) > 1 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := len(s.Conns()); n != 1 {
		t.Errorf("%d connections, want the honest one", n)
	}
	// Connections of attackers in the handshake are not in Conns, and may end later on a busy
	// machine.
	grown := rdmaiotest.HeapInUse() - before
	for grown > 1<<20 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		grown = rdmaiotest.HeapInUse() - before
	}
	if grown > 1<<20 {
		t.Errorf("%d KiB are kept", grown>>10)
	}
	// Its own memory is released with it, and nothing else is left.
	_ = c.Close()
	_ = s.Close()
	for rdmaiotest.Goroutines() > base && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := rdmaiotest.Goroutines(); n > base {
		t.Errorf("%d goroutines, there were %d", n, base)
	}
}

// T3 to T5, T12, T63, T122: a server on a bare socket grants arbitrary credits, answers twice, and
// sends errors and RDMA_DONE in between. The client's Calls are answered, no more Calls are in
// flight than it asked for, and memory does not grow.
func TestClientSurvivesAnyGrants(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			w := rdmaiotest.NewTCP(t)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			w.Addr = ln.Addr().String()
			ended := make(chan struct{})
			most, calls := 0, 0
			go func() {
				defer close(ended)
				defer ln.Close()
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				p := rdmaiotest.NewSocket(t, conn)
				if !p.Accept() {
					t.Error("no hello")
					return
				}
				r := rand.New(rand.NewPCG(9, 9))
				grant := uint32(1)
				for out := []uint32{}; ; {
					h, b, ok := p.Read()
					if !ok {
						return
					}
					if h.Type != wire.Send || len(b) == 0 { // that the client leaves
						continue
					}
					out = append(out, binary.BigEndian.Uint32(b))
					calls++
					most = max(most, len(out))
					if len(out) > max(1, min(int(grant), 16)) {
						t.Errorf("%d Calls out, %d granted", len(out), grant)
						return
					}
					if r.IntN(3) == 0 && len(out) < max(1, min(int(grant), 16)) && calls < 400 {
						continue // let some gather
					}
					for _, xid := range out {
						grant = []uint32{0, 0xffffffff, 1, 3, 0x80000000, r.Uint32N(20)}[r.IntN(6)]
						noise := [][]byte{peertest.Words(r.Uint32(), 1, grant, 3), peertest.Words(r.Uint32(), 1, grant, 4, 2), peertest.Words(r.Uint32(), 1, grant, 4, 1, 1, 1), peertest.Words(r.Uint32())}
						answers := 1 + r.IntN(2)
						reply := peertest.Words(xid, 1, grant, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0)
						if !p.Write(p.Sends(answers, func(int) []byte { return reply })) || !p.Write(p.Sends(r.IntN(3), func(i int) []byte { return noise[r.IntN(4)] })) {
							return
						}
					}
					out = out[:0]
				}
			}()
			c := w.Dial(&rdmaio.Config{Credits: 16, Legacy: legacy})
			var wg sync.WaitGroup
			for g := range 24 {
				wg.Go(func() {
					for i := range 30 {
						ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
						if _, err := c.Call(ctx, rpctest.NullCall(uint32(1+g*100+i), 40)); err != nil {
							t.Error(err)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.OverGrants > 0 && st.ZeroGrants > 0 })
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			<-ended
			if most < 2 {
				t.Errorf("%d Calls, never two at a time", calls)
			}
		})
	}
}
