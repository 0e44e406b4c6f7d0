package tcp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A peer that answers probes and reads nothing is given up after PeerTimeout, if there is data for
// which it has no window. Without a limit the connection continues.
func TestPeerReadsNothing(t *testing.T) {
	begin := func(limit time.Duration) (*tcp.Conn, chan error) {
		ours, theirs := tcpPair(t)
		c := tcp.NewConn(ours, &tcp.Config{PeerTimeout: limit, SendTimeout: -1, Logger: quiet})
		t.Cleanup(func() { theirs.Close(); c.Close() })
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), callOf(1, 32<<20))
			failed <- err
		}()
		return c, failed
	}
	without, _ := begin(-1)
	limited, failed := begin(time.Second)
	select {
	case err := <-failed:
		wantError(t, err, tcp.ErrTimeout, true)
		if !strings.Contains(err.Error(), "Config.PeerTimeout") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Errorf("the Call to a peer that reads nothing is in progress, %v", limited.Err())
	}
	if err := without.Err(); err != nil {
		t.Errorf("the connection without a limit ended too: %v", err)
	}
}
