package version2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// runCounts counts how often each Call ran, and answers with a reply of as many bytes as the Call
// had.
type runCounts struct {
	mu   sync.Mutex
	ran  map[uint32]int
	vers map[int]int // by the version of the connection
}

func (c *runCounts) ServeRPC(r *rdmaio.Request) {
	xid := binary.BigEndian.Uint32(r.Message)
	c.mu.Lock()
	c.ran[xid]++
	c.vers[r.Conn().(*rdmaio.Conn).Terms().Version]++
	c.mu.Unlock()
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyBytes(xid, len(r.Message))}, nil)
}

// checks fails the test unless each of the n Calls ran once.
func (c *runCounts) checks(t *testing.T, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ran) != n {
		t.Errorf("%d Calls ran, want %d", len(c.ran), n)
	}
	for xid, times := range c.ran {
		if times != 1 {
			t.Errorf("the Call %#x ran %d times", xid, times)
		}
	}
}

// Clients of all versions use a server on one address at the same time. No Call is lost or runs
// twice, whether the connection began with its version or fell back to it (R183, R184, R187, R188).
func TestClientsOfAllVersionsShareAServer(t *testing.T) {
	for _, c := range []struct {
		server  []int
		clients [][]int
		want    []int // the versions of their connections; 0: no connection
	}{
		{[]int{2, 1}, [][]int{nil, {2}, {2, 1}, {1, 2}}, []int{1, 2, 2, 1}},
		{[]int{1, 2}, [][]int{{1}, {2}, {2, 1}, {1, 2}}, []int{1, 2, 2, 1}},
		{nil, [][]int{nil, {2}, {2, 1}, {1, 2}}, []int{1, 0, 1, 1}},
		{[]int{2}, [][]int{{2}, {2, 1}}, []int{2, 2}},
	} {
		v2test.Each(t, fmt.Sprint("server ", c.server), func(t *testing.T, w *rdmaiotest.World) {
			h := &runCounts{ran: map[uint32]int{}, vers: map[int]int{}}
			w.Serve(h, &rdmaio.Config{Versions: c.server, Credits: 5, InlineSend: 4096, InlineRecv: 4096})
			const each = 60
			var wg sync.WaitGroup
			total, byVersion := 0, map[int]int{}
			for i, versions := range c.clients {
				cfg := rdmaiotest.Smallest(&rdmaio.Config{Versions: versions})
				conn, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, cfg)
				if (err != nil) != (c.want[i] == 0) {
					t.Fatalf("client %v: %v", versions, err)
				}
				if err != nil {
					continue
				}
				if got := conn.Terms().Version; got != c.want[i] {
					t.Errorf("client %v has version %d, want %d", versions, got, c.want[i])
				}
				byVersion[c.want[i]] += each
				for k := range each {
					wg.Add(1)
					total++
					go func() {
						defer wg.Done()
						xid, n := uint32(1000*i+k), 40+400*k
						call := rpctest.BigCall(xid, n)
						call.MaxReply = n
						r, err := conn.Call(context.Background(), call)
						if err != nil || !bytes.Equal(r.Message, rpctest.ReplyBytes(xid, n)) {
							t.Errorf("the Call %#x: %v, or other bytes", xid, err)
						}
					}()
				}
				defer conn.Close()
			}
			wg.Wait()
			h.checks(t, total)
			for v, n := range byVersion {
				if h.vers[v] != n {
					t.Errorf("%d Calls by version %d, want %d", h.vers[v], v, n)
				}
			}
		})
	}
}

// A Client that prefers version 2 uses a server of version 1: its first Calls wait for the
// fall-back, and run once (R184).
func TestClientFallsBackToVersion1(t *testing.T) {
	for _, versions := range [][]int{{2, 1}, {2}} {
		for _, server := range [][]int{nil, {1, 2}} {
			if len(versions) == 1 && server == nil {
				continue
			}
			v2test.Each(t, fmt.Sprintf("client %v, server %v", versions, server), func(t *testing.T, w *rdmaiotest.World) {
				h := &runCounts{ran: map[uint32]int{}, vers: map[int]int{}}
				w.Serve(h, &rdmaio.Config{Versions: server})
				cl, err := rdmaio.NewClient(w.Client, w.Addr, &rdmaio.ClientConfig{Conn: &rdmaio.Config{Versions: versions}})
				if err != nil {
					t.Fatal(err)
				}
				defer cl.Close()
				var wg sync.WaitGroup
				const n = 50
				for xid := range uint32(n) {
					wg.Add(1)
					go func() {
						defer wg.Done()
						if _, err := cl.Call(context.Background(), rpctest.BigCall(xid, 40)); err != nil {
							t.Error(err)
						}
					}()
				}
				wg.Wait()
				h.checks(t, n)
			})
		}
	}
}

// T93: a Client whose connection is lost between the parts of a Call sends the whole Call again on
// the next one, with the same XID.
func TestCallInPartsIsSentAgainWhole(t *testing.T) {
	v2test.Each(t, "lost after the first part", func(t *testing.T, w *rdmaiotest.World) {
		ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		cl, err := rdmaio.NewClient(w.Client, ln.Addr(), &rdmaio.ClientConfig{Conn: v2test.Config(rdmaio.Config{Continue: 1 << 20})})
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		done := make(chan error, 1)
		go func() {
			_, err := cl.Call(context.Background(), rpctest.BigCall(9, 12000))
			done <- err
		}()
		for i := range 3 {
			p := peer2.New(t, w.Server, peer2.Config{Ceiling: 1})
			if !p.Accept(ln, nil) {
				return
			}
			p.Send(peer2.Props(p.Next().XID))
			m := p.Next()
			payload := m.Payload
			for part := 0; part < i || i == 2 && m.Flags&peer2.More != 0; part++ {
				p.SendWith(peer2.Grant(), 1, 1)
				m = p.Next()
				payload = append(payload, m.Payload...)
			}
			if i < 2 {
				if err := p.QP.Disconnect(); err != nil {
					t.Error(err)
				}
				continue
			}
			if !bytes.Equal(payload, rpctest.CallBytes(9, 12000)) || m.XID != 9 {
				t.Errorf("the Call came again with other bytes: %v", m)
			}
			p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// T90, T127: continued messages that never end, on many connections, take no more than
// Config.MaxMemory. Calls that fit inline are served at the same time, on all connections.
func TestManyOpenSequencesKeepToMaxMemory(t *testing.T) {
	v2test.Each(t, "40 connections", func(t *testing.T, w *rdmaiotest.World) {
		a := new(rpctest.App)
		w.Serve(a, v2test.Config(rdmaio.Config{MaxMemory: 3 * 256 << 10, Credits: 4}))
		var peers []*peer2.Peer
		for i := range 40 {
			p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{Ceiling: 2}))
			for _, part := range peer2.Call(uint32(i), rpctest.CallBytes(uint32(i), 40000)).Split(every(40000, 4000)...)[:9] {
				p.Send(part)
			}
			peers = append(peers, p)
		}
		v2test.Works(t, v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{})), 99)
		answers := map[uint32]int{} // by the code of the ERROR; 0: Replies
		for i, p := range peers {
			last := peer2.Call(uint32(i), rpctest.CallBytes(uint32(i), 40000)).Split(every(40000, 4000)...)
			p.Send(last[9])
			m, _ := p.Whole()
			answers[m.Code]++
			v2test.Works(t, p, 200)
		}
		if answers[0] == 0 || answers[peer2.ErrSystem] == 0 || len(answers) != 2 {
			t.Errorf("answers by code: %v, want some of 0 (Replies) and of 10", answers)
		}
	})
}
