package tcp_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// sysCall returns a Call of a procedure with an AUTH_SYS credential that has groups.
func sysCall(xid, proc uint32, groups int) []byte {
	cred := []uint32{0, 0, 1, 2, uint32(groups)} // stamp, no name, user, group
	cred = append(cred, make([]uint32, groups)...)
	words := append([]uint32{xid, 0, 2, 400001, 3, proc, 1, uint32(4 * len(cred))}, cred...)
	return record(append(words, 0, 0)...)
}

// flood writes a stream, and discards the answers until the server closes the connection.
func flood(c net.Conn, stream []byte) {
	over := make(chan struct{})
	go func() { defer close(over); _, _ = io.Copy(io.Discard, c) }()
	_, _ = c.Write(stream)
	_ = c.(*net.TCPConn).CloseWrite()
	<-over
}

// A peer repeats an attack on a server thousands of times, on several connections. The server still
// serves an honest client. When the attackers have gone, so have their connections, goroutines and
// memory (RFC 5531 §9, §11).
func TestFloodsLeaveNothingBehind(t *testing.T) {
	const many = 2000
	conns := 50
	if testing.Short() {
		conns = 10
	}
	repeated := func(message func(i uint32) []byte) func(net.Conn) {
		var stream []byte
		for i := range uint32(many) {
			stream = append(stream, message(i)...)
		}
		return func(c net.Conn) { flood(c, stream) }
	}
	again := func(stream []byte) func(net.Conn) { // on one new connection after the other
		return func(c net.Conn) {
			addr := c.RemoteAddr().String()
			for range conns {
				next, err := net.Dial("tcp", addr)
				if err != nil {
					continue // the system refuses connections for now
				}
				_ = next.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = next.Write(stream)
				_ = next.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, next)
				_ = next.Close()
			}
		}
	}
	call := goodCall(7)
	for name, attack := range map[string]func(net.Conn){
		"marks of 2 GiB":               again([]byte{0xff, 0xff, 0xff, 0xff}),
		"fragments of 2 GiB":           again([]byte{0x7f, 0xff, 0xff, 0xff}),
		"endless empty fragments":      repeated(func(uint32) []byte { return make([]byte, 400) }),
		"empty fragments in each Call": repeated(func(i uint32) []byte { return append(make([]byte, 40), goodCall(i)...) }),
		"fragments of one byte": repeated(func(i uint32) (b []byte) {
			for _, v := range goodCall(i)[4:] {
				b = append(b, 0, 0, 0, 1, v)
			}
			return append(b, 0x80, 0, 0, 0)
		}),
		"records cut at each byte": func(c net.Conn) {
			for n := range call {
				again(call[:n])(c)
			}
		},
		"one XID":                        repeated(func(uint32) []byte { return goodCall(7) }),
		"one XID that is never answered": repeated(func(uint32) []byte { return record(7, 0, 2, 400001, 3, 2, 0, 0, 0, 0) }),
		"replies to nothing":             repeated(goodReply),
		"RPC versions":                   repeated(func(i uint32) []byte { return record(i, 0, 3+i, 400001, 3, 1, 0, 0, 0, 0, 21) }),
		"program versions":               repeated(func(i uint32) []byte { return record(i, 0, 2, 400001, 4+i, 1, 0, 0, 0, 0, 21) }),
		"credentials of 401 bytes": repeated(func(i uint32) []byte {
			return record(append([]uint32{i, 0, 2, 400001, 3, 1, 1, 401}, make([]uint32, 103)...)...)
		}),
		"credentials of 4 GiB": repeated(func(i uint32) []byte { return record(i, 0, 2, 400001, 3, 1, 1, 0xffffffff) }),
		"17 groups":            repeated(func(i uint32) []byte { return sysCall(i, 3, 17) }),
		"answers that are not read": func(c net.Conn) {
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(bytes.Repeat(goodCall(7), 200*many))
		},
	} {
		t.Run(name, func(t *testing.T) { underFlood(t, attack) })
	}
}

// underFlood has several attackers at a server that also has an honest client.
func underFlood(t *testing.T, attack func(net.Conn)) {
	base := len(leak.Goroutines("/runtime/oncrpc"))
	s, err := tcp.Listen(t.Context(), "127.0.0.1:0", newService(), &tcp.Config{
		MaxRequests: 16, MaxHandlers: 8, MaxMemory: 4 << 20, MaxFragments: 64, PeerTimeout: time.Second, Logger: quiet,
		// A loaded machine stops this process for more than a second: the honest client lives.
		SendTimeout: 4 * time.Second, RecordTimeout: 4 * time.Second, FirstCallTimeout: 4 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	honest := dial(t, s.Addr(), nil)
	double(t, honest)
	before := memory()
	var over atomic.Bool
	var client, attackers sync.WaitGroup
	client.Go(func() {
		for n := 0; n < 20 || !over.Load(); n++ {
			double(t, honest)
			if n := s.Stats().Memory; n > 4<<20 {
				t.Errorf("Requests take %d bytes, more than MaxMemory", n)
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	for range 3 {
		attackers.Go(func() {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // the server does not answer some
			attack(c)
			_ = c.Close()
		})
	}
	attackers.Wait()
	over.Store(true)
	client.Wait()
	waitFor(t, func() bool { st := s.Stats(); return st.Conns == 1 && st.Memory == 0 })
	if !xdrtest.Race {
		waitFor(t, func() bool { return memory()-before < 1<<20 })
	}
	_, _ = honest.Close(), s.Close()
	waitFor(t, func() bool { return len(leak.Goroutines("/runtime/oncrpc")) <= base })
}

// A peer that sends 17 groups is refused with AUTH_BADCRED, by a procedure that needs AUTH_SYS. One
// with 16 is served (RFC 5531 appendix A).
func TestPeerWith17GroupsIsRefused(t *testing.T) {
	s := listen(t, newService(), nil)
	c := raw(t, s.Addr())
	for groups, want := range map[int][]byte{16: record(9, 1, 0, 0, 0, 0), 17: record(9, 1, 1, 1, 1)} {
		_, _ = c.Write(sysCall(9, 3, groups))
		expect(t, "groups", c, want)
	}
}

// A Call with the XID of another one in progress is a separate Call: each is answered.
func TestXIDsAgain(t *testing.T) {
	s := listen(t, newService(), nil)
	c := raw(t, s.Addr())
	waiting := record(7, 0, 2, 400001, 3, 2, 0, 0, 0, 0) // the handler never answers it
	_, _ = c.Write(slices.Concat(waiting, goodCall(7), waiting, goodCall(7)))
	for range 2 {
		expect(t, "the same XID", c, goodReply(7))
	}
}

// largeReply answers each Call with 1 MiB and counts the replies.
func largeReply(n *atomic.Int64) oncrpc.Handler {
	return oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		n.Add(1)
		reply := goodReply(xidOf(r))[4:]
		item := xdr.Item{Position: uint64(len(reply)), Inline: len(reply), Data: make([]byte, 1<<20)}
		r.Reply(oncrpc.Message{Inline: reply, Items: []xdr.Item{item}}, nil)
	})
}

// calls returns n Calls.
func calls(n uint32) (all []byte) {
	for xid := range n {
		all = append(all, goodCall(xid)...)
	}
	return all
}

// If a peer does not read its replies, no further ones are made for it. The replies count against
// Config.MaxMemory, other clients are served, and Config.SendTimeout closes the connections (RFC
// 5531 §11).
func TestRepliesUnread(t *testing.T) {
	// Replies of 1 MiB made on a connection, at most: two handlers can exceed the limit of 4 MiB.
	for nonBlocking, most := range map[bool]int64{true: 4, false: 6} {
		for _, greedy := range []int64{1, 10} {
			synctest.Test(t, func(t *testing.T) {
				var made atomic.Int64
				s, ln := servePipes(t, largeReply(&made), &tcp.Config{
					NonBlocking: nonBlocking, MaxHandlers: 1, MaxMemory: 8 << 20, SendTimeout: 10 * time.Second, Logger: quiet,
				})
				var attackers sync.WaitGroup
				for range greedy {
					c := ln.dial()
					attackers.Go(func() {
						_, _ = c.Write(calls(64))
						<-time.After(time.Minute)
						_ = c.Close()
					})
				}
				synctest.Wait()
				n := made.Load()
				if n < 1 || n > greedy*most {
					t.Errorf("%d replies for %d peers that read none, at most %d each", n, greedy, most)
				}
				if found := s.Stats().Memory; int64(found) < n<<20 {
					t.Errorf("Stats has %d bytes, with %d replies of 1 MiB", found, n)
				}
				honest := tcp.NewConn(ln.dial(), nil)
				for xid := range uint32(20) {
					if _, err := honest.Call(t.Context(), callOf(xid, 0)); err != nil {
						t.Error(err)
					}
				}
				attackers.Wait()
				if st := s.Stats(); st.Conns != 1 || st.Memory != 0 {
					t.Errorf("when SendTimeout is over: %+v", st)
				}
				_, _ = honest.Close(), s.Close()
			})
		}
	}
}

// A peer that reads late gets all replies. Before it reads them, this side can call it: the
// connection keeps reading, because it waits for the reply.
func TestRepliesReadLate(t *testing.T) {
	for _, nonBlocking := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int64
			ours, theirs := net.Pipe()
			s := tcp.ServeConn(ours, largeReply(&made), &tcp.Config{NonBlocking: nonBlocking, SendTimeout: -1, Logger: quiet})
			s.AllowReverse()
			go func() { _, _ = theirs.Write(calls(40)) }()
			synctest.Wait()
			if n := made.Load(); nonBlocking && n > 4 {
				t.Errorf("%d replies of 1 MiB before the first is read", n)
			}
			answered := make(chan error, 1)
			go func() {
				_, err := s.Call(context.Background(), callOf(1000, 0))
				answered <- err
			}()
			b := make([]byte, len(goodReply(0))+1<<20)
			for range 41 { // with the Call
				if _, err := io.ReadFull(theirs, b[:8]); err != nil {
					t.Fatal(err, s.Err())
				}
				rest := b[8 : 4+wordAt(b, 0)&^(1<<31)]
				if _, err := io.ReadFull(theirs, rest); err != nil {
					t.Fatal(err, s.Err())
				}
				if wordAt(b, 4) == 1000 {
					go func() { _, _ = theirs.Write(goodReply(1000)) }()
				}
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
			_, _ = theirs.Close(), s.Close()
		})
	}
}
