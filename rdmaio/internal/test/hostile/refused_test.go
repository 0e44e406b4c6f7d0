package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// causeRounds is the number of times that a test of a cause runs, because it is random which of two
// goroutines sees the end first.
const causeRounds = 60

// A server makes the connection fail by a longer Reply than was negotiated: the errors of the Call
// and the connection say so, with both sizes.
func TestLongReplyIsNamed(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		for range causeRounds {
			p := peertest.New(t, w.Server)
			done := make(chan bool)
			go func() {
				defer close(done)
				if p.Accept(ln, nil) {
					if m := p.Message(peertest.Patience); m != nil {
						p.Send(append(bytes.Clone(m[:4]), make([]byte, 2000)...))
					}
				}
			}()
			c, err := rdmaio.Dial(context.Background(), w.Client, ln.Addr(), &rdmaio.Config{InlineSend: 1024, InlineRecv: 1024})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Call(context.Background(), rpctest.NullCall(7, 40))
			rdmaiotest.Names(t, err, "peer's ", "2004 bytes", "1024")
			<-c.Done()
			rdmaiotest.Names(t, c.Err(), "peer's ", "2004 bytes", "1024")
			<-done
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A client refuses a Read of the chunk that it offered itself: the server's error names the Call,
// the key and the range.
func TestRefusedReadIsNamed(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		ends := make(chan error, causeRounds)
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		}), &rdmaio.Config{Events: func(e rdmaio.Event) {
			if down, ok := e.(*rdmaio.ConnDown); ok {
				ends <- down.Reason
			}
		}})
		for range causeRounds {
			p := w.DialRaw(t)
			// Its answer proves that the connection is up.
			p.Send(peertest.Bytes(t, peertest.Msg("")))
			if p.Message(peertest.Patience) == nil {
				t.Fatal("a good Call was not answered")
			}
			chunk := p.Offer(64, verbs.AccessRemoteRead)
			p.Send(peertest.Bytes(t, peertest.Msg(peertest.ReadSegment(40, fmt.Sprintf("%08x", chunk.RKey()), 65, fmt.Sprintf("%016x", chunk.RemoteAddr())))))
			rdmaiotest.Names(t, <-ends, "0xcafe0001", fmt.Sprintf("read of 65 bytes at %#x with key 0x%08x", chunk.RemoteAddr(), chunk.RKey()))
		}
	})
}

// A peer whose faults close the connection gets the reason that it broke a rule, and a slow one
// that it was too slow, instead of an ordinary goodbye.
func TestPeerHearsWhy(t *testing.T) {
	hears := func(t *testing.T, p *peertest.Peer, want verbs.Status) {
		t.Helper()
		<-p.Lost
		if err := p.QP.Err(); !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: want}) {
			t.Errorf("the peer has the error %v, want %v with %v", err, verbs.ErrConnectionBroken, want)
		}
	}
	rdmaiotest.EachInRealTime(t, func(t *testing.T, w *rdmaiotest.World) {
		t.Run("too many refused Calls", func(t *testing.T) {
			s := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxErrors: 1})
			p := w.DialRaw(t)
			for range 10 {
				p.Send(peertest.Bytes(t, peertest.Msg(peertest.ReadSegment(41, "00000001", 8, "0000000000000000"))))
			}
			hears(t, p, verbs.StatusRemoteInvalidRequest)
			if err := s.Close(); err != nil { // its address is for the next one
				t.Error(err)
			}
		})
		t.Run("a reply longer than its chunk", func(t *testing.T) {
			var p *peertest.Peer
			c, err := hostileReply(t, w, 5*time.Second, func(call []byte, raw *peertest.Peer) []byte {
				p = raw
				return overlong(call)
			})
			var f *rdmaio.Fault
			if !errors.As(err, &f) {
				t.Errorf("the Call ended with %v, want a Fault", err)
			}
			<-c.Done()
			hears(t, p, verbs.StatusRemoteInvalidRequest)
		})
	})
	t.Run("work that takes too long", func(t *testing.T) {
		w := rdmaiotest.New(t)
		ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		p := peertest.New(t, w.Server)
		accepted := make(chan bool, 1)
		go func() { accepted <- p.Accept(ln, nil) }()
		c := w.Dial(&rdmaio.Config{WorkTimeout: 20 * time.Millisecond})
		if !<-accepted {
			return
		}
		w.Net.Hold()
		defer w.Net.Release()
		if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); !errors.Is(err, rdmaio.ErrTimeout) {
			t.Errorf("the Call ended with %v, want %v", err, rdmaio.ErrTimeout)
		}
		hears(t, p, verbs.StatusRetryExceeded)
	})
}

// overlong answers a Call of hostileReply: 4097 bytes in a write chunk of 4096.
func overlong(call []byte) []byte {
	b := append(bytes.Clone(call[:72]), rpctest.ReplyHeader(binary.BigEndian.Uint32(call)).Buf...)
	binary.BigEndian.PutUint32(b[8:], 8)
	binary.BigEndian.PutUint32(b[12:], 0)
	binary.BigEndian.PutUint32(b[32:], 4097)
	binary.BigEndian.PutUint32(b[60:], 0) // reply chunk unused
	return b
}

// R114, R119, R120: a peer that does not know the version has not processed the Call. ERR_CHUNK may
// be about the reply to a Call that ran, and a code that version 1 does not define leaves it open.
func TestRefusedCallMayHaveRun(t *testing.T) {
	for _, tt := range []struct {
		body string // of the RDMA_ERROR, code first
		ran  bool
	}{
		{"00000001 00000001 00000001", false},
		{"00000001 00000002 00000002", false},
		{"00000002", true},
		{"00000003", true},
		{"00000004", true},
		{"00000007 00000001", true},
		{"00000000", true},
		{"", true},
	} {
		rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
			ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			p := peertest.New(t, w.Server)
			var peer sync.WaitGroup
			defer peer.Wait()
			peer.Go(func() {
				if p.Accept(ln, nil) && p.Message(peertest.Patience) != nil {
					p.SendHex("00000007 00000001 00000001 00000004 " + tt.body)
				}
			})
			w.Addr = ln.Addr()
			c := w.Dial(nil)
			_, err = c.Call(context.Background(), rpctest.NullCall(7, 40))
			ce, ok := errors.AsType[*rdmaio.CallError](err)
			if !ok || ce.MayHaveRun != tt.ran || !errors.As(err, new(*rdmaio.PeerError)) {
				t.Errorf("code and body %q: %v, want MayHaveRun %v", tt.body, err, tt.ran)
			}
		})
	}
}
