package mrpool_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// withMemoryPD is a protection domain whose regions are not on demand.
type withMemoryPD struct{ verbs.ProtectionDomain }

func (p withMemoryPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	return struct{ verbs.MemoryRegion }{mr}, err
}

// demandPD is a protection domain that records the functions which provide memory.
type demandPD struct {
	verbs.ProtectionDomain
	memory []func() ([]byte, error)
	fail   error // of registrations on demand
}

func (p *demandPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	return demandRegion{mr, p}, err
}

type demandRegion struct {
	verbs.MemoryRegion
	pd *demandPD
}

func (r demandRegion) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	if r.pd.fail != nil {
		return r.pd.fail
	}
	r.pd.memory = append(r.pd.memory, memory)
	return r.MemoryRegion.(verbs.OnDemand).ReregisterOnDemand(size, access, memory)
}

const writeOnly = verbs.AccessLocalWrite | verbs.AccessRemoteWrite

// A region of RegisterOwn has memory only if the peer writes there. That memory and the region are
// used again.
func TestRegisterOwnOnDemand(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	demands := &demandPD{ProtectionDomain: pd}
	p := mrpool.New(demands, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 4 << 20})
	keys := map[uint32]bool{}
	for i := range 6 {
		r, err := p.RegisterOwn(1<<20, writeOnly)
		if err != nil {
			t.Fatal(err)
		}
		if keys[r.RKey()] || r.Len() != 1<<20 || r.Bytes() != nil {
			t.Errorf("%d bytes, %d in memory, key %#x was used before: %v", r.Len(), len(r.Bytes()), r.RKey(), keys[r.RKey()])
		}
		keys[r.RKey()] = true
		want := "it is \x00\x00\x00\x00"
		if i >= 2 {
			b, err := demands.memory[i]()
			if err != nil || len(b) != 1<<20 {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			copy(b, "here")
			want = "it is here"
		}
		if i == 3 { // its Call is cancelled
			if ok, err := p.Detach(&r); !ok || err != nil {
				t.Errorf("detach: %v, %v", ok, err)
			}
			if err := p.Drop(&r); err != nil {
				t.Error(err)
			}
			continue
		}
		if err := p.Release(&r); err != nil {
			t.Error(err)
		}
		if got, err := p.Collect(&r, []byte("it is "), 4); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if got := dev.Resources().AllocatedBytes; i < 2 && got != 0 || i >= 2 && got != 1<<20 {
			t.Errorf("%d bytes are allocated after %d regions", got, i+1)
		}
	}
	if st := p.Stats(); st.Regions != 1 || st.Buffers != 1 || st.Registrations != 6 {
		t.Errorf("%+v", st)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if r := dev.Resources(); r.MRs != 0 || r.AllocatedBytes != 0 {
		t.Errorf("left: %+v", r)
	}
}

// A region that cannot be released is abandoned, with its memory. A closed Pool provides none.
func TestOnDemandAbandoned(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	demands := &demandPD{ProtectionDomain: pd}
	p := mrpool.New(demands, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 4 << 20})
	r, err := p.RegisterOwn(100, writeOnly)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demands.memory[0](); err != nil {
		t.Fatal(err)
	}
	if err := p.Abandon(&r); err != nil {
		t.Error(err)
	}
	if _, err := p.Collect(&r, nil, 0); err != nil {
		t.Error(err)
	}
	if r, err = p.RegisterOwn(100, writeOnly); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, mrpool.ErrInUse) {
		t.Errorf("%v, want %v", err, mrpool.ErrInUse)
	}
	if _, err := demands.memory[1](); !errors.Is(err, mrpool.ErrClosed) {
		t.Errorf("%v, want %v", err, mrpool.ErrClosed)
	}
	if err := p.Release(&r); err != nil {
		t.Error(err)
	}
	if _, err := p.Collect(&r, nil, 0); err != nil {
		t.Error(err)
	}
	if _, err := p.RegisterOwn(100, writeOnly); !errors.Is(err, mrpool.ErrClosed) {
		t.Errorf("%v, want %v", err, mrpool.ErrClosed)
	}
	if r := dev.Resources(); r.MRs != 0 || r.AllocatedBytes != 0 {
		t.Errorf("left: %+v", r)
	}
}

// Without regions on demand, and for memory that the peer may read, RegisterOwn has memory at once.
// A registration that fails costs nothing.
func TestRegisterOwnWithMemory(t *testing.T) {
	_, _, pd := newPool(t, mrpool.Config{})
	demands := &demandPD{ProtectionDomain: pd, fail: verbs.ErrNotSupported}
	p := mrpool.New(demands, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 4 << 20})
	own := func(p *mrpool.Pool, access verbs.Access) {
		t.Helper()
		r, err := p.RegisterOwn(100, access)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Bytes()) != 100 || r.Len() != 100 {
			t.Errorf("%d bytes of memory, want 100", len(r.Bytes()))
		}
		if err := p.Release(&r); err != nil {
			t.Error(err)
		}
		if _, err := p.Collect(&r, nil, 0); err != nil {
			t.Error(err)
		}
	}
	own(p, writeOnly)
	own(p, writeOnly)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p = mrpool.New(pd, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 4 << 20})
	own(p, writeOnly|verbs.AccessRemoteRead)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	demands.fail = broken
	p = mrpool.New(demands, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 4 << 20})
	if _, err := p.RegisterOwn(100, writeOnly); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
