package fakelib

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

const allRights = abi.LocalWrite | abi.RemoteWrite | abi.RemoteRead | abi.MWBind

// misuses collects what the Net reports.
type misuses struct {
	mu   sync.Mutex
	list []string
}

func (m *misuses) add(s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, s)
}

// take returns the misuses so far and forgets them.
func (m *misuses) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := strings.Join(m.list, "\n")
	m.list = nil
	return s
}

// env is a Net of a client and a server host, which have one device each.
type env struct {
	t              *testing.T
	net            *Net
	misuses        misuses
	client, server *end
}

// end is one end of a connection.
type end struct {
	e       *env
	h       *Host
	dev     *Device
	pd      lib.PD
	ch      lib.CompChannel
	cq      lib.CQ
	qp      lib.QP
	events  lib.EventChannel
	id      lib.ID
	mem     []byte // that mr covers
	mr      lib.MR
	wr      []byte // for requests and their elements
	entries int
}

// options of an env.
type options struct {
	Options
	transport abi.Transport
	quirks    quirks.Quirks
	manners   Manners
	server    *quirks.Quirks // if they differ
	param     abi.ConnParam
	unposted  bool
}

// newEnv returns an env whose objects exist, and are not connected.
func newEnv(t *testing.T, o options) *env {
	t.Helper()
	e := &env{t: t}
	o.Misuse = e.misuses.add
	e.net = NewNet(o.Options)
	t.Cleanup(func() {
		if s := e.misuses.take(); s != "" {
			t.Errorf("misuse: %s", s)
		}
		e.net.Close()
	})
	server := o.quirks
	if o.server != nil {
		server = *o.server
	}
	e.client = e.newEnd(DeviceOptions{Name: "c0", Transport: o.transport, Quirks: o.quirks, Manners: o.manners})
	e.server = e.newEnd(DeviceOptions{Name: "s0", Transport: o.transport, Quirks: server, Manners: o.manners})
	return e
}

func (e *env) newEnd(o DeviceOptions) *end {
	h := e.net.Host(HostOptions{}, o)
	n := &end{e: e, h: h, dev: h.Device(o.Name)}
	n.mem, n.wr = mmap(e.t, 1<<16), mmap(e.t, 1<<14)
	ctx := n.dev.Context()
	n.pd = must(h.AllocPD(ctx))(e.t)
	n.ch = must(h.CreateCompChannel(ctx))(e.t)
	e.nonblock(abi.CompChannelFD(uintptr(n.ch)))
	e.nonblock(abi.Context(uintptr(ctx)).AsyncFD)
	n.cq = must(h.CreateCQ(ctx, 64, 7, n.ch, 0))(e.t)
	n.mr = must(h.RegMR(n.pd, abi.Addr(n.mem), len(n.mem), allRights&^abi.MWBind|e.bindRight(o)))(e.t)
	n.events = must(h.CreateEventChannel())(e.t)
	e.nonblock(abi.EventChannelFD(uintptr(n.events)))
	if !o.Quirks.NoConnections {
		n.newQP()
	}
	return n
}

func (e *env) bindRight(o DeviceOptions) abi.Access {
	if o.Quirks.NoWindows {
		return 0
	}
	return abi.MWBind
}

// newQP creates the queue pair and brings it to QPInit.
func (n *end) newQP() {
	n.e.t.Helper()
	n.qp = must(n.h.CreateQP(n.pd, &abi.QPInitAttr{
		SendCQ: uintptr(n.cq), RecvCQ: uintptr(n.cq), MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 2, MaxRecvSGE: 2, MaxInline: 64,
	}))(n.e.t)
	check(n.e.t, n.h.ModifyQP(n.qp, abi.QPAttr{State: abi.QPInit, Port: 1}, abi.MaskState|abi.MaskPort|abi.MaskPKey|abi.MaskAccess))
}

func (e *env) nonblock(fd int) { check(e.t, syscall.SetNonblock(fd, true)) }

func mmap(t *testing.T, n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	check(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(b) })
	return b
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// until calls try until it returns true.
func until(t *testing.T, what string, try func() bool) {
	t.Helper()
	for start := time.Now(); !try(); time.Sleep(50 * time.Microsecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// cmEvent waits for an event of the connection manager, and acknowledges it.
func (n *end) cmEvent() abi.CMEvent {
	n.e.t.Helper()
	var ev abi.CMEvent
	until(n.e.t, "event of the connection manager", func() bool {
		p, err := n.h.GetCMEvent(n.events)
		if err == syscall.EAGAIN {
			return false
		}
		check(n.e.t, err)
		ev = abi.GetCMEvent(uintptr(p))
		check(n.e.t, n.h.AckCMEvent(p))
		return true
	})
	return ev
}

func (n *end) wantCM(want abi.CMEventType) abi.CMEvent {
	n.e.t.Helper()
	ev := n.cmEvent()
	if ev.Type != want {
		n.e.t.Fatalf("event %d with status %d, want %d", ev.Type, ev.Status, want)
	}
	return ev
}

// listen makes the server listen, and returns its address.
func (e *env) listen() (lib.ID, []byte) {
	e.t.Helper()
	l := must(e.server.h.CreateID(e.server.events, 0))(e.t)
	check(e.t, e.server.h.BindAddr(l, sockaddr(netip.AddrPortFrom(e.server.dev.Addr(), 0))))
	check(e.t, e.server.h.Listen(l, 4))
	return l, bytes.Clone(abi.GetCMID(uintptr(l)).Src)
}

// param returns conn parameters with private data, which lies in memory of the end.
func (n *end) param(p abi.ConnParam, data string) *abi.ConnParam {
	if data != "" {
		at := n.wr[len(n.wr)-256:]
		p.Data, p.DataLen = abi.Addr(at), uint8(copy(at, data))
	}
	return &p
}

// dial sends a connection request.
func (e *env) dial(addr []byte, p abi.ConnParam, data string) {
	e.t.Helper()
	c := e.client
	c.id = must(c.h.CreateID(c.events, 9))(e.t)
	check(e.t, c.h.ResolveAddr(c.id, nil, addr, time.Second))
	c.wantCM(abi.CMAddrResolved)
	check(e.t, c.h.ResolveRoute(c.id, time.Second))
	c.wantCM(abi.CMRouteResolved)
	abi.SetCMQP(uintptr(c.id), uintptr(c.qp))
	check(e.t, c.h.Connect(c.id, c.param(p, data)))
}

// accept accepts the connection request of dial.
func (e *env) accept(p abi.ConnParam, data string) {
	e.t.Helper()
	s := e.server
	ev := s.wantCM(abi.CMConnectRequest)
	s.id = lib.ID(ev.ID)
	abi.SetCMQP(uintptr(s.id), uintptr(s.qp))
	check(e.t, s.h.Accept(s.id, s.param(p, data)))
}

// connected returns an env with a connection.
func connected(t *testing.T, o options) *env {
	t.Helper()
	e := newEnv(t, o)
	l, addr := e.listen()
	if o.param == (abi.ConnParam{}) {
		o.param = abi.ConnParam{Responder: 4, Initiator: 4, Retry: 7}
	}
	e.dial(addr, o.param, "")
	e.accept(o.param, "")
	e.client.wantCM(abi.CMEstablished)
	e.server.wantCM(abi.CMEstablished)
	check(t, e.server.h.DestroyID(l))
	return e
}

// send posts a request for n bytes at offset off in mem, and returns it.
func (n *end) send(w abi.SendWR, off, size int) error {
	if size >= 0 && (w.Opcode != abi.OpBindMW && w.Opcode != abi.OpLocalInv) {
		s := n.wr[1024:]
		abi.SGE{Addr: abi.Addr(n.mem) + uintptr(off), Length: uint32(size), LKey: abi.MR(uintptr(n.mr)).LKey}.Put(s)
		w.SGL, w.NumSGE = abi.Addr(s), 1
	}
	w.Put(n.wr)
	_, err := n.h.PostSend(n.qp, abi.Addr(n.wr))
	return err
}

func (n *end) mustSend(w abi.SendWR, off, size int) {
	n.e.t.Helper()
	check(n.e.t, n.send(w, off, size))
}

// recv posts a Receive for size bytes at offset off in mem.
func (n *end) recv(id uint64, off, size int) {
	n.e.t.Helper()
	s := n.wr[1024:]
	abi.SGE{Addr: abi.Addr(n.mem) + uintptr(off), Length: uint32(size), LKey: abi.MR(uintptr(n.mr)).LKey}.Put(s)
	w := abi.RecvWR{ID: id, SGL: abi.Addr(s), NumSGE: 1}
	w.Put(n.wr)
	_, err := n.h.PostRecv(n.qp, abi.Addr(n.wr))
	check(n.e.t, err)
}

// poll returns a completion, if there is one.
func (n *end) poll() (abi.WC, bool) {
	n.e.t.Helper()
	b := make([]byte, abi.WCSize)
	got := must(n.h.Poll(n.cq, b))(n.e.t)
	return abi.GetWC(b), got == 1
}

// want waits for a completion with an ID and a status.
func (n *end) want(id uint64, s abi.Status) abi.WC {
	n.e.t.Helper()
	var wc abi.WC
	until(n.e.t, "completion", func() (ok bool) { wc, ok = n.poll(); return ok })
	if wc.ID != id || wc.Status != s {
		n.e.t.Fatalf("completion %d with status %d, want %d with status %d", wc.ID, wc.Status, id, s)
	}
	return wc
}

// idle waits until the Net has nothing to execute.
func (e *env) idle() {
	until(e.t, "the Net to rest", func() bool {
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		return !e.net.running
	})
}

// none checks that there is no completion once the Net has nothing to execute.
func (n *end) none() {
	n.e.t.Helper()
	n.e.idle()
	if wc, ok := n.poll(); ok {
		n.e.t.Fatalf("completion %+v, want none", wc)
	}
}

// async waits for an asynchronous event and acknowledges it.
func (n *end) async() abi.AsyncEvent {
	n.e.t.Helper()
	var ev abi.AsyncEvent
	until(n.e.t, "asynchronous event", func() bool {
		var err error
		ev, err = n.h.AsyncEvent(n.dev.Context())
		return err == nil
	})
	n.h.AckAsyncEvent(ev)
	return ev
}

// bind posts the bind of a window with the next key, and returns that.
func (n *end) bind(w lib.MW, id uint64, off, size int, access abi.Access) uint32 {
	n.e.t.Helper()
	key := abi.MWKey(uintptr(w))
	key = key&^0xff | (key+1)&0xff
	n.mustSend(abi.SendWR{ID: id, Opcode: abi.OpBindMW, Flags: abi.Signaled, Bind: abi.Bind{
		MW: uintptr(w), RKey: key, MR: uintptr(n.mr), Addr: uint64(abi.Addr(n.mem)) + uint64(off), Length: uint64(size), Access: access,
	}}, 0, 0)
	abi.SetMWKey(uintptr(w), key)
	return key
}

func (n *end) addr(off int) uint64 { return uint64(abi.Addr(n.mem)) + uint64(off) }

// put writes a number to memory.
func (n *end) put(off int, v uint64)  { binary.BigEndian.PutUint64(n.mem[off:], v) }
func (n *end) get(off int) (v uint64) { return binary.BigEndian.Uint64(n.mem[off:]) }
