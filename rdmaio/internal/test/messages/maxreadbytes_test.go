package messages

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A server without configuration accepts a Call of 8 MiB. It refuses one beyond MaxReadBytes. The
// caller's error has the offered size and the limits of the server that may be the cause, and the
// server logs the limit that was exceeded.
func TestLargePutIsAccepted(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		var out rdmaiotest.Log
		w.Serve(&rpctest.File{T: t}, &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		c := w.Dial(nil)
		const most = 16 << 20
		for i, n := range []int{8 << 20, most} {
			if _, err := c.Call(context.Background(), rpctest.WriteCall(uint32(1+i), 0, make([]byte, n))); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		_, err := c.Call(context.Background(), rpctest.WriteCall(9, 0, make([]byte, most+4)))
		var refused *rdmaio.RefusedError
		if !errors.As(err, &refused) || refused.ReadBytes != most+4 {
			t.Fatalf("%d bytes: %v", most+4, err)
		}
		rdmaiotest.Names(t, err, "16777220 bytes in 1 read chunks of the Call (Config.MaxReadBytes")
		const want = "16777220 bytes or more in chunks, limit is 16777216 (local limit, Config.MaxReadBytes)"
		// The server logs after it has sent the refusal.
		for end := time.Now().Add(5 * time.Second); !strings.Contains(out.String(), want); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q is not in the log: %s", want, out.String())
			}
		}
	})
}
