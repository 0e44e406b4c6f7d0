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
	tried  int   // registrations on demand
	made   int   // regions
}

func (p *demandPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	p.made++
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	return demandRegion{mr, p}, err
}

type demandRegion struct {
	verbs.MemoryRegion
	pd *demandPD
}

func (r demandRegion) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	if r.pd.tried++; r.pd.fail != nil {
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
		r, err := registerOwn(p, 1<<20, writeOnly)
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
	r, err := registerOwn(p, 100, writeOnly)
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
	if r, err = registerOwn(p, 100, writeOnly); err != nil {
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
	if _, err := registerOwn(p, 100, writeOnly); !errors.Is(err, mrpool.ErrClosed) {
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
		r, err := registerOwn(p, 100, access)
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
	if st := p.Stats(); demands.tried != 1 || st.Regions != 1 {
		t.Errorf("a device without regions on demand was asked for them %d times, want once; %+v", demands.tried, st)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p = mrpool.New(demands, mrpool.Config{KeepIdle: 4, KeepBytes: 4 << 20})
	if own(p, writeOnly); demands.tried != 1 {
		t.Error("without Config.Heap, a region on demand")
	}
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
	if _, err := registerOwn(p, 100, writeOnly); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	demands.fail = nil // the device can do it after all
	r, err := registerOwn(p, 100, writeOnly)
	if err != nil || r.Bytes() != nil {
		t.Errorf("after a failure: %d bytes of memory, %v, want a region on demand", len(r.Bytes()), err)
	}
	if err := errors.Join(p.Release(&r), p.Drop(&r)); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// plainPD is a protection domain without regions on demand that counts registrations.
type plainPD struct {
	withMemoryPD
	made int
}

func (p *plainPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	p.made++
	return p.withMemoryPD.RegisterMemory(buf, access)
}

// A Pool asks a device once whether its regions can be on demand, and keeps nothing that it needed
// to ask.
func TestDeviceWithoutDemandIsAskedOnce(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	plain := &plainPD{withMemoryPD: withMemoryPD{pd}}
	p := mrpool.New(plain, mrpool.Config{Heap: true})
	for i := range 3 {
		r, err := registerOwn(p, 100, writeOnly)
		if err != nil {
			t.Fatal(err)
		}
		// Its buffer and its region, and at first the one to ask with.
		if want := 2*(i+1) + 1; plain.made != want {
			t.Errorf("%d registrations after %d regions, want %d", plain.made, i+1, want)
		}
		if err := p.Release(&r); err != nil {
			t.Error(err)
		}
		if _, err := p.Collect(&r, nil, 0); err != nil {
			t.Error(err)
		}
		if res := dev.Resources(); res.MRs != 0 || res.AllocatedBytes != 0 {
			t.Errorf("left: %+v", res)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A region that cannot be invalidated before its first use is deregistered.
func TestDemandThatCannotBeInvalidated(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	p := mrpool.New(&brokenPD{ProtectionDomain: pd, invalidate: errBroken}, mrpool.Config{Heap: true})
	if _, err := registerOwn(p, 100, writeOnly); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
	if err := p.Close(); err != nil || dev.Resources().MRs != 0 {
		t.Errorf("%v, left: %+v", err, dev.Resources())
	}
}

// Regions on demand are kept up to KeepIdle, count as in use when they are used again, and begin
// without the memory of their last use.
func TestKeptDemands(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	demands := &demandPD{ProtectionDomain: pd}
	p := mrpool.New(demands, mrpool.Config{Heap: true, KeepIdle: 2, KeepBytes: 4 << 20})
	take := func() mrpool.Region {
		t.Helper()
		r, err := registerOwn(p, 100, writeOnly)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	give := func(r mrpool.Region, want string) {
		t.Helper()
		if err := p.Release(&r); err != nil {
			t.Error(err)
		}
		if got, err := p.Collect(&r, nil, 4); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	all := []mrpool.Region{take(), take(), take()}
	for i, r := range all {
		b, err := demands.memory[i]()
		if err != nil {
			t.Fatal(err)
		}
		copy(b, "here")
		give(r, "here")
	}
	if st := p.Stats(); st.Regions != 2 || st.Staged != 3*4 || dev.Resources().MRs != 2+st.Buffers {
		t.Errorf("%+v, %+v, want 2 regions on demand kept", st, dev.Resources())
	}
	before := demands.made
	again, other := take(), take()
	if demands.made != before {
		t.Error("kept regions are not used again")
	}
	if err := p.Close(); !errors.Is(err, mrpool.ErrInUse) {
		t.Errorf("with regions in use: %v, want %v", err, mrpool.ErrInUse)
	}
	give(again, "\x00\x00\x00\x00")
	give(other, "\x00\x00\x00\x00")
	if err := p.Close(); err != nil || dev.Resources().MRs != 0 {
		t.Errorf("%v, left: %+v", err, dev.Resources())
	}
}

// registerOwn registers memory of the Pool, on demand if the device can do it.
func registerOwn(p *mrpool.Pool, n int, access verbs.Access) (mrpool.Region, error) {
	if access&verbs.AccessRemoteRead == 0 {
		if r, err := p.RegisterOnDemand(n, access); !errors.Is(err, verbs.ErrNotSupported) {
			return r, err
		}
	}
	return p.RegisterOwn(n, access)
}
