package mrpool_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// A copy without a right for the peer uses the region that its memory has already: nothing is
// registered, and the region is valid for the next user of the memory.
func TestLocalCopyIsNotRegistered(t *testing.T) {
	for name, end := range map[string]func(*mrpool.Pool, *mrpool.Region) error{
		"Release":       (*mrpool.Pool).Release,
		"ReleaseAtOnce": (*mrpool.Pool).ReleaseAtOnce,
		"Abandon":       (*mrpool.Pool).Abandon,
	} {
		_, _, pd := newPool(t, mrpool.Config{})
		counting := &brokenPD{ProtectionDomain: pd}
		p := mrpool.New(counting, mrpool.Config{KeepIdle: 4, KeepBytes: 1 << 20})
		for range 3 {
			r, err := p.Register([]byte("of the caller"), 0)
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Bytes()[:13]) != "of the caller" || r.State() != verbs.MRValid || r.RKey() != 0 {
				t.Errorf("%s: %q, %v, key %#x", name, r.Bytes(), r.State(), r.RKey())
			}
			if err := errors.Join(end(p, &r), p.Unstage(&r, 0)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if st := p.Stats(); counting.registered != 1 || st.Registrations != 0 || st.Regions != 0 || st.Buffers != 1 || st.Staged != 3*13 {
			t.Errorf("%s: %d registrations by the device, %+v", name, counting.registered, st)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A Pool over a queue pair that can revoke regions together counts them, and keeps their objects.
func TestRevokeTogether(t *testing.T) {
	for name, revoke := range map[string]func(func()){"a Revoker": func(end func()) { end() }, "none": nil} {
		inner, err := mem.New(nil).Open("d", nil)
		if err != nil {
			t.Fatal(err)
		}
		dev := fault.New(fault.Config{Revoke: revoke}).Device(inner)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, err := dev.CreateCQ(10, nil)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
		if err != nil {
			t.Fatal(err)
		}
		p := mrpool.New(pd, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
		if p.Revokes() {
			t.Errorf("%s: revokes without a queue pair", name)
		}
		p.UseQueuePair(qp)
		if p.Revokes() != (revoke != nil) {
			t.Errorf("%s: revokes: %v", name, p.Revokes())
		}
		take := func() mrpool.Region {
			t.Helper()
			r, err := p.Register(make([]byte, 100), remote)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		a, b, local := take(), take(), mrpool.Region{}
		if local, err = p.Register(make([]byte, 50), 0); err != nil {
			t.Fatal(err)
		}
		if st := p.Stats(); st.Pinned != 250 || st.Registrations != 3 || st.Remote != 2 {
			t.Errorf("%s: %+v, want 250 bytes pinned", name, st)
		}
		if revoke != nil {
			reports := make(chan error, 1)
			if err := p.Revoke([]verbs.MemoryRegion{a.MemoryRegion}, func(err error) { reports <- err }); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(<-reports, p.Revoked(&a)); err != nil {
				t.Error(err)
			}
		} else if err := p.Release(&a); err != nil {
			t.Error(err)
		}
		if err := errors.Join(p.ReleaseAtOnce(&b), p.ReleaseAtOnce(&local)); err != nil {
			t.Error(err)
		}
		// ReleaseAtOnce deregisters what Release might have to wait for.
		if st := p.Stats(); st.Revocations != 2 || st.Pinned != 0 || (b.State() == verbs.MRDeregistered) != (revoke != nil) || local.State() != verbs.MRInvalid {
			t.Errorf("%s: %+v, regions %v and %v", name, st, b.State(), local.State())
		}
		if c := take(); true {
			if err := p.Invalidated(&c); err != nil { // by the peer
				t.Error(err)
			}
		}
		if st := p.Stats(); st.Revocations != 2 || st.Pinned != 0 {
			t.Errorf("%s: %+v after a key that the peer ended", name, st)
		}
		for _, close := range []func() error{p.Close, qp.Close, cq.Close, pd.Close, dev.Close} {
			if err := close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Revocations and pinned bytes count regions on demand, detached ones and those that fail, too.
func TestPinnedIsCounted(t *testing.T) {
	_, dev, pd := newPool(t, mrpool.Config{})
	broken := &brokenPD{ProtectionDomain: pd}
	p := mrpool.New(broken, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
	want := func(when string, pinned, revocations uint64) {
		t.Helper()
		if st := p.Stats(); st.Pinned != pinned || st.Revocations != revocations || st.Pinned < dev.Resources().AllocatedBytes {
			t.Errorf("%s: %d bytes pinned, %d keys revoked, want %d and %d; %+v", when, st.Pinned, st.Revocations, pinned, revocations, dev.Resources())
		}
	}
	broken.fails = 1
	if _, err := p.Register(make([]byte, 100), remote); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
	want("after a failure", 0, 0)
	r, err := p.Register(make([]byte, 1000), remote)
	if err != nil {
		t.Fatal(err)
	}
	want("registered", 1000, 0)
	if ok, err := p.Detach(&r); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	size := uint64(mrpool.Size(1000))
	want("detached", size, 0)
	if err := p.Drop(&r); err != nil {
		t.Error(err)
	}
	want("dropped", size, 1)
	if r, err = registerOwn(p, 100, remote|verbs.AccessRemoteRead); err != nil {
		t.Fatal(err)
	}
	if err := p.Release(&r); err != nil {
		t.Error(err)
	}
	if _, err = p.Collect(&r, nil, 0); err != nil {
		t.Error(err)
	}
	want("own memory", size+512, 2)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	want("closed", 0, 2)
	p = mrpool.New(&demandPD{ProtectionDomain: pd}, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 1 << 20})
	for _, end := range []func(*mrpool.Region) error{
		p.Release,
		// In place of the peer.
		func(r *mrpool.Region) error { return errors.Join(r.Invalidate(), p.Invalidated(r)) },
		p.ReleaseAtOnce,
	} {
		if r, err = registerOwn(p, 100, writeOnly); err != nil {
			t.Fatal(err)
		}
		if err := end(&r); err != nil {
			t.Error(err)
		}
		if _, err := p.Collect(&r, nil, 0); err != nil {
			t.Error(err)
		}
	}
	want("on demand", 0, 2)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
