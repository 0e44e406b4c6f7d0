package version2

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// floods2 are messages that a peer may send without end, at the cost of a credit each.
var floods2 = map[string]func(i uint32) peer2.Message{
	"grants": func(uint32) peer2.Message { return peer2.Grant() },
	"ERRORs about nothing": func(i uint32) peer2.Message {
		m := peer2.Err(i, 10+i%3)
		m.Payload = make([]byte, 1000)
		return m
	},
	"Replies to nothing": func(i uint32) peer2.Message { return peer2.Reply(i, rpctest.ReplyBytes(i, 24)) },
	"CONNPROPs":          func(i uint32) peer2.Message { return peer2.Props(i, peer2.Prop(peer2.SendSize, i)) },
	"CONNPROPs of a set without an end": func(i uint32) peer2.Message {
		m := peer2.Props(1, peer2.Prop(1000+i, i))
		m.Flags = peer2.More
		return m
	},
	"parts without bytes": func(uint32) peer2.Message { return peer2.Message{XID: 1, Flags: peer2.More} },
	"parts of 1000 bytes": func(uint32) peer2.Message {
		return peer2.Message{XID: 1, Flags: peer2.More, Payload: make([]byte, 1000)}
	},
	"Replies in parts, each of which breaks off the one before": func(i uint32) peer2.Message {
		return peer2.Message{XID: i, Flags: peer2.More | peer2.Response, Payload: make([]byte, 1000)}
	},
	"unknown header types, as answers": func(i uint32) peer2.Message {
		return peer2.Message{XID: i, Type: 9, Flags: peer2.Response}
	},
}

// A peer with credits repeats a message thousands of times. Our end stays up, or closes the
// connection at a limit, and memory does not grow. The bytes in use stay the same. The bytes
// allocated are a multiple of those sent, and 2000 for each message, which the test itself
// allocates (T12, T63, T119, T127; R310).
func TestFloodOfAMessageCostsNoMemory(t *testing.T) {
	const many = 4000
	for name, message := range floods2 {
		for _, role := range []string{"server", "client"} {
			t.Run(name+", "+role, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := rdmaiotest.NewWith(t, rdmaiotest.Options{Bare: true})
					cfg := v2test.Config(rdmaio.Config{Credits: 8, MaxErrors: -1})
					var p *peer2.Peer
					if role == "server" {
						p = v2test.Server(t, w, new(rpctest.App), peer2.Config{}, cfg)
					} else {
						p, _ = v2test.Client(t, w, peer2.Config{}, cfg)
					}
					flood(t, p, message, many/10) // and its buffers have their lengths
					before, from := rdmaiotest.HeapInUse(), rdmaiotest.Allocated()
					bytes := flood(t, p, message, many)
					if got := rdmaiotest.Allocated() - from; got > uint64(16*bytes+2000*many) {
						t.Errorf("%d bytes were allocated for %d bytes of messages", got, bytes)
					}
					if grown := rdmaiotest.HeapInUse() - before; grown > 2<<20 {
						t.Errorf("%d KiB are kept", grown>>10)
					}
				})
			})
		}
	}
}

// flood sends a message many times, and drops the answers. It returns the bytes sent.
func flood(t *testing.T, p *peer2.Peer, message func(i uint32) peer2.Message, many int) (n int) {
	t.Helper()
	for i := range uint32(many) {
		for p.Book.Out == 0 {
			b := p.Peer.Message(time.Second)
			if b == nil {
				return n // the connection is closed, or grants bring no more credits (R176)
			}
			m, err := peer2.Parse(b)
			if err == nil {
				err = p.Book.Received(&m)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m := message(i)
		m.Credit = peer2.Word(p.Ceiling, max(0, p.Ceiling-p.Book.In))
		if err := p.Book.Sent(&m); err != nil {
			t.Fatal(err)
		}
		b := m.Bytes()
		n += len(b)
		p.Peer.Send(b)
	}
	return n
}

// 1000 connections that each open a continued message, and stop, take no more than their part of
// Config.MaxMemory, a third. A client that came later is served, and after Config.WorkTimeout all
// of them are closed, and their goroutines are gone (T90, T127).
func TestThousandOpenSequencesKeepToMaxMemory(t *testing.T) {
	many := 1000
	if testing.Short() {
		many = 100
	}
	const limit = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.NewWith(t, rdmaiotest.Options{Bare: true})
		base := rdmaiotest.Goroutines()
		s := w.Serve(new(rpctest.App), v2test.Config(rdmaio.Config{Credits: 1, MaxMemory: 3 * limit, WorkTimeout: 5 * time.Second}))
		var peers []*peer2.Peer
		for i := range many {
			p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{Ceiling: 2}))
			for _, part := range peer2.Call(uint32(i), rpctest.CallBytes(uint32(i), 16000)).Split(4000, 8000, 12000)[:3] {
				p.Send(part)
			}
			peers = append(peers, p)
		}
		if got := s.Stats().Memory; got > limit || got < limit/2 {
			t.Errorf("%d bytes are in use, the limit is %d", got, limit)
		}
		conn := w.Dial(v2test.Config(rdmaio.Config{Credits: 4}))
		if _, err := conn.Call(context.Background(), rpctest.BigCall(1, 40)); err != nil {
			t.Error(err)
		}
		for _, p := range peers {
			p.Ends()
		}
		rdmaiotest.AwaitMemory(t, s)
		if _, err := conn.Call(context.Background(), rpctest.BigCall(2, 12000)); err != nil {
			t.Errorf("a continued Call after that: %v", err)
		}
		_ = conn.Close()
		_ = s.Close()
		synctest.Wait()
		if n := rdmaiotest.Goroutines(); n > base {
			t.Errorf("%d goroutines, there were %d", n, base)
		}
	})
}
