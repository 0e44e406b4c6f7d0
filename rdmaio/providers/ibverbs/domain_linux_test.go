package ibverbs

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openDomain returns a domain without queue pairs.
func openDomain(t *testing.T, f *fakeNet) verbs.ProtectionDomain {
	t.Helper()
	pd, err := f.c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pd.Close(); err != nil {
			t.Error(err)
		}
	})
	return pd
}

// Memory that was used before has no byte of its last user.
func TestMemoryIsClearedBeforeItIsUsedAgain(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	for range 2 {
		buf, err := pd.Alloc(1000)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf, make([]byte, len(buf))) {
			t.Error("Alloc returns memory that was not cleared")
		}
		for i := range buf {
			buf[i] = 0xff
		}
		if err := pd.Free(buf); err != nil {
			t.Error(err)
		}
	}
}

// A domain keeps its first slab, and gives back the others with their last buffer.
func TestSlabsAreGivenBackButTheFirst(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	expect := func(when string, mrs, locked int) {
		t.Helper()
		if o := f.net.Objects(); o.MRs != mrs || o.LockedBytes != locked {
			t.Errorf("%s: %d registrations of %d bytes, want %d of %d", when, o.MRs, o.LockedBytes, mrs, locked)
		}
	}
	alloc := func(n int) []byte {
		t.Helper()
		buf, err := pd.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return buf
	}
	free := func(buf []byte) {
		t.Helper()
		if err := pd.Free(buf); err != nil {
			t.Error(err)
		}
	}
	page := os.Getpagesize()
	first := alloc(1000)
	expect("a small buffer", 1, 2*page)
	free(first)
	expect("nothing", 1, 2*page)
	first = alloc(1000)
	large, more := alloc(1<<20), alloc(1<<20)
	expect("two large buffers", 3, 4*page+2<<20) // the second is as large as what there was
	free(more)
	expect("one large buffer", 2, 2*page+1<<20)
	free(large)
	expect("the small buffer", 1, 2*page)
	free(first)
	expect("nothing again", 1, 2*page)
	other := openDomain(t, f)
	if buf, err := other.Alloc(keptSlab); err != nil || other.Free(buf) != nil {
		t.Error("a buffer of the size that is kept:", err)
	}
	expect("a domain that had only a large buffer", 1, 2*page)
}

// Memory that a valid region covers in part is not freed, wherever in the buffer the region lies.
func TestMemoryOfAValidRegionIsNotFreed(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	buf, err := pd.Alloc(300)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{buf, buf[:1], buf[100:200], buf[299:]} {
		mr, err := pd.RegisterMemory(part, verbs.AccessLocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := pd.Free(buf); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("free of memory with a region of %d bytes: %v, want ErrBusy", len(part), err)
		}
		if err := mr.Deregister(); err != nil {
			t.Error(err)
		}
	}
	if err := pd.Free(buf); err != nil {
		t.Error(err)
	}
}

// A domain with regions is not closed, not even if they are invalid and their memory is freed. Nor
// is its device, whose error has the number of regions left.
func TestDomainWithRegionsIsNotClosed(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	buf, err := pd.Alloc(300)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.RegisterMemory(buf, verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mr.Invalidate(), pd.Free(buf)); err != nil {
		t.Fatal(err)
	}
	if err := pd.Close(); !errors.Is(err, verbs.ErrBusy) || !strings.Contains(err.Error(), "1 regions") {
		t.Errorf("close of a domain with a region: %v, want ErrBusy", err)
	}
	if err := f.c.Close(); !errors.Is(err, verbs.ErrBusy) || !strings.Contains(err.Error(), "MRs:1") {
		t.Errorf("close of a device with a region: %v, want ErrBusy and the count", err)
	}
	if err := mr.Deregister(); err != nil {
		t.Error(err)
	}
}

// Slabs are registered without rights for the peer: their keys open nothing.
func TestPeerCannotUseTheKeyOfASlab(t *testing.T) {
	for name, q := range map[string]quirks.Quirks{"windows": {}, "registrations": {NoWindows: true}} {
		t.Run(name, func(t *testing.T) {
			for _, op := range []verbs.Opcode{verbs.RDMARead, verbs.RDMAWrite} {
				f := openFake(t, abi.TransportIB, q, Config{})
				c, s := connectedSides(t, f)
				target, mine := c.region(8, verbs.AccessLocalWrite), s.region(8, verbs.AccessLocalWrite)
				c.pd.mu.Lock()
				key := abi.MR(uintptr(c.pd.slabs[0].mr)).RKey
				c.pd.mu.Unlock()
				s.send(verbs.SendWR{
					Opcode: op, Flags: verbs.SendSignaled, RKey: key, RemoteAddr: target.RemoteAddr(), SGL: []verbs.SGE{{MR: mine, Length: 8}},
				})
				if wc := s.wait(1)[0]; wc.Status != verbs.StatusRemoteAccess {
					t.Errorf("%v: %v, want %v", op, wc.Status, verbs.StatusRemoteAccess)
				}
			}
		})
	}
}

// virtual returns the bytes of this process's address space.
func virtual(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return n * os.Getpagesize()
}

// shared returns the bytes of memory that a child process does not get: what the provider maps.
func shared(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Fields(line); fields[0] {
		case "Size:":
			if size, err = strconv.Atoi(fields[1]); err != nil {
				t.Fatal(err)
			}
		case "VmFlags:":
			if slices.Contains(fields, "dc") {
				n += size << 10
			}
		}
	}
	return n
}

// A queue pair that cannot be created leaves no memory for its requests.
func TestMemoryOfAFailedQueuePairIsUnmapped(t *testing.T) {
	const times, size = 200, 12 << 10 // the size is the least
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.client.Fail("ibv_create_cq", syscall.EINVAL, 0, times)
	before := shared(t)
	for range times {
		if _, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 16}); !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("CreateQP: %v, want EINVAL", err)
		}
	}
	if grown := shared(t) - before; grown > size*times/2 {
		t.Errorf("%d KiB more are mapped after %d failures", grown>>10, times)
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
}

// Memory that cannot be registered is unmapped.
func TestMemoryThatCannotBeRegisteredIsUnmapped(t *testing.T) {
	const size, times = 64 << 20, 40
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	f.client.Fail("ibv_reg_mr", syscall.EINVAL, 0, times)
	before := virtual(t)
	for range times {
		if _, err := pd.Alloc(size); !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("Alloc: %v, want EINVAL", err)
		}
	}
	if grown := virtual(t) - before; grown > size*times/2 {
		t.Errorf("%d MiB more of the address space are in use after %d failures", grown>>20, times)
	}
}

// Free takes the beginning of a buffer, and counts all of it.
func TestFreeOfTheBeginningCountsTheBuffer(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	pd := openDomain(t, f)
	buf, err := pd.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := pd.Free(buf[:10]); err != nil {
		t.Error(err)
	}
	if r := f.c.Resources(); r.AllocatedBytes != 0 {
		t.Errorf("%d bytes count as allocated, want 0", r.AllocatedBytes)
	}
}

// A domain with two queue pairs has no windows, since those work on one of them only.
func TestKeyOfADomainWorksOnEachQueuePair(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, s := connectedSides(t, f)
	second, peer := &side{t: t, dev: c.dev, pd: c.pd, cq: c.cq}, newSide(t, f.s, verbs.QPConfig{})
	qp, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq})
	c.must(err)
	defer func() { c.must(qp.Close()) }()
	second.qp = qp.(*queuePair)
	connectSides(second, peer)
	r := c.region(8, remoteRW)
	if r.window != nil {
		t.Error("the region has a window")
	}
	for i, p := range []*side{s, peer} {
		if status := p.read(r.RKey(), r, p.region(8, verbs.AccessLocalWrite)); status != verbs.StatusSuccess {
			t.Errorf("read by the peer of queue pair %d: %v", i, status)
		}
	}
}

// Requests of this side use the local key of a registration, and the peer the remote key.
func TestLocalAndRemoteKeysOfARegistrationDiffer(t *testing.T) {
	q := noQuirks
	q.NoWindows = true
	f := openFakeDevices(t, fakelib.DeviceOptions{Quirks: q, Manners: fakelib.Manners{DistinctKeys: true}}, noPings, itself)
	c, s := connectedSides(t, f)
	r, sink := c.region(8, remoteRW), s.region(8, verbs.AccessLocalWrite)
	s.recv(1, sink)
	c.send(sendsOf(r)...)
	if wc := c.wait(1)[0]; wc.Status != verbs.StatusSuccess {
		t.Errorf("a Send of the region: %+v", wc)
	}
	s.wait(1)
	if status := s.read(r.RKey(), r, sink); status != verbs.StatusSuccess {
		t.Errorf("a Read of the region: %v", status)
	}
}
