package v2test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// WorksInParts is Works for a Reply of n bytes in several parts.
func WorksInParts(t *testing.T, p *peer2.Peer, xid uint32, n int) {
	t.Helper()
	p.Send(peer2.Call(xid, rpctest.CallBytes(xid, 40)))
	var payload []byte
	for {
		m := p.Next()
		if !m.IsReply() || m.XID != xid {
			t.Fatalf("a good Call is answered with %v", m)
		}
		if payload = append(payload, m.Payload...); m.Flags&peer2.More == 0 {
			break
		}
		if p.Book.In <= 2 {
			p.Send(peer2.Grant())
		}
	}
	if !bytes.Equal(payload, rpctest.ReplyBytes(xid, n)) {
		t.Errorf("a reply of %d bytes, want %d", len(payload), n)
	}
}

// Result is the result of a Call.
type Result struct {
	Reply *rdmaio.Reply
	Err   error
}

// Start makes a Call.
func Start(c *rdmaio.Conn, call *rdmaio.Call) <-chan Result {
	return StartWith(context.Background(), c, call)
}

// StartWith makes a Call with a context.
func StartWith(ctx context.Context, c *rdmaio.Conn, call *rdmaio.Call) <-chan Result {
	done := make(chan Result, 1)
	go func() {
		r, err := c.Call(ctx, call)
		done <- Result{r, err}
	}()
	return done
}

// Works makes a Call from a scripted client, whose answer must be a good Reply.
func Works(t *testing.T, p *peer2.Peer, xid uint32) {
	t.Helper()
	p.Send(peer2.Call(xid, rpctest.CallBytes(xid, 40)))
	if m := p.Next(); !m.IsReply() || m.XID != xid {
		t.Fatalf("a good Call is answered with %v", m)
	}
}

// Serves makes a Call of our client, which a scripted server answers.
func Serves(t *testing.T, p *peer2.Peer, c *rdmaio.Conn, xid uint32) {
	t.Helper()
	done := Start(c, rpctest.BigCall(xid, 40))
	m := p.Next()
	if !m.IsCall() || m.XID != xid || !bytes.Equal(m.Payload, rpctest.CallBytes(xid, 40)) {
		t.Fatalf("got %v, want a Call", m)
	}
	p.Send(m.Unused(rpctest.ReplyBytes(xid, 24)))
	if r := <-done; r.Err != nil || !bytes.Equal(r.Reply.Message, rpctest.ReplyBytes(xid, 24)) {
		t.Fatalf("a good Call ended with %v", r.Err)
	}
}
