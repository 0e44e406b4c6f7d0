package tcp_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A probe closes a connection whose peer has vanished within its limit, long before PeerTimeout
// would, and leaves one whose peer is there (R288).
func TestProbeFindsALostPeer(t *testing.T) {
	for _, limit := range []time.Duration{time.Hour, -1} {
		if testing.Short() && limit < 0 {
			break // each takes some seconds
		}
		cfg := &tcp.Config{PeerTimeout: limit, Logger: quiet}
		served := make(chan oncrpc.Conn, 2)
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			served <- r.Conn()
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		})
		c, link := apart(t, h, cfg, cfg)
		if _, err := c.Call(t.Context(), callOf(1, 0)); err != nil {
			t.Fatal(err)
		}
		conn := <-served
		conn.(oncrpc.Prober).Probe(2 * time.Second)
		select {
		case <-conn.Done():
			t.Errorf("limit %v: the probe closed a connection whose peer is there: %v", limit, conn.Err())
		case <-time.After(3 * time.Second):
		}
		link.Cut()
		conn.(oncrpc.Prober).Probe(2 * time.Second)
		select {
		case <-conn.Done():
			if !errors.Is(conn.Err(), tcp.ErrTimeout) {
				t.Error(conn.Err())
			}
		case <-time.After(leak.Patience()):
			t.Errorf("limit %v: the probe has not found that the peer is gone", limit)
		}
	}
}
