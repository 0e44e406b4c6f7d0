package mrpool_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
)

// Buffers are kept if Config.Keep lets them, which hears of each one that is kept no more.
func TestKeepIsAskedAndTold(t *testing.T) {
	dev, err := mem.New(nil).Open("device", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	defer pd.Close()
	kept := 0
	p := mrpool.New(pd, mrpool.Config{KeepIdle: 8, KeepBytes: 1 << 20, Keep: func(n int) bool {
		if kept+n > 5000 {
			return false
		}
		kept += n
		return true
	}})
	put := func(sizes ...int) {
		t.Helper()
		var all []*mrpool.Buffer
		for _, n := range sizes {
			b, err := p.Buffer(n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		for _, b := range all {
			if err := p.Put(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(2048, 2048, 2048)
	if st := p.Stats(); kept != 4096 || st.BufferBytes != 4096 {
		t.Errorf("%d bytes are said to be kept, %d are, want 4096", kept, st.BufferBytes)
	}
	put(2048)
	if kept != 4096 {
		t.Errorf("%d bytes are said to be kept after one was used again, want 4096", kept)
	}
	if err := p.Close(); err != nil || kept != 0 {
		t.Errorf("%d bytes are said to be kept after Close: %v", kept, err)
	}
}
