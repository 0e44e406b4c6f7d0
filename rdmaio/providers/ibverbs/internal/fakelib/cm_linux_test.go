package fakelib

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

var transports = map[string]abi.Transport{"InfiniBand": abi.TransportIB, "iWARP": abi.TransportIWARP}

func eachTransport(t *testing.T, test func(t *testing.T, tr abi.Transport)) {
	for name, tr := range transports {
		t.Run(name, func(t *testing.T) { test(t, tr) })
	}
}

func TestAddressesAreShown(t *testing.T) {
	e := connected(t, options{})
	c, s := abi.GetCMID(uintptr(e.client.id)), abi.GetCMID(uintptr(e.server.id))
	if !bytes.Equal(c.Src, s.Dst) || !bytes.Equal(c.Dst, s.Src) {
		t.Errorf("client %x -> %x, server %x -> %x", c.Src[:8], c.Dst[:8], s.Src[:8], s.Dst[:8])
	}
	if a, ok := addrPort(s.Src); !ok || a.Addr() != e.server.dev.Addr() || a.Port() == 0 {
		t.Errorf("the server's address is %v", a)
	}
	if c.Context != 9 || c.Verbs != uintptr(e.client.dev.Context()) || c.Port != 1 || s.Port != 1 {
		t.Errorf("client %+v", c)
	}
}

func TestIPv6Addresses(t *testing.T) {
	want := netip.MustParseAddrPort("[fd00::1]:7")
	if got, ok := addrPort(sockaddr(want)); !ok || got != want {
		t.Errorf("got %v", got)
	}
}

func TestDisconnectReachesBothEnds(t *testing.T) {
	eachTransport(t, func(t *testing.T, tr abi.Transport) {
		e := connected(t, options{transport: tr})
		c, s := e.client, e.server
		c.recv(1, 0, 8)
		s.recv(2, 0, 8)
		check(t, c.h.Disconnect(c.id))
		c.want(1, abi.StatusFlushed)
		c.wantCM(abi.CMDisconnected)
		s.wantCM(abi.CMDisconnected)
		if tr == abi.TransportIB {
			s.none() // its program has to move the queue pair itself
			check(t, s.h.Disconnect(s.id))
		}
		s.want(2, abi.StatusFlushed)
	})
}

func TestFailedRequestEndsAnIWARPConnection(t *testing.T) {
	e := connected(t, options{transport: abi.TransportIWARP})
	e.client.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpLocalInv, Invalidate: 1}, 0, 0)
	e.client.want(1, abi.StatusMWBind)
	e.client.wantCM(abi.CMDisconnected)
	e.server.wantCM(abi.CMDisconnected)
}

func TestDestroyedIDDisconnects(t *testing.T) {
	e := connected(t, options{})
	abi.SetCMQP(uintptr(e.client.id), 0)
	check(t, e.client.h.DestroyID(e.client.id))
	e.server.wantCM(abi.CMDisconnected)
}

func TestIDWithAQueuePairIsNoticed(t *testing.T) {
	e := connected(t, options{})
	check(t, e.client.h.DestroyID(e.client.id))
	if m := e.misuses.take(); !strings.Contains(m, "has a queue pair still") {
		t.Errorf("misuse %q", m)
	}
}

func TestDisconnectFromASilentPeerTakesTheRetryTime(t *testing.T) {
	e := connected(t, options{Options: Options{RetryTime: time.Millisecond}})
	e.server.dev.Silence(true)
	check(t, e.client.h.Disconnect(e.client.id))
	if ev := e.client.wantCM(abi.CMDisconnected); ev.Status != -int32(syscall.ETIMEDOUT) {
		t.Errorf("status %d", ev.Status)
	}
	if _, err := e.server.h.GetCMEvent(e.server.events); err != syscall.EAGAIN {
		t.Errorf("the silent server has an event: %v", err)
	}
}

func TestConnectToASilentServerIsUnreachable(t *testing.T) {
	e := newEnv(t, options{Options: Options{RetryTime: time.Millisecond}})
	_, addr := e.listen()
	e.server.dev.Silence(true)
	e.dial(addr, abi.ConnParam{}, "")
	e.client.wantCM(abi.CMUnreachable)
}

func TestUnknownAddressIsAnError(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	c.id = must(c.h.CreateID(c.events, 0))(t)
	check(t, c.h.ResolveAddr(c.id, nil, sockaddr(netip.MustParseAddrPort("192.0.2.1:9")), time.Second))
	c.wantCM(abi.CMAddrError)
	if err := c.h.ResolveRoute(c.id, time.Second); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("ResolveRoute: %v", err)
	}
}

// TestSourceAddressChoosesTheDevice of a host with several.
func TestSourceAddressChoosesTheDevice(t *testing.T) {
	e := newEnv(t, options{})
	h := e.net.Host(HostOptions{}, DeviceOptions{Name: "a"}, DeviceOptions{Name: "b"})
	ch := must(h.CreateEventChannel())(t)
	to := sockaddr(netip.AddrPortFrom(e.server.dev.Addr(), 1))
	for _, c := range []struct {
		src  []byte
		want string
	}{{nil, "a"}, {sockaddr(netip.AddrPortFrom(h.Device("b").Addr(), 0)), "b"}} {
		id := must(h.CreateID(ch, 0))(t)
		check(t, h.ResolveAddr(id, c.src, to, time.Second))
		if got := abi.GetCMID(uintptr(id)).Verbs; got != uintptr(h.Device(c.want).Context()) {
			t.Errorf("source %x: not device %s", c.src, c.want)
		}
	}
	id := must(h.CreateID(ch, 0))(t)
	if err := h.BindAddr(id, to); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("bind to an address of another host: %v", err)
	}
}

func TestAddressIsUsedOnce(t *testing.T) {
	e := newEnv(t, options{})
	_, addr := e.listen()
	a, _ := addrPort(addr)
	for _, at := range []netip.Addr{a.Addr(), netip.IPv4Unspecified()} {
		id := must(e.server.h.CreateID(e.server.events, 0))(t)
		if err := e.server.h.BindAddr(id, sockaddr(netip.AddrPortFrom(at, a.Port()))); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("bind to %v: %v", at, err)
		}
	}
}

func TestListenerAtAnyAddress(t *testing.T) {
	e := newEnv(t, options{})
	l := must(e.server.h.CreateID(e.server.events, 0))(t)
	check(t, e.server.h.BindAddr(l, sockaddr(netip.MustParseAddrPort("0.0.0.0:2049"))))
	check(t, e.server.h.Listen(l, 1))
	e.dial(sockaddr(netip.AddrPortFrom(e.server.dev.Addr(), 2049)), abi.ConnParam{}, "")
	ev := e.server.wantCM(abi.CMConnectRequest)
	if ev.ListenID != uintptr(l) || abi.GetCMID(ev.ID).Verbs != uintptr(e.server.dev.Context()) {
		t.Errorf("event %+v", ev)
	}
	// The backlog is full until the request is answered.
	e.client.newQP()
	e.dial(sockaddr(netip.AddrPortFrom(e.server.dev.Addr(), 2049)), abi.ConnParam{}, "")
	e.client.wantCM(abi.CMRejected)
	check(t, e.server.h.Reject(lib.ID(ev.ID), nil))
	e.client.wantCM(abi.CMRejected)
	e.client.newQP()
	e.dial(sockaddr(netip.AddrPortFrom(e.server.dev.Addr(), 2049)), abi.ConnParam{}, "")
	e.server.wantCM(abi.CMConnectRequest)
}

func TestDestroyedRequestIsRejected(t *testing.T) {
	for _, taken := range []bool{true, false} {
		e := newEnv(t, options{})
		l, addr := e.listen()
		e.dial(addr, abi.ConnParam{}, "")
		if taken {
			check(t, e.server.h.DestroyID(lib.ID(e.server.wantCM(abi.CMConnectRequest).ID)))
		}
		check(t, e.server.h.DestroyID(l))
		e.client.wantCM(abi.CMRejected)
		if n := e.net.Objects().IDs; n != 1 {
			t.Errorf("%d IDs are left, want the client's", n)
		}
	}
}

func TestAcceptFailsAfterTheClientHasLeft(t *testing.T) {
	eachTransport(t, func(t *testing.T, tr abi.Transport) {
		e := newEnv(t, options{transport: tr})
		_, addr := e.listen()
		e.dial(addr, abi.ConnParam{}, "")
		s := e.server
		s.id = lib.ID(s.wantCM(abi.CMConnectRequest).ID)
		abi.SetCMQP(uintptr(e.client.id), 0)
		check(t, e.client.h.DestroyID(e.client.id))
		want := syscall.EINVAL
		if tr == abi.TransportIWARP {
			want = syscall.ECONNRESET
		} else {
			s.wantCM(abi.CMRejected)
		}
		abi.SetCMQP(uintptr(s.id), uintptr(s.qp))
		if err := s.h.Accept(s.id, &abi.ConnParam{}); !errors.Is(err, want) {
			t.Errorf("Accept: %v, want %v", err, want)
		}
	})
}

// TestClientThatFailedMeanwhileCannotBeConnected: its librdmacm reports an error in place of the
// connection.
func TestClientThatFailedMeanwhileCannotBeConnected(t *testing.T) {
	e := newEnv(t, options{})
	_, addr := e.listen()
	e.dial(addr, abi.ConnParam{}, "")
	e.accept(abi.ConnParam{}, "")
	check(t, e.client.h.ModifyQP(e.client.qp, abi.QPAttr{State: abi.QPErr}, abi.MaskState))
	e.client.wantCM(abi.CMConnectError)
}

func TestConnectNeedsAQueuePairInTheRightState(t *testing.T) {
	e := newEnv(t, options{})
	_, addr := e.listen()
	c := e.client
	c.id = must(c.h.CreateID(c.events, 0))(t)
	check(t, c.h.ResolveAddr(c.id, nil, addr, time.Second))
	c.wantCM(abi.CMAddrResolved)
	check(t, c.h.ResolveRoute(c.id, time.Second))
	if err := c.h.Connect(c.id, &abi.ConnParam{}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("without a queue pair: %v", err)
	}
	abi.SetCMQP(uintptr(c.id), uintptr(c.qp))
	p := c.param(abi.ConnParam{}, strings.Repeat("x", 57))
	if err := c.h.Connect(c.id, p); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("with 57 bytes of private data: %v", err)
	}
	reset := must(c.h.CreateQP(c.pd, &abi.QPInitAttr{SendCQ: uintptr(c.cq), RecvCQ: uintptr(c.cq)}))(t)
	abi.SetCMQP(uintptr(c.id), uintptr(reset))
	if err := c.h.Connect(c.id, &abi.ConnParam{}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("with a queue pair in QPReset: %v", err)
	}
}

func TestNegotiatedDepthIsTheSmallerOne(t *testing.T) {
	for name, c := range map[string]struct{ client, server abi.ConnParam }{
		"client": {abi.ConnParam{Initiator: 1, Responder: 9}, abi.ConnParam{Initiator: 9, Responder: 9}},
		"server": {abi.ConnParam{Initiator: 9, Responder: 9}, abi.ConnParam{Initiator: 9, Responder: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, options{})
			_, addr := e.listen()
			e.dial(addr, c.client, "")
			e.accept(c.server, "")
			e.client.wantCM(abi.CMEstablished)
			e.net.mu.Lock()
			defer e.net.mu.Unlock()
			if q := e.net.objects[uintptr(e.client.qp)].(*qp); q.initiator != 1 {
				t.Errorf("the client's depth is %d, want 1", q.initiator)
			}
		})
	}
}

func TestDeviceRemoval(t *testing.T) {
	e := connected(t, options{Options: Options{RetryTime: time.Millisecond}})
	c, s := e.client, e.server
	s.recv(1, 0, 8)
	l, addr := e.listen()
	e.client.newQP()
	e.dial(addr, abi.ConnParam{}, "")
	s.dev.Remove()
	s.want(1, abi.StatusFlushed)
	if ev := s.async(); ev.Type != abi.AsyncDeviceFatal {
		t.Errorf("event %+v", ev)
	}
	seen := map[abi.CMEventType]int{}
	request := uintptr(0)
	for range 4 {
		ev := s.cmEvent()
		if seen[ev.Type]++; ev.Type == abi.CMConnectRequest {
			request = ev.ID
		}
	}
	if seen[abi.CMDeviceRemoval] != 3 { // of the connection, the listener and the request
		t.Errorf("events %v", seen)
	}
	if _, err := s.h.AllocPD(s.dev.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("AllocPD on a removed device: %v", err)
	}
	abi.SetCMQP(uintptr(s.id), 0)
	check(t, s.h.DestroyQP(s.qp))
	check(t, s.h.DestroyID(s.id))
	c.wantCM(abi.CMDisconnected)
	c.wantCM(abi.CMTimewaitExit)
	check(t, s.h.DestroyID(lib.ID(request)))
	c.wantCM(abi.CMRejected)
	check(t, s.h.DestroyID(l))
	check(t, s.h.DeregMR(s.mr))
	check(t, s.h.DestroyCQ(s.cq))
	check(t, s.h.DeallocPD(s.pd))
}

func TestPortEvents(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	c.dev.Port(false)
	if ev := c.async(); ev.Type != abi.AsyncPortErr || ev.Port() != 1 {
		t.Errorf("event %+v", ev)
	}
	if p := must(c.h.QueryPort(c.dev.Context(), 1))(t); p.State != abi.PortDown {
		t.Errorf("port %+v", p)
	}
	c.dev.Port(true)
	if ev := c.async(); ev.Type != abi.AsyncPortActive {
		t.Errorf("event %+v", ev)
	}
}

func TestFatalEventEndsAQueuePair(t *testing.T) {
	e := connected(t, options{quirks: quirks.Quirks{}})
	c := e.client
	c.recv(1, 0, 8)
	c.dev.Fatal(c.qp)
	if ev := c.async(); ev.Type != abi.AsyncQPFatal || ev.Element != uintptr(c.qp) {
		t.Errorf("event %+v", ev)
	}
	c.want(1, abi.StatusFlushed)
}

func TestOptionsAreChecked(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	id := must(c.h.CreateID(c.events, 0))(t)
	check(t, c.h.SetOption(id, abi.OptionLevelID, abi.OptionTOS, []byte{32}))
	if got := c.h.Option(abi.OptionTOS); !bytes.Equal(got, []byte{32}) {
		t.Errorf("the option is %v", got)
	}
	for _, o := range []struct {
		level, name, size int
	}{{1, abi.OptionTOS, 1}, {0, abi.OptionTOS, 4}, {0, 99, 1}} {
		if err := c.h.SetOption(id, o.level, o.name, make([]byte, o.size)); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestEachEventIsAcknowledged(t *testing.T) {
	e := connected(t, options{Options: Options{AckTime: time.Millisecond}})
	c := e.client
	check(t, c.h.Disconnect(c.id))
	first := must(c.h.GetCMEvent(c.events))(t)
	must(c.h.GetCMEvent(c.events))(t)
	check(t, c.h.AckCMEvent(first))
	abi.SetCMQP(uintptr(c.id), 0)
	check(t, c.h.DestroyID(c.id))
	if m := e.misuses.take(); !strings.Contains(m, "rdma_destroy_id hangs") {
		t.Errorf("misuse %q", m)
	}
}
