package mrpool_test

import (
	"errors"
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

// Within a minute after the last load a Pool gives back the buffers and regions that it keeps, and
// nothing that is in use.
func TestPoolGivesBackIdleMemory(t *testing.T) {
	for _, demand := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			_, dev, pd := newPool(t, mrpool.Config{})
			if !demand {
				pd = withMemoryPD{pd}
			}
			p := mrpool.New(pd, mrpool.Config{Heap: true, KeepIdle: 8, KeepBytes: 32 << 20})
			own := func(n int) mrpool.Region {
				t.Helper()
				r, err := registerOwn(p, n, writeOnly)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			give := func(r mrpool.Region) {
				t.Helper()
				if err := p.Release(&r); err != nil {
					t.Error(err)
				}
				if _, err := p.Collect(&r, nil, 0); err != nil {
					t.Error(err)
				}
			}
			held, err := p.Buffer(5000)
			if err != nil {
				t.Fatal(err)
			}
			used, unused := own(1000), own(1000)
			large, err := p.Buffer(20 << 20)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Put(large); err != nil {
				t.Fatal(err)
			}
			give(unused)
			time.Sleep(20 * time.Second)
			if st := p.Stats(); st.Regions != 2 || st.BufferBytes < 20<<20 {
				t.Errorf("after 20 s: %+v, want nothing given back", st)
			}
			for range 8 { // a small load needs the small ones only
				give(own(1000))
				time.Sleep(10 * time.Second)
			}
			if st := p.Stats(); st.Regions != 2 || st.BufferBytes > 20<<10 {
				t.Errorf("under a small load: %+v, want nothing kept that it does not need", st)
			}
			time.Sleep(time.Minute + time.Second)
			buffers := 1
			if !demand {
				buffers = 2 // of the region, too
			}
			if st := p.Stats(); st.Regions != 1 || st.Buffers != buffers || dev.Resources().MRs != 1+buffers {
				t.Errorf("at rest: %+v, %+v, want only memory in use", st, dev.Resources())
			}
			give(used)
			if err := errors.Join(p.Put(held), p.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
