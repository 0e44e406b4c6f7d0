package keys

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// T81, R8: a key is valid on its own connection only. Used on another one it breaks that one and
// touches nothing, and the Call continues.
func TestKeyIsValidOnItsConnectionOnly(t *testing.T) { rdmaiotest.Each(t, keyOfAnotherConnection) }

func keyOfAnotherConnection(t *testing.T, w *rdmaiotest.World) {
	p, c := rdmaiotest.DialRaw(w, nil)
	for i, use := range []func(q *peertest.Peer, s peertest.Segment){
		func(q *peertest.Peer, s peertest.Segment) { q.Write(s.Key, s.Addr, []byte("not yours")) },
		func(q *peertest.Peer, s peertest.Segment) { q.Read(s.Key, s.Addr, 8) },
		func(q *peertest.Peer, s peertest.Segment) { q.SendInvalidate(nil, s.Key) },
	} {
		q, d := rdmaiotest.DialRaw(w, nil)
		buf := make([]byte, 4096)
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.ReadCall(uint32(i), 0, buf))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := peertest.ReadOffers(t, got)
		use(q, o.Writes[0][0])
		<-q.Lost
		<-d.Done()
		if !errors.Is(d.Err(), verbs.ErrConnectionBroken) {
			t.Errorf("%d: the other connection: %v", i, d.Err())
		}
		select {
		case err := <-done:
			t.Fatalf("%d: the Call ended: %v", i, err)
		default:
		}
		p.Send(peertest.UnusedReply(got, &o, rpctest.ReplyHeader(uint32(i)).Buf))
		if err := <-done; err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if !bytes.Equal(buf, make([]byte, 4096)) {
			t.Errorf("%d: memory was written", i)
		}
	}
}

// T82, R301: from a known key the next one is not found by 2^16 tries around it, nor by the
// difference of the last two.
func TestNextKeyCannotBeGuessed(t *testing.T) { rdmaiotest.Each(t, keysAreNoSequence) }

func keysAreNoSequence(t *testing.T, w *rdmaiotest.World) {
	p, c := rdmaiotest.DialRaw(w, nil)
	var keys []uint32
	seen := make(map[uint32]bool)
	for xid := range uint32(200) {
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.ReadCall(xid, 0, make([]byte, 4096)))
			done <- err
		}()
		got := p.Message(peertest.Patience)
		o := peertest.ReadOffers(t, got)
		key := o.Writes[0][0].Key
		if seen[key] {
			t.Errorf("key %#x comes again", key)
		}
		seen[key] = true
		keys = append(keys, key)
		p.Send(peertest.UnusedReply(got, &o, rpctest.ReplyHeader(xid).Buf))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	hits := 0
	near := func(a, b uint32) bool { return a-b+1<<15 < 1<<16 }
	for i := 2; i < len(keys); i++ {
		if near(keys[i], keys[i-1]) || near(keys[i], 2*keys[i-1]-keys[i-2]) {
			hits++
		}
	}
	if hits > 2 { // 396 tries of one in 65,536
		t.Errorf("%d of %d keys could be guessed: %#x", hits, len(keys), keys[:8])
	}
}
