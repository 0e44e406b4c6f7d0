package ibverbs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openAgain opens the client's device a second time, in the same process: both Devices have one
// context, and one file of asynchronous events.
func (f *fakeNet) openAgain(t *testing.T) *Device {
	t.Helper()
	d, err := open(f.client, &noPings, &noQuirks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// An asynchronous event reaches the queue pair that it names, whichever Device of the context takes
// it.
func TestAsynchronousEventsReachAllDevicesOfTheContext(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	second := f.openAgain(t)
	for _, d := range []*Device{f.c, second} {
		d.readers[2].close() // this test takes the events
		d.readers[2] = nil
	}
	for _, owner := range []*Device{f.c, second} {
		for _, taker := range []*Device{f.c, second} {
			c, s := newSide(t, owner, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
			connectSides(c, s)
			f.client.Device("fake0").Event(abi.AsyncEvent{Type: abi.AsyncQPAccessErr, Element: uintptr(c.qp.hw)})
			taker.takeAsyncEvent()
			c.ends()
			if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRemoteAccess}) {
				t.Errorf("the event is taken by another Device: %v; the end is %v", taker != owner, err)
			}
		}
	}
}

// The end of a device is the end for all Devices of its context.
func TestFatalEventReachesAllDevicesOfTheContext(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	second := f.openAgain(t)
	f.client.Device("fake0").Event(abi.AsyncEvent{Type: abi.AsyncDeviceFatal})
	for _, d := range []*Device{f.c, second} {
		for start := time.Now(); !d.gone() && time.Since(start) < 15*time.Second; {
			time.Sleep(time.Millisecond)
		}
		if !d.gone() {
			t.Error("a Device does not know that it is gone")
		}
	}
}

// A Device that is closed is not known any more.
func TestClosedDeviceHasNoEvents(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	d, err := open(f.client, nil, &noQuirks)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if list := opened.of[f.c.ctx]; !slices.Equal(list, []*Device{f.c}) {
		t.Errorf("%d Devices of the context are known, want one", len(list))
	}
}

// A queue with the page that siw's library refuses is held, whatever the size of pages is.
func TestRefusedPageIsHeldWithPagesOfAnySize(t *testing.T) {
	for _, page := range []int{4 << 10, 16 << 10, 64 << 10} {
		net := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Error(s) }})
		q := noQuirks
		q.RefusedPage = true
		h := net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake0", Transport: abi.TransportIWARP, Quirks: q, PageSize: page})
		ctx := h.Device("fake0").Context()
		hold, err := newHold(h, ctx, page)
		if err != nil {
			t.Errorf("pages of %d KiB: %v", page>>10, err)
			continue
		}
		for _, entries := range []int{1, 131, 2000} {
			if n := fillContext(t, h, ctx, entries); n > 0 {
				t.Errorf("pages of %d KiB: the library refused %d queues of %d entries", page>>10, n, entries)
			}
		}
		if err := h.DestroyCQ(hold.cq); err != nil {
			t.Error(err)
		}
		if left := net.Objects(); left != (fakelib.Objects{}) {
			t.Errorf("left: %+v", left)
		}
		net.Close()
	}
}
