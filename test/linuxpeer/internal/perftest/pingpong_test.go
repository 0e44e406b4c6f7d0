package perftest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// TestPingPongReturnsHalfARoundTrip runs both ends in one process. mem has no verbs.Progresser.
func TestPingPongReturnsHalfARoundTrip(t *testing.T) {
	t.Parallel()
	memory := mem.New(nil)
	here, err := memory.Open("here", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := here.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, tt := range []struct {
		name, addr string
		dev        verbs.Device
	}{{"mem", "here", here}, {"iwarp", "127.0.0.1:0", device(t)}} {
		t.Run(tt.name, func(t *testing.T) {
			ln, err := tt.dev.Listen(t.Context(), tt.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			dial := func(ctx context.Context, qp verbs.QueuePair) error {
				_, err := tt.dev.Dial(ctx, ln.Addr(), qp, nil)
				return err
			}
			accept := func(ctx context.Context, qp verbs.QueuePair) error {
				req, err := ln.Accept(ctx)
				if err == nil {
					_, err = req.Accept(ctx, qp, nil)
				}
				return err
			}
			start := time.Now()
			half, err := PingPong(t.Context(), tt.dev, 100, 64, dial, accept)
			if all := time.Since(start); err != nil || half <= 0 || half > all/100 {
				t.Errorf("half a round trip of %v, %v: expected at most a hundredth of %v", half, err, all)
			}
			refused := func(context.Context, verbs.QueuePair) error { return verbs.ErrConnectionRefused }
			if _, err := PingPong(t.Context(), tt.dev, 100, 64, refused, accept); !errors.Is(err, verbs.ErrConnectionRefused) {
				t.Errorf("error %v, expected ErrConnectionRefused", err)
			}
		})
	}
}
