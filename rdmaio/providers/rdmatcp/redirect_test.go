package rdmatcp_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R289: Redirect returns in the middle of a segment that the peer writes slowly. No byte of the
// rest is placed in the old memory. The rest is placed in the new memory, however often it is
// replaced, and the connection continues.
func TestRedirectWithinSegment(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	old := v.mr.Bytes()
	payload := bytes.Repeat([]byte{0xee}, 60_000)
	b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, payload)
	const step = 15_000
	p.write(b[:step])
	b = b[step:]
	for len(b) > 0 {
		time.Sleep(50 * time.Millisecond) // the reader waits for the rest
		next := make([]byte, len(old))
		quick(t, func() error { return v.mr.(verbs.Redirector).Redirect(next) })
		copy(old, bytes.Repeat([]byte{0xa5}, len(old))) // it belongs to its owner again
		n := min(step, len(b))
		p.write(b[:n])
		if b = b[n:]; len(b) == 0 {
			v.recv(t, 10, 1)
			p.put(segment.Header{}, nil, nil)
			if wc := v.next(); wc.Err() != nil {
				t.Fatalf("%v: %v", wc.Err(), v.qp.Err())
			}
			if !bytes.HasSuffix(next[:len(payload)], payload[:n/2]) {
				t.Error("the rest is not in the new memory")
			}
		} else {
			time.Sleep(20 * time.Millisecond)
		}
		if got := bytes.Count(old, []byte{0xa5}); got != len(old) {
			t.Errorf("%d bytes were placed in memory that Redirect had freed", len(old)-got)
		}
		old = next
	}
}
