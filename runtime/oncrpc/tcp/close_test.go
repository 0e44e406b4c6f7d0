package tcp_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Close of a server whose handler does not answer logs one warning, and returns when it has.
func TestCloseWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		release := make(chan bool)
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			<-release
			r.Drop(nil)
		}), &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := tcp.NewConn(ln.dial(), nil)
		go func() { _, _ = c.Call(context.Background(), callOf(1, 0)) }()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		time.Sleep(time.Minute)
		close(release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		synctest.Wait() // the log has been written
		if got := log.String(); strings.Count(got, "Close waits") != 1 || !strings.Contains(got, "unanswered=1") {
			t.Errorf("logged: %s", got)
		}
		_ = c.Close()
	})
}
