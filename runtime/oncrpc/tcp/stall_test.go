package tcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A connection that has stopped reading with MaxRequests notices that its peer has closed: the
// contexts of its Requests are done after PeerTimeout, because the peer may wait for the answers.
// It reads again when a Request is answered.
func TestPeerClosesWhileStalled(t *testing.T) {
	pipe := func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() }
	for name, tt := range map[string]struct {
		connect func(t *testing.T) (ours, theirs net.Conn)
		calls   uint32 // at once
	}{
		"pipe": {pipe, 6}, "TCP": {tcpPair, 6}, "TCP, far ahead": {tcpPair, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.calls > 100 && runtime.GOOS != "linux" {
				t.Skip("only Linux shows the end of a connection behind bytes that are not read")
			}
			ours, theirs := tt.connect(t)
			held := make(chan *oncrpc.Request, 100)
			s := tcp.ServeConn(ours, oncrpc.HandlerFunc(func(r *oncrpc.Request) { held <- r }),
				&tcp.Config{MaxRequests: 2, PeerTimeout: time.Second, Logger: quiet})
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_ = theirs.SetWriteDeadline(time.Now().Add(leak.Patience()))
			for xid := range tt.calls { // the last ones make it stop
				if _, err := theirs.Write(goodCall(xid)); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 { // each answer lets one more come
				r := <-held
				if n := len(held); n > 1 {
					t.Errorf("%d Requests at a time, want 2", n+1)
				}
				r.Drop(nil)
			}
			kept := []*oncrpc.Request{<-held, <-held}
			_ = theirs.Close()
			for _, r := range kept {
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Second):
					t.Fatal("the end of the peer was not noticed")
				}
				r.Drop(nil)
			}
			if !errors.Is(s.Err(), tcp.ErrPeerClosed) {
				t.Error(s.Err())
			}
			_ = s.Close()
		})
	}
}

// What a stalled connection has read ahead arrives whole, however it came, and no time-out is left
// from the stall.
func TestStallAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		const calls = 400
		s := tcp.ServeConn(ours, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			time.Sleep(time.Duration(xidOf(r)%7) * time.Millisecond)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{MaxRequests: 2, Logger: quiet})
		go func() {
			var all []byte
			for xid := range uint32(calls) {
				all = append(all, goodCall(xid)...)
			}
			for n := 1; len(all) > 0; n = n*5%997 + 1 {
				n = min(n, len(all))
				if _, err := theirs.Write(all[:n]); err != nil {
					t.Error(err)
					return
				}
				all = all[n:]
				time.Sleep(time.Millisecond)
			}
		}()
		seen := make(map[uint32]bool)
		for b := make([]byte, len(goodReply(0))); len(seen) < calls; {
			if _, err := io.ReadFull(theirs, b); err != nil {
				t.Fatal(err, s.Err())
			}
			seen[wordAt(b, 4)] = true
		}
		time.Sleep(time.Hour)
		if s.Err() != nil {
			t.Error(s.Err())
		}
		_, _ = theirs.Close(), s.Close()
	})
}

// A connection over TCP that was stalled with more than its read buffer waiting reads again, too.
func TestStalledFarAhead(t *testing.T) {
	ours, theirs := tcpPair(t)
	_ = theirs.SetDeadline(time.Now().Add(20 * time.Second))
	const calls = 2000
	s := tcp.ServeConn(ours, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		time.Sleep(time.Duration(xidOf(r)%7) * 10 * time.Microsecond)
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	}), &tcp.Config{MaxRequests: 2, Logger: quiet})
	var all []byte
	for xid := range uint32(calls) {
		all = append(all, goodCall(xid)...)
	}
	if _, err := theirs.Write(all); err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint32]bool)
	for b := make([]byte, len(goodReply(0))); len(seen) < calls; {
		if _, err := io.ReadFull(theirs, b); err != nil {
			t.Fatal(err, s.Err())
		}
		seen[wordAt(b, 4)] = true
	}
	_, _ = theirs.Close(), s.Close()
}

// Over TLS, too, a stalled connection reads again when it can, whatever part of a TLS record it had
// read, and notices that its client has gone.
func TestStalledTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	cfg := secured(a, tcp.TLSRequired)
	cfg.MaxRequests, cfg.MaxCalls = 2, 300
	waiting := make(chan *oncrpc.Request, 2)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) >= 1000 {
			waiting <- r
			<-r.Context().Done()
			r.Drop(nil)
			return
		}
		time.Sleep(time.Duration(xidOf(r)%7) * 10 * time.Microsecond)
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	}), cfg)
	c, err := dialWithin(t, s.Addr(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	soon, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var calls sync.WaitGroup
	for xid := range uint32(300) { // some far longer than a TLS record, all than any buffer
		calls.Go(func() {
			if _, err := c.Call(soon, callOf(xid, int(xid%5)*9000)); err != nil {
				t.Error(err)
			}
		})
	}
	if calls.Wait(); t.Failed() {
		return
	}
	if runtime.GOOS != "linux" {
		_ = c.Close()
		return
	}
	for xid := range uint32(40) { // more than the read buffer, and less than the window of TCP
		calls.Go(func() { _, _ = c.Call(context.Background(), callOf(1000+xid, 1000)) })
	}
	first, second := <-waiting, <-waiting
	_ = c.Close()
	calls.Wait()
	for _, r := range []*oncrpc.Request{first, second} {
		select {
		case <-r.Context().Done():
		case <-time.After(patience):
			t.Fatal("the end of the client was not noticed")
		}
	}
}
