package tcp_test

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// bounded is a Handler whose replies have a bound.
type bounded struct {
	oncrpc.HandlerFunc
	n int
}

func (b bounded) ReplyBound(_, _, _ uint32) int { return b.n }

// Of handlers without a bound so many run at a time as could all reply MaxReply in a third of
// MaxMemory. The others run later. All handlers with a bound run, as long as there is memory for
// their bounds.
func TestHandlersWithoutABoundWaitForMemory(t *testing.T) {
	const conns = 8
	for _, tt := range []struct {
		name        string
		bound, runs int
	}{
		{"none", -1, 2}, {"small", 1000, conns}, {"as large as MaxReply", 350_000, 2 + 1}, {"five have room", 100_000, 2 + 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var running atomic.Int64
				h := func(r *oncrpc.Request) {
					running.Add(1)
					<-release
					r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
				}
				s, ln := servePipes(t, bounded{h, tt.bound}, &tcp.Config{MaxMemory: 3 << 20, MaxReply: 350_000, Logger: quiet})
				var callers sync.WaitGroup
				var all []*tcp.Conn
				for range conns {
					c := tcp.NewConn(ln.dial(), nil)
					all = append(all, c)
					callers.Go(func() {
						if _, err := c.Call(context.Background(), callOf(1, 0)); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				if n := running.Load(); n != int64(tt.runs) {
					t.Errorf("%d handlers run, want %d", n, tt.runs)
				}
				close(release)
				callers.Wait()
				for _, c := range all {
					_ = c.Close()
				}
				synctest.Wait()
				if n := s.Stats().Memory; n != 0 {
					t.Errorf("%d bytes are taken in the end", n)
				}
				_ = s.Close()
			})
		})
	}
}

// A Request that waits for memory is dropped if its connection is closed.
func TestEndWhileARequestWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var served atomic.Int64
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			served.Add(1)
			<-release
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{MaxMemory: 3 << 20, Logger: quiet}) // one at a time
		one, other := tcp.NewConn(ln.dial(), nil), tcp.NewConn(ln.dial(), nil)
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = one.Call(context.Background(), callOf(1, 0)) })
		synctest.Wait()
		callers.Go(func() { _, _ = other.Call(context.Background(), callOf(1, 0)) })
		synctest.Wait()
		_ = other.Close()
		time.Sleep(time.Second) // the peer might still read
		if n := len(s.Conns()); n != 1 || served.Load() != 1 {
			t.Errorf("%d connections are up, %d Requests were served, want one each", n, served.Load())
		}
		close(release)
		callers.Wait()
		_, _ = one.Close(), s.Close()
	})
}

// sized replies with as many bytes as the Call's last word says, after the header.
var sized = oncrpc.HandlerFunc(func(r *oncrpc.Request) {
	head, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
	r.Reply(oncrpc.Message{Inline: append(head, make([]byte, wordAt(r.Message, len(r.Message)-4))...)}, nil)
})

// A connection whose peer reads nothing of a long reply is closed when another one waits for
// memory, and not before. One that keeps little stays.
func TestUnreadReplyMakesRoomForOthers(t *testing.T) {
	for _, nonBlocking := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, ln := servePipes(t, sized, &tcp.Config{MaxMemory: 3 << 20, SendTimeout: -1, NonBlocking: nonBlocking, Logger: quiet})
			short, long := ln.dial(), ln.dial()
			if _, err := short.Write(record(1, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 4096)); err != nil {
				t.Fatal(err)
			}
			// The reserve has one part: short must not wait until long gives it back.
			synctest.Wait()
			if _, err := long.Write(record(1, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 900_000)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if n := len(s.Conns()); n != 2 {
				t.Fatalf("%d connections are up while none waits for memory, want 2", n)
			}
			honest := tcp.NewConn(ln.dial(), nil)
			start := time.Now()
			if _, err := honest.Call(t.Context(), callOf(1, 0)); err != nil || time.Since(start) > time.Second {
				t.Errorf("another client is served after %v, %v", time.Since(start), err)
			}
			synctest.Wait()
			if n := len(s.Conns()); n != 2 {
				t.Errorf("%d connections are up, want the honest one and the one that keeps little", n)
			}
			if _, err := io.ReadFull(short, make([]byte, 4096)); err != nil {
				t.Errorf("the one that keeps little: %v", err)
			}
			_, _, _, _ = honest.Close(), short.Close(), long.Close(), s.Close()
		})
	}
}

// A peer that reads slowly, and each write within stuckTime, keeps its connection when others wait.
func TestSlowReaderKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, sized, &tcp.Config{MaxMemory: 3 << 20, Logger: quiet})
		slow := ln.dial()
		if _, err := slow.Write(record(1, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 900_000)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		honest := tcp.NewConn(ln.dial(), nil)
		done := make(chan error, 1)
		go func() {
			_, err := honest.Call(context.Background(), callOf(1, 0))
			done <- err
		}()
		for range 4 {
			time.Sleep(100 * time.Millisecond)
			if _, err := io.ReadFull(slow, make([]byte, 200_000)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(slow, make([]byte, 100_000+24+4)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		_, _, _ = honest.Close(), slow.Close(), s.Close()
	})
}

// Handlers that wait for something else do not keep out other handlers for good.
func TestHandlersThatHangLetOthersRun(t *testing.T) {
	for _, nonBlocking := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var hung []*oncrpc.Request
			s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if xidOf(r) == 1 {
					hung = append(hung, r)
					return
				}
				r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
			}), &tcp.Config{MaxMemory: 3 << 20, NonBlocking: nonBlocking, Logger: quiet})
			hangs, honest := tcp.NewConn(ln.dial(), nil), tcp.NewConn(ln.dial(), nil)
			var callers sync.WaitGroup
			callers.Go(func() { _, _ = hangs.Call(context.Background(), callOf(1, 0)) })
			synctest.Wait()
			for i := range 3 {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				if _, err := honest.Call(ctx, callOf(2, 0)); err != nil || time.Since(start) > 1250*time.Millisecond {
					t.Errorf("Call %d is served after %v, %v", i, time.Since(start), err)
				}
				cancel()
			}
			hung[0].Reply(oncrpc.Message{Inline: goodReply(1)[4:]}, nil)
			callers.Wait()
			synctest.Wait()
			if n := s.Stats().Memory; n != 0 {
				t.Errorf("%d bytes are taken in the end", n)
			}
			_, _, _ = hangs.Close(), honest.Close(), s.Close()
		})
	}
}

// A connection whose own Requests wait for memory does not lose its connection because it reads
// slowly: it takes nothing from others.
func TestSlowReaderWithManyRequestsKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, sized, &tcp.Config{MaxMemory: 3 << 20, Logger: quiet})
		slow := ln.dial()
		for range 4 {
			if _, err := slow.Write(record(1, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 900_000)); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 * (900_000 + 24 + 4) / 100_000 {
			time.Sleep(time.Second)
			if _, err := io.ReadFull(slow, make([]byte, 100_000)); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = slow.Close(), s.Close()
	})
}

// The caller of a reply longer than MaxReply gets SYSTEM_ERR. MaxMemory limits it, and the length
// of a record.
func TestRepliesAndRecordsAreLimitedByMaxMemory(t *testing.T) {
	for _, tt := range []struct {
		cfg           tcp.Config
		reply, record int
	}{
		{tcp.Config{MaxReply: 1000}, 1000, 16<<20 + 64<<10},
		{tcp.Config{MaxMemory: 600_000}, 200_000, 100_000},
		{tcp.Config{MaxMemory: 600_000, MaxReply: 300_000, MaxRecord: 50_000}, 200_000, 50_000},
	} {
		tt.cfg.Logger = quiet
		s := listen(t, sized, &tt.cfg)
		c := dial(t, s.Addr(), nil)
		for excess, want := range map[int]bool{0: true, 1: false} {
			call := callOf(1, 0)
			call.Inline = append(call.Inline, byte((tt.reply-24+excess)>>24), byte((tt.reply-24+excess)>>16), byte((tt.reply-24+excess)>>8), byte(tt.reply-24+excess))
			reply, err := c.Call(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(reply.Message) == tt.reply; got != want || !want && wordAt(reply.Message, 20) != uint32(oncrpc.SystemErr) {
				t.Errorf("%+v: a reply of %d bytes has come: %t", tt.cfg, tt.reply+excess, got)
			}
		}
		if tt.record > 1<<20 {
			continue
		}
		if _, err := c.Call(t.Context(), callOf(1, tt.record-40)); err != nil {
			t.Errorf("%+v: a record of %d bytes: %v", tt.cfg, tt.record, err)
		}
		conn := s.Conns()[0]
		reply, err := c.Call(t.Context(), callOf(1, tt.record-39))
		if err != nil || wordAt(reply.Message, 20) != uint32(oncrpc.GarbageArgs) || conn.Err() != nil {
			t.Errorf("%+v: a record of %d bytes: %v, %v, want GARBAGE_ARGS", tt.cfg, tt.record+1, err, conn.Err())
		}
	}
}

// While others wait for memory, the connection with the largest record is closed if that makes no
// progress, and a sender of 190 KB/s is not. It need not have stopped: a byte from time to time is
// too little.
func TestLargestRecordMakesRoomForOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		part   int // bytes in each 100 ms
		closed bool
	}{"trickles": {1, true}, "stops": {0, true}, "slow": {19_000, false}} {
		synctest.Test(t, func(t *testing.T) {
			// There are 2 MiB for Requests.
			s, ln := servePipes(t, sized, &tcp.Config{MaxMemory: 6 << 20, Logger: quiet})
			large, small := ln.dial(), ln.dial()
			begin := func(c io.Writer, size, n int) {
				if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(size)), make([]byte, n)...)); err != nil {
					t.Error(err)
				}
			}
			begin(large, 1_040_000, 795_000)
			begin(small, 60_000, 50_000)
			synctest.Wait()
			if time.Sleep(time.Second); len(s.Conns()) != 2 {
				t.Errorf("%s: closed, and no other waits", name)
			}
			stop := make(chan struct{})
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
						if _, err := large.Write(make([]byte, tt.part)); err != nil && !tt.closed {
							t.Error(err)
						}
					}
				}
			}()
			honest := tcp.NewConn(ln.dial(), nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := honest.Call(ctx, callOf(1, 300_000))
			if (err == nil) != tt.closed {
				t.Errorf("%s: another client has %v", name, err)
			}
			synctest.Wait()
			if n := len(s.Conns()); (n == 2) != tt.closed {
				t.Errorf("%s: %d connections are up", name, n)
			}
			close(stop)
			_, _, _, _ = honest.Close(), small.Close(), large.Close(), s.Close()
		})
	}
}

// Requests of a client that has closed its direction are served when no others wait for a place: it
// may have closed the other one, too.
func TestHalfClosedConnectionsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, release := make(chan uint32, 10), make(map[uint32]chan struct{})
		for xid := range uint32(20) {
			release[xid] = make(chan struct{})
		}
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			xid := xidOf(r)
			started <- xid
			<-release[xid]
			r.Drop(nil)
		}), &tcp.Config{MaxHandlers: 1, Logger: quiet})
		send := func(c io.Writer, xids ...uint32) {
			for _, xid := range xids {
				if _, err := c.Write(record(xid, 0, 2, 400001, 3, 1, 0, 0, 0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		next := func(want uint32) {
			t.Helper()
			synctest.Wait()
			if len(started) == 0 {
				t.Fatalf("no Request is served, want %d", want)
			}
			if got := <-started; got != want {
				t.Errorf("Request %d is served, want %d", got, want)
			}
		}
		gone, other := ln.dial(), ln.dial()
		send(gone, 1)
		next(1)
		send(gone, 2, 3)
		next(2)
		_ = gone.Close()
		send(other, 11, 12, 13)
		next(11)
		for _, step := range []struct{ ends, begins uint32 }{{2, 12}, {12, 13}, {13, 3}} {
			close(release[step.ends])
			next(step.begins)
		}
		for _, xid := range []uint32{1, 3, 11} {
			close(release[xid])
		}
		_, _ = other.Close(), s.Close()
	})
}
