package mrpool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// Bursts that need more than KeepBytes use the same buffers again. Two seconds after the last one,
// only KeepBytes are kept.
func TestKeepPeak(t *testing.T) {
	const size, burst = 64 << 10, 10
	synctest.Test(t, func(t *testing.T) {
		p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 2 * burst, KeepBytes: size, KeepPeak: true})
		made := make(map[any]bool)
		run := func(n int) {
			t.Helper()
			var all []*mrpool.Buffer
			for range n {
				b, err := p.Buffer(size)
				if err != nil {
					t.Fatal(err)
				}
				made[b.MR] = true
				all = append(all, b)
			}
			for _, b := range all {
				if err := p.Put(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 10 {
			run(burst)
			time.Sleep(300 * time.Millisecond)
		}
		if len(made) != burst {
			t.Errorf("%d buffers were made for bursts of %d", len(made), burst)
		}
		if got := p.Stats().BufferBytes; got != burst*size || got != dev.Resources().AllocatedBytes {
			t.Errorf("%d bytes are kept after a burst of %d, %d allocated", got, burst*size, dev.Resources().AllocatedBytes)
		}
		run(burst / 2) // a smaller load keeps what it needs
		for range 10 {
			time.Sleep(300 * time.Millisecond)
			run(burst / 2)
		}
		if got := p.Stats().BufferBytes; got != burst/2*size {
			t.Errorf("%d bytes are kept under a load of %d", got, burst/2*size)
		}
		time.Sleep(2100 * time.Millisecond)
		if got := p.Stats().BufferBytes; got != size || got != dev.Resources().AllocatedBytes {
			t.Errorf("%d bytes are kept in the end, %d allocated, want %d", got, dev.Resources().AllocatedBytes, size)
		}
		run(burst) // Close stops the timer
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if got := dev.Resources().AllocatedBytes; got != 0 {
			t.Errorf("%d bytes are left after Close", got)
		}
	})
}
