package client

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// If a Call's context is done while a cancelled Call holds the only credit, the error says so
// (R289). Close of the server, whose handler does not answer, logs one warning.
func TestWaitsAreExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		var log bytes.Buffer
		release := make(chan bool)
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			<-release
			r.Drop(nil)
		}), &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := w.Dial(nil)
		for i := range uint32(2) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := c.Call(ctx, rpctest.NullCall(7+i, 40))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "cancelled Calls without a reply hold 1 of 1") != (i == 1) {
				t.Errorf("Call %d: %v", i, err)
			}
		}
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
	})
}
