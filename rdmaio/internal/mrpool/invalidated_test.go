package mrpool_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// counted counts calls of Invalidate.
type counted struct {
	verbs.MemoryRegion
	n *int
}

func (m counted) Invalidate() error { *m.n++; return m.MemoryRegion.Invalidate() }

type countedPD struct {
	verbs.ProtectionDomain
	n *int
}

func (p countedPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	return counted{mr, p.n}, err
}

// T79: a region that the peer has invalidated is not invalidated again, and its object is reused.
func TestInvalidatedRegionIsReused(t *testing.T) {
	_, _, pd := newPool(t, mrpool.Config{})
	n := 0
	p := mrpool.New(countedPD{pd, &n}, mrpool.Config{Heap: true, KeepIdle: 1})
	for range 3 {
		mr, err := p.Register(make([]byte, 10), remote)
		if err != nil {
			t.Fatal(err)
		}
		if err := mr.MemoryRegion.(counted).MemoryRegion.Invalidate(); err != nil {
			t.Fatal(err)
		}
		if err := p.Invalidated(&mr); err != nil {
			t.Fatal(err)
		}
	}
	if st := p.Stats(); n != 0 || st.Regions != 1 || st.Registrations != 3 {
		t.Errorf("invalidated %d times by its owner; %+v", n, st)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
