package ibverbs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A queue pair whose requests could overflow the largest completion queue of the device is refused.
func TestQueuePairNeedsCompletionQueueForAllRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	pd, err := f.c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxBoundMRs: 1}
	// Requests, a bind and a revocation, a ping and the last request, Receives.
	const entries = 4 + 2*1 + 3 + 4
	f.c.limits.MaxCQE = entries - 1
	if _, err := pd.CreateQP(cfg); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("create a queue pair: %v, want %v", err, verbs.ErrTooLarge)
	}
	f.c.limits.MaxCQE = entries
	qp, err := pd.CreateQP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(qp.Close(), cq.Close(), pd.Close()); err != nil {
		t.Error(err)
	}
}

// A queue pair whose requests do not fit in the device's send queue is refused before the device
// is asked: the entries for windows count, too.
func TestQueuePairNeedsEntriesForWindows(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, quirks.Quirks{}, Config{})
	pd := openDomain(t, f)
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxBoundMRs: 1}
	const entries = 4 + 2*1 + 3
	f.c.limits.MaxQPWR = entries - 1
	if _, err := pd.CreateQP(cfg); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("create a queue pair: %v, want ErrTooLarge", err)
	}
	if n := w.count("ibv_create_qp"); n != 0 {
		t.Errorf("the library was asked for a queue pair that is too large")
	}
	f.c.limits.MaxQPWR = entries
	qp, err := pd.CreateQP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Close is for good, and a second one changes nothing.
	for range 2 {
		if err := qp.Close(); err != nil {
			t.Error(err)
		}
		if r := f.c.Resources(); r.QPs != 0 {
			t.Errorf("%d queue pairs are left", r.QPs)
		}
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
}

// What a device says of windows is tried, and decides what the provider promises.
func TestAttributesSayWhatWindowsCanDo(t *testing.T) {
	for name, tt := range map[string]struct {
		quirks          quirks.Quirks
		windows, remote bool
	}{
		"windows":    {quirks.Quirks{}, true, true},
		"absent":     {quirks.Quirks{WindowsAbsent: true}, false, false},
		"none":       {quirks.Quirks{NoWindows: true}, false, false},
		"unreported": {quirks.Quirks{UnreportedInvalidate: true}, true, false},
		"unbounded":  {quirks.Quirks{WindowsUnbounded: true}, false, false},
		"invalidate": {quirks.Quirks{NoLocalInvalidate: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, tt.quirks, Config{})
			if f.c.windows != tt.windows || f.c.Attributes().RemoteInvalidate != tt.remote {
				t.Errorf("windows %v and invalidation by the peer %v, want %v and %v", f.c.windows, f.c.Attributes().RemoteInvalidate, tt.windows, tt.remote)
			}
			if !f.c.Attributes().GuessableKeys && tt.windows {
				t.Error("keys of windows count as keys that cannot be guessed")
			}
			c, _ := connectedSides(t, f)
			if r := c.region(8, remoteRW); (r.window != nil) != tt.windows || (r.own != 0) == tt.windows {
				t.Errorf("a region with window %v and registration %v", r.window, r.own)
			}
		})
	}
}

// smallDevice opens devices with the limits that change sets, which are fakelib's otherwise.
func smallDevice(t *testing.T, change func(*abi.DeviceAttr)) *fakeNet {
	t.Helper()
	attr := abi.DeviceAttr{
		MaxMRSize: 1 << 40, MaxQP: 64, MaxQPWR: 1024, MaxSGE: 4, MaxReadSGE: 4, MaxCQ: 64, MaxCQE: 4096, MaxMR: 1024, MaxPD: 64,
		MaxResponder: 16, MaxInitiator: 16, MaxMW: 1024, Ports: 1, Caps: abi.CapMemWindow2B,
	}
	change(&attr)
	return openFakeDevices(t, fakelib.DeviceOptions{Attr: &attr}, noPings, itself)
}

// A queue pair has as many windows as its device has space for, if the caller asks for more.
func TestWindowsAreFewerWhereTheDeviceHasNoSpace(t *testing.T) {
	for _, c := range []struct{ requests, completions, want int }{
		{4096, 1 << 16, 1000},
		{1024, 1 << 16, (1024 - 4 - 3) / 2},
		{1024, 500, (500 - 4 - 4 - 3) / 2},
	} {
		f := smallDevice(t, func(a *abi.DeviceAttr) { a.MaxQPWR, a.MaxCQE = c.requests, c.completions })
		var log bytes.Buffer
		f.c.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for range 2 {
			s := newSide(t, f.c, verbs.QPConfig{MaxBoundMRs: 1000, MaxSendWR: 4, MaxRecvWR: 4})
			if n := s.qp.win.limit; n != c.want {
				t.Errorf("limits of %d requests and %d completions: %d windows, want %d", c.requests, c.completions, n, c.want)
			}
		}
		if said := strings.Count(log.String(), "fewer memory windows than asked for"); (said == 1) != (c.want < 1000) || said > 1 {
			t.Errorf("%d windows: %d records say that they are few", c.want, said)
		}
	}
}

// A queue pair of the sizes that the attributes allow can be created: its completion queue has an
// entry for each request.
func TestQueuePairOfTheLargestSizesIsCreated(t *testing.T) {
	for _, completions := range []int{64, 500, 4096} {
		f := smallDevice(t, func(a *abi.DeviceAttr) { a.MaxCQE = completions })
		a := f.c.Attributes()
		pd := openDomain(t, f)
		cq, err := f.c.CreateCQ(a.MaxSendWR+a.MaxRecvWR, nil)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: a.MaxSendWR, MaxRecvWR: a.MaxRecvWR})
		if err != nil {
			t.Errorf("%d completions: %v", completions, err)
		} else if err := qp.Close(); err != nil {
			t.Error(err)
		}
		if err := cq.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A device that has no windows left registers regions in their place, except those that the peer
// may invalidate: that would break the connection.
func TestRegionsWithoutWindowAreRegisteredOrRefused(t *testing.T) {
	const all = remoteRW | verbs.AccessRemoteInvalidate
	for _, limit := range []string{"device", "queue pair"} {
		t.Run(limit, func(t *testing.T) {
			bound := map[string]int{"device": 8, "queue pair": 3}[limit]
			f := smallDevice(t, func(a *abi.DeviceAttr) { a.MaxMW = map[string]int{"device": 3, "queue pair": 1024}[limit] })
			c, s := boundSides(t, f, bound)
			regions := []*region{c.region(64, all), c.region(64, remoteRW), c.region(64, all), c.region(64, remoteRW)}
			for i, r := range regions {
				if got := r.window != nil; got != (i < 3) {
					t.Errorf("region %d has a window: %v", i, got)
				}
			}
			buf, err := c.pd.Alloc(64)
			c.must(err)
			if _, err := c.pd.RegisterMemory(buf, all); !errors.Is(err, verbs.ErrQueueFull) {
				t.Errorf("a region that the peer may invalidate, without a window: %v, want ErrQueueFull", err)
			}
			// The window that becomes free is the next one's.
			c.must(regions[0].Invalidate())
			mr, err := c.pd.RegisterMemory(buf, all)
			c.must(err)
			if mr.(*region).window == nil {
				t.Error("a region has no window, although one is free")
			}
			sink := s.region(8, verbs.AccessLocalWrite)
			if status := s.read(regions[3].RKey(), regions[3], sink); status != verbs.StatusSuccess {
				t.Errorf("read of a region without a window: %v", status)
			}
			c.must(mr.Deregister())
			c.must(c.pd.Free(buf))
			c.connected()
		})
	}
}

// A slab is not larger than a region may be, although slabs are larger than their first buffer.
func TestSlabsFitTheLargestRegion(t *testing.T) {
	const most = 64<<10 + 200 // not a multiple of a page, nor of align
	f := smallDevice(t, func(a *abi.DeviceAttr) { a.MaxMRSize = most })
	pd := openDomain(t, f)
	if n := f.c.Attributes().MaxMRSize; n != most&^(align-1) {
		t.Errorf("the largest region has %d bytes, want %d", n, most&^(align-1))
	}
	buf, err := pd.Alloc(most &^ (align - 1))
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.RegisterMemory(buf, remoteRW)
	if err != nil {
		t.Fatal(err)
	}
	buf[len(buf)-1] = 1
	// Another slab of that size, for a buffer that is not aligned.
	odd, err := pd.Alloc(most&^(align-1) - 30)
	if err != nil {
		t.Fatal(err)
	}
	odd[len(odd)-1] = 1
	if err := pd.Free(odd); err != nil {
		t.Error(err)
	}
	if _, err := pd.Alloc(most); !errors.Is(err, verbs.ErrTooLarge) || errors.Is(err, verbs.ErrProcessLimit) {
		t.Errorf("Alloc above the limit: %v, want ErrTooLarge", err)
	}
	if err := errors.Join(mr.Deregister(), pd.Free(buf)); err != nil {
		t.Error(err)
	}
}

// siw's limit of a region is RLIMIT_MEMLOCK: the error says so, and how to raise it.
func TestRegionAboveTheMemoryLimitNamesIt(t *testing.T) {
	limit := uint64(64 << 10)
	setMemlock(t, limit)
	f := smallDevice(t, func(a *abi.DeviceAttr) { a.MaxMRSize = limit })
	_, err := openDomain(t, f).Alloc(1 << 20)
	expectProblem(t, err, rdmadev.MemoryLimit, "RLIMIT_MEMLOCK is 64 KiB", "ulimit -l unlimited")
	if !errors.Is(err, verbs.ErrTooLarge) || !errors.Is(err, verbs.ErrProcessLimit) {
		t.Errorf("%v is not ErrTooLarge and ErrProcessLimit", err)
	}
}

// A library may refuse sizes that are within the limits of its device, because long requests take
// more of a queue.
func TestQueuePairThatTheLibraryRefusesNamesItsSizes(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	f.client.Fail("ibv_create_qp", syscall.EINVAL, 0, 1)
	_, err := queuePairOf(t, f.c)
	if !errors.Is(err, verbs.ErrTooLarge) || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("found %v, want ErrTooLarge and EINVAL", err)
	}
	for _, words := range []string{"4 Receives", "1 and 1 elements", "ask for fewer"} {
		if !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%v does not have %q", err, words)
		}
	}
}

func TestCompletionVectorThatTheDeviceLacksIsRefused(t *testing.T) {
	net := fakelib.NewNet(fakelib.Options{})
	defer net.Close()
	d, err := open(net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake0"}), &Config{CompletionVector: 1}, nil)
	if !errors.Is(err, verbs.ErrInvalidValue) || !strings.Contains(fmt.Sprint(err), "CompletionVector is 1, device fake0 has 1") {
		t.Errorf("found %v, %v", d, err)
	}
}
