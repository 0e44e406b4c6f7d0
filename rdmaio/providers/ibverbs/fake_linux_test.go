package ibverbs

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/tcpstate"
)

// fakeNet is a network of a client and a server, which have one device each.
type fakeNet struct {
	net            *fakelib.Net
	client, server *fakelib.Host
	c, s           *Device
	w              *watched // around the client, if the test has one
}

// tcpOf lets a device ask a library in Go for the state of its connections.
func tcpOf(h *fakelib.Host) func(local, remote netip.AddrPort) (tcpstate.State, error) {
	return func(local, remote netip.AddrPort) (tcpstate.State, error) {
		heard, received, err := h.TCP(local, remote)
		return tcpstate.State{Heard: heard, Received: received}, err
	}
}

// openFake opens devices with the given quirks on a new network. The network is checked at the end
// of the test: nothing is left, and the library was not misused.
func openFake(t testing.TB, tr abi.Transport, q quirks.Quirks, cfg Config) *fakeNet {
	t.Helper()
	return openFakeOver(t, tr, q, cfg, itself)
}

// itself is the library of a test that does not look at its calls.
func itself(h *fakelib.Host) lib.Lib { return h }

// openFakeOver is openFake with a library around the client's.
func openFakeOver(t testing.TB, tr abi.Transport, q quirks.Quirks, cfg Config, around func(*fakelib.Host) lib.Lib) *fakeNet {
	t.Helper()
	return openFakeDevices(t, fakelib.DeviceOptions{Transport: tr, Quirks: q}, cfg, around)
}

// openFakeDevices is openFakeOver with devices that have more options. Their names are set.
func openFakeDevices(t testing.TB, o fakelib.DeviceOptions, cfg Config, around func(*fakelib.Host) lib.Lib) *fakeNet {
	t.Helper()
	f := new(fakeNet)
	f.net = fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Errorf("misuse of the library: %s", s) }})
	host := func(name string, around func(*fakelib.Host) lib.Lib) (*fakelib.Host, *Device) {
		o.Name = name
		h := f.net.Host(fakelib.HostOptions{}, o)
		d, err := open(around(h), &cfg, &o.Quirks)
		if err != nil {
			t.Fatal(err)
		}
		d.tcp = tcpOf(h)
		return h, d
	}
	t.Cleanup(func() {
		if left := f.net.Objects(); left != (fakelib.Objects{}) {
			t.Errorf("left at the end: %+v", left)
		}
		f.net.Close()
	})
	f.client, f.c = host("fake0", around)
	f.server, f.s = host("fake1", itself)
	for _, d := range []*Device{f.c, f.s} {
		t.Cleanup(func() {
			if err := d.ends.late.wait(time.Minute); err != nil {
				t.Error(err)
			}
			known := &d.objects
			known.mu.Lock()
			if len(known.queues)+len(known.byQP) > 0 {
				t.Errorf("device %s knows %d and %d queue pairs at the end of the test", d.attrs.Name, len(known.queues), len(known.byQP))
			}
			for _, o := range known.ids {
				if c, ok := o.(*connection); ok && c.closed {
					t.Errorf("device %s knows an rdma_cm_id that is destroyed", d.attrs.Name)
				}
			}
			known.mu.Unlock()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return f
}
