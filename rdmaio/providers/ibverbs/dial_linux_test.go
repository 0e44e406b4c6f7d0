package ibverbs

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openHosts opens a device of a client with two devices, and the device of a server.
func openHosts(t *testing.T, cfg Config, first, second, server string) (c, s *Device) {
	t.Helper()
	net := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Error(s) }})
	t.Cleanup(func() {
		if left := net.Objects(); left != (fakelib.Objects{}) {
			t.Errorf("left at the end: %+v", left)
		}
		net.Close()
	})
	device := func(name, addr string) fakelib.DeviceOptions {
		return fakelib.DeviceOptions{Name: name, Addr: netip.MustParseAddr(addr)}
	}
	var devices []*Device
	for _, host := range []struct {
		h   *fakelib.Host
		cfg Config
	}{
		{net.Host(fakelib.HostOptions{}, device("first", first), device("second", second)), cfg},
		{net.Host(fakelib.HostOptions{}, device("server", server)), Config{}},
	} {
		d, err := open(host.h, &host.cfg, &noQuirks)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		devices = append(devices, d)
	}
	return devices[0], devices[1]
}

// Config.Addr chooses the device, and Config.Source the device by which connections are made, over
// both versions of IP. Each side learns both addresses.
func TestSourceChoosesTheWayToThePeer(t *testing.T) {
	for name, a := range map[string]struct{ first, second, server, source string }{
		"IPv4":        {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2"},
		"IPv6":        {"fd00::1", "fd00::2", "fd00::3", "fd00::2"},
		"IPv4 mapped": {"10.0.0.1", "10.0.0.2", "10.0.0.3", "::ffff:10.0.0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			d, sd := openHosts(t, Config{Addr: a.source, Source: a.source}, a.first, a.second, a.server)
			if got := d.Attributes().Name; got != "second" {
				t.Errorf("the device is %s, want second", got)
			}
			c, s := newSide(t, d, verbs.QPConfig{}), newSide(t, sd, verbs.QPConfig{})
			ln, err := sd.Listen(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(a.server), 0).String())
			c.must(err)
			defer ln.Close()
			infos := make(chan *verbs.ConnInfo, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				info, err := d.Dial(t.Context(), ln.Addr(), c.qp, nil)
				if err != nil {
					t.Error(err)
					cancel()
				}
				infos <- info
			}()
			req, err := ln.Accept(ctx)
			c.must(err)
			info, err := req.Accept(t.Context(), s.qp, nil)
			c.must(err)
			ci := <-infos
			local := netip.MustParseAddrPort(ci.LocalAddr)
			if ci.RemoteAddr != ln.Addr() || local.Addr().String() != a.second || local.Port() == 0 {
				t.Errorf("the client has the addresses %s and %s", ci.LocalAddr, ci.RemoteAddr)
			}
			if info.LocalAddr != ci.RemoteAddr || info.RemoteAddr != ci.LocalAddr || req.RemoteAddr() != ci.LocalAddr {
				t.Errorf("the server has the addresses %s and %s, the client %s and %s", info.LocalAddr, info.RemoteAddr, ci.LocalAddr, ci.RemoteAddr)
			}
		})
	}
}

func TestSourceThatIsNoAddressIsRefused(t *testing.T) {
	for source, want := range map[string]error{"here": verbs.ErrInvalidValue, "10.0.0.9": syscall.EADDRNOTAVAIL} {
		d, _ := openHosts(t, Config{Device: "second", Source: source}, "10.0.0.1", "10.0.0.2", "10.0.0.3")
		c := newSide(t, d, verbs.QPConfig{})
		if _, err := d.Dial(t.Context(), "10.0.0.3:9", c.qp, nil); !errors.Is(err, want) {
			t.Errorf("Source %q: %v, want %v", source, err, want)
		}
	}
}

func TestAddrOfAnotherDeviceIsRefused(t *testing.T) {
	net := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Error(s) }})
	defer net.Close()
	host := net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "first", Addr: netip.MustParseAddr("10.0.0.1")}, fakelib.DeviceOptions{Name: "second", Addr: netip.MustParseAddr("10.0.0.2")})
	for _, cfg := range []Config{{Addr: "10.0.0.1", Device: "second"}, {Addr: "10.0.0.7"}, {Addr: "here"}, {}} {
		if _, err := open(host, &cfg, nil); err == nil {
			t.Errorf("%+v opens a device", cfg)
		}
		if left := net.Objects(); left != (fakelib.Objects{}) {
			t.Errorf("%+v leaves %+v", cfg, left)
		}
	}
}

// Addresses survive the form that the library has, with their zone.
func TestSocketAddressesRoundTrip(t *testing.T) {
	for _, text := range []string{"10.1.2.3:20049", "[fd00::7]:1", "[fe80::1%3]:65535", "[::]:0", "0.0.0.0:9"} {
		at := netip.MustParseAddrPort(text)
		b, err := sockaddr(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := fromSockaddr(b); got != at {
			t.Errorf("%s became %v", text, got)
		}
	}
	if _, err := sockaddr(netip.MustParseAddrPort("[fe80::1%no-such-interface]:9")); err == nil {
		t.Error("an interface that does not exist has an index")
	}
	if b, err := sockaddr(netip.MustParseAddrPort("[fe80::1%lo]:9")); err == nil && fromSockaddr(b).Addr().Zone() != "1" {
		t.Errorf("the zone lo became %v", fromSockaddr(b))
	}
	if got := fromSockaddr(make([]byte, sizeIPv6)); got.IsValid() {
		t.Errorf("an address without a family is %v", got)
	}
}

func TestAddressesAreResolved(t *testing.T) {
	for addr, want := range map[string]string{":9": "0.0.0.0:9", "[::ffff:10.0.0.1]:9": "10.0.0.1:9", "[fd00::1]:9": "[fd00::1]:9", "10.0.0.1:9": "10.0.0.1:9"} {
		if got, err := resolve(t.Context(), addr); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v; want %s", addr, got, err, want)
		}
	}
	for _, addr := range []string{"10.0.0.1", "10.0.0.1:no-such-service"} {
		if _, err := resolve(t.Context(), addr); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("%q: %v, want ErrInvalidValue", addr, err)
		}
	}
}

// A context that is done is the error, whatever else is wrong. The cause is the error if it is done
// while Dial waits.
func TestEndedContextIsTheError(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.c.Dial(ctx, "no address", c.qp, nil); !errors.Is(err, context.Canceled) || c.qp.State() != verbs.StateError {
		t.Errorf("Dial: %v in state %v, want Canceled", err, c.qp.State())
	}
	if _, err := f.c.Listen(ctx, "no address"); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen: %v, want Canceled", err)
	}
}

// The cause of a context is the error of a Dial that waits for the answer to its request.
func TestCauseOfTheContextIsTheError(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{})
	ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	dialed := make(chan error, 1)
	go func() {
		_, err := f.c.Dial(ctx, ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	req, err := ln.Accept(t.Context())
	c.must(err)
	cause := errors.New("the user has left")
	cancel(cause)
	if err := <-dialed; !errors.Is(err, cause) {
		t.Errorf("Dial: %v, want %v", err, cause)
	}
	_ = req.Reject(nil) // the peer has gone
}

func TestDialWithForeignQueuePairIsRefused(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	s := newSide(t, f.s, verbs.QPConfig{})
	if _, err := f.c.Dial(t.Context(), "127.0.0.2:9", s.qp, nil); !errors.Is(err, verbs.ErrForeignObject) || s.qp.State() != verbs.StateInit {
		t.Errorf("Dial: %v, and the queue pair is %v", err, s.qp.State())
	}
}

// What fails on the way to a connection is named, with the library's number.
func TestStepsOfDialThatFailAreNamed(t *testing.T) {
	for fn, want := range map[string]string{
		"rdma_create_id": "rdma_cm_id", "rdma_resolve_addr": "address of 127.0.0.2:9", "rdma_resolve_route": "route of 127.0.0.2:",
		"traffic class": "set the traffic class", "ACK timeout": "set the ACK timeout",
	} {
		cfg := Config{}
		call := fn
		switch fn {
		case "traffic class":
			cfg.TrafficClass, call = 104, "rdma_set_option"
		case "ACK timeout":
			cfg.ACKTimeout, call = time.Second, "rdma_set_option"
		}
		f := openFake(t, abi.TransportIB, noQuirks, cfg)
		f.client.Fail(call, syscall.ENOSPC, 0, 1)
		c := newSide(t, f.c, verbs.QPConfig{})
		_, err := f.c.Dial(t.Context(), "127.0.0.2:9", c.qp, nil)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fn, err, want)
		}
		if p := new(rdmadev.Problem); strings.HasPrefix(fn, "rdma_resolve") && !errors.As(err, &p) {
			t.Errorf("%s: %v has no advice", fn, err)
		}
	}
}

// A CONNECT_ERROR event after the connection is established fails its queue pair, too.
func TestConnectErrorEndsTheQueuePair(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, _ := connectedSides(t, f)
	c.qp.conn.handle(abi.CMEvent{Type: abi.CMConnectError})
	c.ends()
	if err := c.qp.Err(); !errors.Is(err, verbs.ErrPeerDisconnected) {
		t.Errorf("the end is %v", err)
	}
}

func TestListenSaysWhyAnAddressIsRefused(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	ln, err := f.s.Listen(t.Context(), "127.0.0.2:2049")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	before := f.net.Objects()
	for addr, want := range map[string]error{"127.0.0.2:2049": verbs.ErrAddressInUse, "192.0.2.1:2049": verbs.ErrInvalidValue, "2049": verbs.ErrInvalidValue} {
		if _, err := f.s.Listen(t.Context(), addr); !errors.Is(err, want) {
			t.Errorf("Listen at %s: %v, want %v", addr, err, want)
		}
	}
	f.s.objects.mu.Lock()
	if n := len(f.s.objects.ids); n != 1 || f.net.Objects() != before {
		t.Errorf("%d IDs and %+v after listeners that failed, want 1 and %+v", n, f.net.Objects(), before)
	}
	f.s.objects.mu.Unlock()
	f.server.Fail("rdma_listen", syscall.ENODEV, 0, 1)
	if _, err := f.s.Listen(t.Context(), "127.0.0.2:0"); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("Listen: %v, want ENODEV", err)
	}
}

// A queue pair can fail after the event that says that it is connected. It does not become
// connected then.
func TestQueuePairThatFailsIsNotEstablished(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
	c, _ := connectedSides(t, f)
	c.inEnd(w, func() {
		if _, err := c.qp.establish(c.qp.conn, &abi.CMEvent{}, &verbs.ConnParams{}, nil); !errors.Is(err, verbs.ErrDisconnected) {
			t.Errorf("establish: %v, want ErrDisconnected", err)
		}
	})
}
