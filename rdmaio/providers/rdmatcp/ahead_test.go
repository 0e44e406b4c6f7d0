package rdmatcp_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Short messages between long ones do not make the reader read ahead, and so copy, much of the long
// ones.
func TestLongBetweenSmall(t *testing.T) {
	const rounds, long = 20, 32 << 10
	dev := device(t, &rdmatcp.Config{ReceiveTimeout: patience})
	p, v := attack(t, dev, false)
	v.recv(t, 200, rounds)
	var all []byte
	for range rounds {
		all = append(all, p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, make([]byte, long))...)
		all = append(all, p.whole(segment.Header{Type: segment.Send}, nil, make([]byte, 200))...)
	}
	go p.write(all)
	for range rounds {
		if wc := v.next(); wc.Err() != nil || wc.Opcode != verbs.WCRecv {
			t.Fatalf("%+v, %v", wc, v.qp.Err())
		}
	}
	const first, each = 16 << 10, 3 << 10
	if got := dev.Stats().ReceivedStaged; got > first+rounds*each {
		t.Errorf("%d bytes were copied, want at most %d before the first small message and %d for each round", got, first, each)
	}
}
