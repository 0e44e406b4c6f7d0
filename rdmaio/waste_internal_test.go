package rdmaio

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// A long reply that was not sent counts until the garbage collector has run. One that was sent does
// not.
func TestRepliesNotSentAreWaste(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size = 100 << 10
	for _, tt := range []struct {
		failed, lost error
		want         int
	}{{nil, nil, 0}, {errors.New("it does not fit"), nil, 2 * size}, {nil, errors.New("the connection is down"), 2 * size}} {
		c, _ := scriptedConn(t, 1, nil)
		c.shared.memory.Most = 1 << 30
		all := c.shared.memory.Left()
		q := &engine.Request{Err: tt.lost}
		r := c.answerer.newRequest(q)
		q.Owner, r.failed = r, tt.failed
		r.ticket.Reply(size)
		if c.answerer.release(q); all-c.shared.memory.Left() != tt.want {
			t.Errorf("%+v: %d bytes are wasted", tt, all-c.shared.memory.Left())
		}
	}
}
