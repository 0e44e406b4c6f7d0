package mrpool_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var errBroken = errors.New("broken")

// brokenPD is a protection domain whose registrations and regions can fail.
type brokenPD struct {
	verbs.ProtectionDomain
	registered int
	fails      int // the number of the registration that fails; 0 means none
	redirect   error
	invalidate error
	deregister func() error
}

func (p *brokenPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	if p.registered++; p.registered == p.fails {
		return nil, errBroken
	}
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	return &brokenRegion{mr, p}, err
}

type brokenRegion struct {
	verbs.MemoryRegion
	pd *brokenPD
}

func (r *brokenRegion) Redirect(buf []byte) error {
	if r.pd.redirect != nil {
		return r.pd.redirect
	}
	return r.MemoryRegion.(verbs.Redirector).Redirect(buf)
}

func (r *brokenRegion) Invalidate() error {
	return errors.Join(r.MemoryRegion.Invalidate(), r.pd.invalidate)
}

func (r *brokenRegion) Deregister() error {
	err := r.MemoryRegion.Deregister()
	if r.pd.deregister != nil {
		err = errors.Join(err, r.pd.deregister())
	}
	return err
}

// A registration that fails gives back the memory that it had allocated.
func TestFailedRegistrationKeepsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		fails int
		heap  bool
		use   func(*mrpool.Pool) error
	}{
		"a buffer":      {1, true, func(p *mrpool.Pool) error { _, err := p.Buffer(100); return err }},
		"an exact one":  {1, true, func(p *mrpool.Pool) error { _, err := p.Exact(100); return err }},
		"a copy":        {2, false, func(p *mrpool.Pool) error { _, err := p.Register(make([]byte, 100), remote); return err }},
		"own memory":    {2, false, func(p *mrpool.Pool) error { _, err := registerOwn(p, 100, remote); return err }},
		"for a demand":  {1, true, func(p *mrpool.Pool) error { _, err := registerOwn(p, 100, remote); return err }},
		"of the caller": {1, true, func(p *mrpool.Pool) error { _, err := p.Register(make([]byte, 100), remote); return err }},
	} {
		_, dev, pd := newPool(t, mrpool.Config{})
		p := mrpool.New(&brokenPD{ProtectionDomain: pd, fails: tt.fails}, mrpool.Config{Heap: tt.heap})
		if err := tt.use(p); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", name, err, errBroken)
		}
		if r := dev.Resources(); r.MRs != 0 || r.AllocatedBytes != 0 {
			t.Errorf("%s: left: %+v", name, r)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A region that cannot be redirected stays as it was, and the memory meant for it is given back.
func TestDetachWithoutRedirect(t *testing.T) {
	for redirect, want := range map[error]error{verbs.ErrNotSupported: nil, errBroken: errBroken} {
		_, dev, pd := newPool(t, mrpool.Config{})
		p := mrpool.New(&brokenPD{ProtectionDomain: pd, redirect: redirect}, mrpool.Config{Heap: true})
		user := []byte("the caller's")
		r, err := p.Register(user, remote)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := p.Detach(&r); ok || !errors.Is(err, want) {
			t.Errorf("%v: detached %v, %v", redirect, ok, err)
		}
		if &r.Bytes()[0] != &user[0] || dev.Resources().AllocatedBytes != 0 {
			t.Errorf("%v: the region has other memory, %+v", redirect, dev.Resources())
		}
		if err := errors.Join(p.Release(&r), p.Close()); err != nil {
			t.Errorf("%v: %v", redirect, err)
		}
	}
}

// A detached region does not keep the caller's memory, though the region was of a copy.
func TestDetachFreesCallersMemory(t *testing.T) {
	p, _, _ := newPool(t, mrpool.Config{})
	user := make([]byte, 1<<16)
	r, err := p.Register(user, remote)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Detach(&r); !ok || err != nil {
		t.Fatalf("detached %v, %v", ok, err)
	}
	pointer := weak.Make(&user[0])
	user = nil
	for i := 0; pointer.Value() != nil; i++ {
		if runtime.GC(); i == 10 {
			t.Fatal("the caller's memory is still referenced")
		}
	}
	if err := errors.Join(p.Drop(&r), p.Close()); err != nil {
		t.Error(err)
	}
}

// A Pool that is closed keeps nothing that is given back later.
func TestClosedPoolKeepsNothing(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
	r, err := p.Register(make([]byte, 100), remote)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Buffer(100)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, mrpool.ErrInUse) {
		t.Errorf("%v, want %v", err, mrpool.ErrInUse)
	}
	if err := errors.Join(p.Release(&r), p.Put(b)); err != nil {
		t.Error(err)
	}
	if res := dev.Resources(); res.MRs != 0 || res.AllocatedBytes != 0 {
		t.Errorf("left: %+v", res)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// No more than KeepIdle buffers of a class are kept, and none that was made to measure. A buffer
// that was given back has no bytes.
func TestKeepIdleLimitsEachClass(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 2, KeepBytes: 1 << 20})
	var all []*mrpool.Buffer
	for _, get := range []func(int) (*mrpool.Buffer, error){p.Buffer, p.Buffer, p.Buffer, p.Buffer, p.Exact} {
		b, err := get(1000)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if got, want := dev.Resources().AllocatedBytes, uint64(4*mrpool.Size(1000)+1000); got != want {
		t.Errorf("%d bytes are allocated, want %d", got, want)
	}
	for i := range all {
		b := all[len(all)-1-i] // the exact one first
		if err := p.Put(b); err != nil {
			t.Error(err)
		}
		if b.Bytes != nil {
			t.Error("a buffer that was given back has bytes")
		}
		if want := min(i, 2) + len(all) - 1 - i; p.Stats().Buffers != want {
			t.Errorf("%d buffers after %d were given back, want %d", p.Stats().Buffers, i+1, want)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A Pool gives back at rest what it keeps, also if that is of one kind only.
func TestEachKindIsGivenBackAtRest(t *testing.T) {
	for name, use := range map[string]func(*mrpool.Pool) error{
		"a region": func(p *mrpool.Pool) error {
			r, err := p.Register(make([]byte, 100), remote)
			return errors.Join(err, p.Release(&r))
		},
		"a region on demand": func(p *mrpool.Pool) error {
			r, err := registerOwn(p, 100, writeOnly)
			err = errors.Join(err, p.Release(&r))
			_, collected := p.Collect(&r, nil, 0)
			return errors.Join(err, collected)
		},
		"a buffer": func(p *mrpool.Pool) error {
			b, err := p.Buffer(100)
			return errors.Join(err, p.Put(b))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, dev, _ := newPool(t, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
			if err := use(p); err != nil {
				t.Fatal(err)
			}
			if dev.Resources().MRs != 1 {
				t.Errorf("%s: %+v, want it kept", name, dev.Resources())
			}
			time.Sleep(time.Minute + time.Second)
			if r := dev.Resources(); r.MRs != 0 || r.AllocatedBytes != 0 {
				t.Errorf("%s: left at rest: %+v", name, r)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A load that comes again within a period of rest uses the same buffers, and those that it does not
// need are given back, the largest first.
func TestRestKeepsBuffersOfTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := newPool(t, mrpool.Config{KeepIdle: 8, KeepBytes: 32 << 20})
		made := make(map[any]bool)
		load := func(sizes ...int) {
			t.Helper()
			var all []*mrpool.Buffer
			for _, n := range sizes {
				b, err := p.Buffer(n)
				if err != nil {
					t.Fatal(err)
				}
				made[b.MR] = true
				all = append(all, b)
			}
			for _, b := range all {
				if err := p.Put(b); err != nil {
					t.Error(err)
				}
			}
		}
		load(512, 512, 512, 1<<20)
		for range 12 {
			time.Sleep(11 * time.Second) // not when a period ends
			load(512, 512, 512)
		}
		if got := p.Stats().BufferBytes; len(made) != 4 || got != 3*512 {
			t.Errorf("%d buffers were made and %d bytes are kept, want 4 and %d", len(made), got, 3*512)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Registrations that come again within a period of rest use the same region.
func TestRestKeepsRegionsOfTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, pd := newPool(t, mrpool.Config{})
		counting := &brokenPD{ProtectionDomain: pd}
		p := mrpool.New(counting, mrpool.Config{Heap: true, KeepIdle: 4})
		for range 12 {
			r, err := p.Register(make([]byte, 100), remote)
			if err := errors.Join(err, p.Release(&r)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Second) // not when a period ends
		}
		if counting.registered != 1 {
			t.Errorf("%d regions were made, want 1", counting.registered)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The peak of KeepPeak counts buffers in use and kept together, and those that stay in use over
// several periods.
func TestPeakCountsBuffersInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one, two = 64 << 10, 80 << 10
		p, _, _ := newPool(t, mrpool.Config{KeepIdle: 20, KeepBytes: one, KeepPeak: true})
		take := func(n, size int) (all []*mrpool.Buffer) {
			t.Helper()
			for range n {
				b, err := p.Buffer(size)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, b)
			}
			return all
		}
		put := func(all []*mrpool.Buffer) {
			t.Helper()
			for _, b := range all {
				if err := p.Put(b); err != nil {
					t.Error(err)
				}
			}
		}
		long := take(12, one)
		put(long[:2])
		time.Sleep(2100 * time.Millisecond)
		if got := p.Stats().BufferBytes; got != 11*one {
			t.Errorf("%d bytes with 10 buffers in use, want them and KeepBytes, %d", got, 11*one)
		}
		put(long[2:7]) // 5 are in use, 5 kept at most
		put(take(5, two))
		if got, most := p.Stats().BufferBytes, uint64(5*one+5*two); got > most {
			t.Errorf("%d bytes, want at most the peak, %d", got, most)
		}
		put(long[7:])
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close returns the errors of memory that was freed before, while nothing was in use.
func TestCloseReturnsErrorsOfRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, pd := newPool(t, mrpool.Config{})
		broken := &brokenPD{ProtectionDomain: pd, deregister: func() error { return errBroken }}
		p := mrpool.New(broken, mrpool.Config{KeepIdle: 4, KeepBytes: 1 << 20})
		b, err := p.Buffer(100)
		if err := errors.Join(err, p.Put(b)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait() // for the timer, which calls deregister
		broken.deregister = nil
		if err := p.Close(); !errors.Is(err, errBroken) {
			t.Errorf("%v, want %v", err, errBroken)
		}
	})
}

// Close returns when memory that a timer frees is freed: the protection domain can be closed then.
func TestCloseWaitsForTimer(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	freeing, goOn := make(chan bool), make(chan bool)
	broken := &brokenPD{ProtectionDomain: pd, deregister: func() error { freeing <- true; <-goOn; return nil }}
	p := mrpool.New(broken, mrpool.Config{KeepIdle: 4, KeepPeak: true})
	b, err := p.Buffer(100)
	if err := errors.Join(err, p.Put(b)); err != nil {
		t.Fatal(err)
	}
	<-freeing // within two seconds
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	select {
	case err := <-closed:
		t.Error("Close does not wait")
		closed <- err
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	if err := <-closed; err != nil || dev.Resources().AllocatedBytes != 0 {
		t.Errorf("%v, left: %+v", err, dev.Resources())
	}
}

// The timers of a Pool that is closed do not keep its memory.
func TestClosedPoolIsFreed(t *testing.T) {
	p, _, _ := newPool(t, mrpool.Config{KeepIdle: 4, KeepBytes: 100, KeepPeak: true})
	b, err := p.Buffer(1000)
	if err := errors.Join(err, p.Put(b), p.Close()); err != nil {
		t.Fatal(err)
	}
	pointer := weak.Make(p)
	p, b = nil, nil
	for i := 0; pointer.Value() != nil; i++ {
		if runtime.GC(); i == 10 {
			t.Fatal("the Pool is still referenced")
		}
	}
}
