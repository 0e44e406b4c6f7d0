package mrpool_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func newPool(t *testing.T, cfg mrpool.Config) (*mrpool.Pool, *mem.Device, verbs.ProtectionDomain) {
	t.Helper()
	dev, err := mem.New(nil).Open("d", nil)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(pd.Close(), dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return mrpool.New(pd, cfg), dev, pd
}

const remote = verbs.AccessLocalWrite | verbs.AccessRemoteWrite

// A region object is reused, but its key never is (R286, R302).
func TestKeyIsNeverReused(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{Heap: true, KeepIdle: 2})
	keys := make(map[uint32]bool)
	buf := make([]byte, 100)
	for range 50 {
		mr, err := p.Register(buf, remote)
		if err != nil {
			t.Fatal(err)
		}
		if keys[mr.RKey()] || mr.Access() != remote || mr.State() != verbs.MRValid || &mr.Bytes()[0] != &buf[0] {
			t.Errorf("key %#x seen %v, access %v, state %v", mr.RKey(), keys[mr.RKey()], mr.Access(), mr.State())
		}
		keys[mr.RKey()] = true
		if err := p.Release(&mr); err != nil {
			t.Fatal(err)
		}
		if mr.State() != verbs.MRInvalid {
			t.Errorf("state %v after Release", mr.State())
		}
	}
	if st := p.Stats(); st.Registrations != 50 || st.Regions != 1 {
		t.Errorf("%+v", st)
	}
	// Of more regions than KeepIdle the rest is deregistered.
	var mrs []mrpool.Region
	for range 5 {
		mr, err := p.Register(buf, remote)
		if err != nil {
			t.Fatal(err)
		}
		mrs = append(mrs, mr)
	}
	for _, mr := range mrs {
		if err := p.Release(&mr); err != nil {
			t.Error(err)
		}
	}
	if st := p.Stats(); st.Regions != 2 || dev.Resources().MRs != 2 {
		t.Errorf("%+v, device has %d regions", st, dev.Resources().MRs)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Invalid registrations are refused, and so is use after Close.
func TestInvalidRegistrationIsRefused(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{Heap: true, KeepIdle: 2})
	for range 2 { // the second time with a region object to reuse
		if _, err := p.Register(nil, 0); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("no bytes: %v", err)
		}
		if _, err := p.Register(make([]byte, 1), verbs.AccessRemoteWrite); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("rights that do not exist together: %v", err)
		}
		mr, err := p.Register(make([]byte, 1), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Release(&mr); err != nil {
			t.Fatal(err)
		}
	}
	mr, err := p.Register(make([]byte, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, mrpool.ErrInUse) {
		t.Errorf("closed with a region out: %v", err)
	}
	if err := p.Abandon(&mr); err != nil {
		t.Error(err)
	}
	for _, f := range []func() error{
		func() error { _, err := p.Register(make([]byte, 1), 0); return err },
		func() error { _, err := p.Buffer(1); return err },
	} {
		if err := f(); !errors.Is(err, mrpool.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if err := p.Close(); err != nil || dev.Resources().MRs != 0 {
		t.Errorf("second Close: %v, %d regions", err, dev.Resources().MRs)
	}
}

// Buffers have the length asked for, are reused by class, and have no rights for the peer.
func TestBuffersHaveTheLengthAskedFor(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 1, KeepBytes: 1 << 30})
	for _, n := range []int{0, 1, 512, 513, 1000, 65536, 65537, 1 << 22, 1<<22 + 1, 17 << 20} {
		b, err := p.Buffer(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Bytes) != n || b.MR.Access() != verbs.AccessLocalWrite || b.MR.RKey() != 0 || len(b.MR.Bytes()) < n {
			t.Errorf("%d bytes: %d, %v", n, len(b.Bytes), b.MR.Access())
		}
		again := b.MR
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
		if b, err = p.Buffer(n); err != nil {
			t.Fatal(err)
		}
		if b.MR != again {
			t.Errorf("%d bytes: the buffer is not reused", n)
		}
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := p.Buffer(700)
	b, _ := p.Buffer(700)
	if &a.Bytes[0] == &b.Bytes[0] {
		t.Fatal("one buffer twice")
	}
	if err := errors.Join(p.Put(a), p.Put(b), p.Close()); err != nil {
		t.Error(err)
	}
	if r := dev.Resources(); r.MRs != 0 || r.AllocatedBytes != 0 {
		t.Errorf("left: %+v", r)
	}
	if st := p.Stats(); st.Buffers != 0 || st.BufferBytes != 0 {
		t.Errorf("%+v", st)
	}
}

// No buffer wastes more than a fifth, and buffers of a class are reused for it.
func TestClassWastesAFifthAtMost(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 1, KeepBytes: 1 << 30})
	sizes := make(map[uint64]int)
	for n := 513; n <= 1<<22; n += 1 + n/97 {
		before := dev.Resources().AllocatedBytes
		b, err := p.Buffer(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := uint64(len(b.MR.Bytes())); got < uint64(n) || got-uint64(n) > got/5 {
			t.Errorf("%d bytes asked for, %d given", n, got)
		} else if before != dev.Resources().AllocatedBytes {
			sizes[got]++
		}
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
	}
	for size, n := range sizes {
		if n != 1 {
			t.Errorf("size %d was allocated %d times", size, n)
		}
	}
	if len(sizes) != 4*13 {
		t.Errorf("%d sizes", len(sizes))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A peer that makes us use every class does not make us keep a buffer of each.
func TestKeepBytes(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 10, KeepBytes: 10000})
	for n := 512; n <= 1<<20; n += n / 4 {
		b, err := p.Buffer(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
	}
	if got := dev.Resources().AllocatedBytes; got == 0 || got > 10000 || got != p.Stats().BufferBytes {
		t.Errorf("%d bytes are kept, %d counted, limit is 10000", got, p.Stats().BufferBytes)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A buffer that is in use does not count for KeepBytes. A discarded buffer is not kept.
func TestKeepBytesAgain(t *testing.T) {
	p, _, _ := newPool(t, mrpool.Config{KeepIdle: 1, KeepBytes: 1024})
	take := func() *mrpool.Buffer {
		t.Helper()
		b, err := p.Buffer(1024)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := take()
	for try := range 5 {
		mr := b.MR
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
		if b = take(); b.MR != mr {
			t.Fatalf("try %d: another buffer", try)
		}
	}
	if err := p.Discard(b); err != nil {
		t.Fatal(err)
	}
	if st := p.Stats(); st.Buffers != 0 || st.BufferBytes != 0 {
		t.Errorf("a discarded buffer is kept: %+v", st)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Goroutines share a Pool.
func TestGoroutinesShareAPool(t *testing.T) {
	p, _, _ := newPool(t, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			buf := make([]byte, 64)
			for range 200 {
				mr, err := p.Register(buf, remote)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := p.Buffer(100 << (g % 4))
				if err != nil {
					t.Error(err)
					return
				}
				b.Bytes[0] = byte(g)
				if err := errors.Join(p.Release(&mr), p.Put(b)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Without heap memory the region is of a copy. Unstage copies the bytes that the peer wrote, and
// the copy's buffer is reused.
func TestStagedBytesAreCopiedBack(t *testing.T) {
	p, dev, _ := newPool(t, mrpool.Config{KeepIdle: 2, KeepBytes: 1 << 20})
	for range 2 {
		user := []byte("what the peer may write to")
		mr, err := p.Register(user, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		if &mr.Bytes()[0] == &user[0] || len(mr.Bytes()) != len(user) {
			t.Error("no copy")
		}
		copy(mr.Bytes(), "THIS")
		if err := errors.Join(p.Release(&mr), p.Unstage(&mr, 4)); err != nil || string(user) != "THIS the peer may write to" {
			t.Errorf("%q, %v", user, err)
		}
		mr, err = p.Register([]byte("source"), verbs.AccessRemoteRead)
		if err != nil || string(mr.Bytes()) != "source" {
			t.Fatalf("%q, %v", mr.Bytes(), err)
		}
		if err := errors.Join(p.Release(&mr), p.Unstage(&mr, 0)); err != nil {
			t.Error(err)
		}
	}
	if st := p.Stats(); st.Staged != 2*(4+6) || st.Buffers != 1 || dev.Resources().MRs != 2 {
		t.Errorf("%+v, device has %d regions", st, dev.Resources().MRs)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// The memory of RegisterOwn is given back to the Pool by Collect, which copies the bytes that the
// peer wrote, and is reused with a new key. Detaching it needs no other memory.
func TestRegisterOwn(t *testing.T) {
	for _, heap := range []bool{true, false} {
		_, _, pd := newPool(t, mrpool.Config{})
		p := mrpool.New(withMemoryPD{pd}, mrpool.Config{Heap: heap, KeepIdle: 4, KeepBytes: 1 << 20})
		keys := map[uint32]bool{}
		for i := range 4 {
			r, err := registerOwn(p, 1000, remote)
			if err != nil {
				t.Fatal(err)
			}
			if keys[r.RKey()] || len(r.Bytes()) != 1000 {
				t.Errorf("%d bytes, key %#x was used before: %v", len(r.Bytes()), r.RKey(), keys[r.RKey()])
			}
			keys[r.RKey()] = true
			copy(r.Bytes(), "from the peer")
			if i == 3 {
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
			if got, err := p.Collect(&r, []byte("it is "), 13); err != nil || string(got) != "it is from the peer" {
				t.Errorf("%q, %v", got, err)
			}
		}
		if st := p.Stats(); st.Buffers != 1 || st.Staged != 3*13 || st.Registrations != 4 {
			t.Errorf("%+v", st)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A buffer that is not kept is freed, although the region object that was registered for it, or for
// a part of it, is kept.
func TestBufferUnderIdleRegion(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	p := mrpool.New(withMemoryPD{pd}, mrpool.Config{Heap: true, KeepIdle: 4})
	r, err := registerOwn(p, 1000, remote)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Release(&r); err != nil {
		t.Error(err)
	}
	if _, err := p.Collect(&r, nil, 10); err != nil {
		t.Error(err)
	}
	b, err := p.Buffer(1000)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = p.Register(b.Bytes[10:20], remote); err != nil {
		t.Fatal(err)
	}
	if err := p.Release(&r); err != nil {
		t.Error(err)
	}
	if err := p.Put(b); err != nil {
		t.Error(err)
	}
	if st := p.Stats(); st.Regions != 1 || dev.Resources().AllocatedBytes != 0 {
		t.Errorf("%+v, %d bytes allocated", st, dev.Resources().AllocatedBytes)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
