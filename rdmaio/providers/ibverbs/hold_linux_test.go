package ibverbs

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// fillContext creates completion queues of so many entries until they have taken well over 144
// pages. It returns how many the library refused.
func fillContext(t *testing.T, l lib.Lib, ctx lib.Context, entries int) (refused int) {
	t.Helper()
	for range 200 {
		cq, err := l.CreateCQ(ctx, entries, 0, 0, 0)
		if err != nil {
			refused++
			continue
		}
		defer func() {
			if err := l.DestroyCQ(cq); err != nil {
				t.Error(err)
			}
		}()
	}
	return refused
}

// The library refuses a queue at one page of the context. An open device keeps that page taken,
// while any device of the context is open, so no queue gets it, whatever the queues' sizes.
func TestRefusedPageIsHeldWhileADeviceIsOpen(t *testing.T) {
	q := quirks.Quirks{RefusedPage: true}
	f := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Errorf("misuse of the library: %s", s) }})
	defer f.Close()
	h := f.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake0", Transport: abi.TransportIWARP, Quirks: q})
	ctx := h.Device("fake0").Context()
	if n := fillContext(t, h, ctx, 131); n == 0 {
		t.Error("without a device open, the library refused no queue: the test shows nothing")
	}
	var devices []*Device
	for range 2 {
		d, err := open(h, nil, &q)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	for _, entries := range []int{1, 100, 131, 300, 1000, 2000, 5000} {
		if n := fillContext(t, h, ctx, entries); n > 0 {
			t.Errorf("with two devices open, the library refused %d queues, with %d entries each", n, entries)
		}
	}
	for i, d := range devices {
		if n := fillContext(t, h, ctx, 131); n > 0 {
			t.Errorf("with %d devices closed of two, the library refused %d queues", i, n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := f.Objects(); left != (fakelib.Objects{}) {
		t.Errorf("left after both devices were closed: %+v", left)
	}
}

// A device whose page cannot be taken is not opened, and leaves nothing.
func TestDeviceIsNotOpenedWithoutThePage(t *testing.T) {
	q := quirks.Quirks{RefusedPage: true}
	for n := range fillers(os.Getpagesize()) {
		f := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Errorf("misuse of the library: %s", s) }})
		h := f.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake0", Transport: abi.TransportIWARP, Quirks: q})
		h.Fail("ibv_create_cq", syscall.ENOMEM, n, 1)
		if d, err := open(h, nil, &q); !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("queue %d: found %v, %v, expected ENOMEM", n, d, err)
		}
		if left := f.Objects(); left != (fakelib.Objects{}) {
			t.Errorf("queue %d: left: %+v", n, left)
		}
		f.Close()
	}
}
