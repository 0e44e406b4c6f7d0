package soft

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// newDevice returns a device whose keys depend on seed only.
func newDevice(t *testing.T, seed byte) *Device {
	t.Helper()
	d, err := New(Config{
		Provider: "soft", Rand: bytes.NewReader(bytes.Repeat([]byte{seed}, 16)), Addresses: true,
		Attrs: verbs.DeviceAttributes{Name: "soft0", MaxMRSize: 1 << 20, MaxCQE: 64, MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 4, MaxRecvSGE: 4, HeapMemory: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func register(t *testing.T, pd *Domain, access verbs.Access) *Region {
	t.Helper()
	mr, err := pd.RegisterMemory(make([]byte, 8), access)
	if err != nil {
		t.Fatal(err)
	}
	return mr.(*Region)
}

// R301: after 2^32 registrations the keys begin again. A region that still exists keeps its key,
// which no other region gets.
func TestKeysOfLiveRegionsAreNotGivenTwice(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	old := register(t, pd, verbs.AccessRemoteRead)
	gone := register(t, pd, verbs.AccessRemoteRead)
	goneKey := gone.RKey()
	if err := gone.Deregister(); err != nil {
		t.Fatal(err)
	}
	d.keys.counter = 1 << 32
	fresh := register(t, pd, verbs.AccessRemoteRead)
	if fresh.RKey() != goneKey {
		t.Errorf("key %#x after all were used, want the second region's %#x", fresh.RKey(), goneKey)
	}
	if d.Region(old.RKey()) != old {
		t.Error("a live region's key now names another one")
	}
}

// interrupter is an owner whose Interrupt calls the function.
type interrupter func()

func (h interrupter) Interrupt() { h() }
func (interrupter) Removed()     {}

// Invalidate waits for the pins of the registration that it has revoked. Another goroutine may have
// made the next one before that; Invalidate does not wait for its pins.
func TestInvalidateWaitsForItsOwnRegistrationOnly(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(32, nil)
	if err != nil {
		t.Fatal(err)
	}
	mr := register(t, pd, verbs.AccessRemoteRead)
	pin := func() *Element {
		e, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteRead)
		if reason != "" || !e.Pin() {
			t.Fatalf("no pin: %s", reason)
		}
		return &e
	}
	first, interrupted := pin(), false
	var q QueuePair
	if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
		t.Fatal(err)
	}
	err = q.Register(interrupter(func() {
		interrupted = true
		first.Unpin()
		if err := mr.Reregister(make([]byte, 8), verbs.AccessRemoteRead); err != nil {
			t.Fatal(err)
		}
		pin()
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := mr.Invalidate(); err != nil || !interrupted {
		t.Fatalf("%v; the owner was interrupted: %v", err, interrupted)
	}
	if mr.State() != verbs.MRValid || mr.loadUse().pins() != 1 {
		t.Errorf("region is %v with %d pins, want the next registration with one", mr.State(), mr.loadUse().pins())
	}
}

// Free refuses memory while a copy to it is in progress, although its region is invalid by then.
func TestFreeDuringCopy(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(32, nil)
	if err != nil {
		t.Fatal(err)
	}
	buf, err := pd.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.RegisterMemory(buf, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	e, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteWrite)
	if reason != "" || !e.Pin() {
		t.Fatalf("no pin: %s", reason)
	}
	var q QueuePair
	if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
		t.Fatal(err)
	}
	var during error
	interrupted := make(chan struct{}) // the domain is locked during Interrupt
	go func() {
		<-interrupted
		during = pd.Free(buf)
		e.Unpin()
	}()
	if err := q.Register(interrupter(func() { close(interrupted) })); err != nil {
		t.Fatal(err)
	}
	if err := mr.Invalidate(); err != nil || !errors.Is(during, verbs.ErrBusy) {
		t.Errorf("%v; during the copy Free returned %v, want %v", err, during, verbs.ErrBusy)
	}
	if err := pd.Free(buf); err != nil {
		t.Errorf("after the copy: %v", err)
	}
}

// A spare key names no region, and is not given to one afterwards.
func TestSpareKey(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	spare := d.SpareKey()
	if _, reason := pd.Remote(spare, 0, 1, verbs.AccessRemoteWrite); reason != NoRegion {
		t.Errorf("a spare key: %q, want %q", reason, NoRegion)
	}
	for range 100 {
		if mr := register(t, pd, verbs.AccessRemoteRead); mr.RKey() == spare || d.SpareKey() == spare {
			t.Fatalf("key %#x was given twice", spare)
		}
	}
}
