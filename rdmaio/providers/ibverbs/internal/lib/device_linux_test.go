//go:build amd64 || arm64

package lib_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// The tests of this file use a device of this machine: RPCRDMA_IBVERBS_DEVICE has its name, and
// RPCRDMA_IBVERBS_ADDR an address of it, such as 192.168.77.1:7180. They are skipped without.

// device is an open device with memory that it may use.
type device struct {
	t *testing.T
	lib.Lib
	ctx  lib.Context
	addr netip.AddrPort
	pd   lib.PD
	mem  []byte
	free int // bytes of mem that are not used yet
}

func openDevice(t *testing.T) *device {
	name, addr := os.Getenv("RPCRDMA_IBVERBS_DEVICE"), os.Getenv("RPCRDMA_IBVERBS_ADDR")
	if name == "" || addr == "" {
		t.Skip("RPCRDMA_IBVERBS_DEVICE and RPCRDMA_IBVERBS_ADDR name no device")
	}
	l, err := lib.Open()
	if err != nil {
		t.Fatal(err)
	}
	d := &device{t: t, Lib: l}
	if d.addr, err = netip.ParseAddrPort(addr); err != nil {
		t.Fatal(err)
	}
	all, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ctx := range all {
		info := abi.Device(abi.Context(uintptr(ctx)).Device)
		names = append(names, info.Name)
		if info.Name == name {
			d.ctx = ctx
		}
	}
	if d.ctx == 0 {
		t.Fatalf("found the devices %q, expected %q", names, name)
	}
	if d.mem, err = syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.must("munmap", syscall.Munmap(d.mem)) })
	d.pd, err = l.AllocPD(d.ctx)
	d.must("pd", err)
	t.Cleanup(func() { d.must("dealloc pd", l.DeallocPD(d.pd)) })
	return d
}

func (d *device) must(what string, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
}

// part returns n bytes of the memory.
func (d *device) part(n int) []byte {
	b := d.mem[d.free : d.free+n]
	d.free += (n + 63) &^ 63
	return b
}

// The device's attributes are those that ibv_devinfo prints: limits that are not zero, a port that
// is active, a GID.
func TestAttributesOfDevice(t *testing.T) {
	d := openDevice(t)
	a, err := d.QueryDevice(d.ctx)
	d.must("query device", err)
	t.Logf("%+v", a)
	if a.Ports < 1 || a.MaxQP < 1 || a.MaxQPWR < 1 || a.MaxSGE < 1 || a.MaxCQE < 1 || a.MaxMRSize == 0 || a.MaxPD < 1 {
		t.Error("a limit is zero")
	}
	p, err := d.QueryPort(d.ctx, 1)
	d.must("query port", err)
	t.Logf("%+v", p)
	if p.State != abi.PortActive || p.GIDs < 1 || p.MaxMessage == 0 || p.ActiveMTU < 1 || p.ActiveMTU > 5 {
		t.Error("the port is not active, or a limit is zero")
	}
	gid, err := d.QueryGID(d.ctx, 1, 0)
	d.must("query gid", err)
	t.Logf("GID %x", gid)
	if gid == [16]byte{} {
		t.Error("GID 0 is empty")
	}
	if _, err := d.QueryPort(d.ctx, 200); err == nil {
		t.Error("port 200 exists")
	}
	if n := abi.Context(uintptr(d.ctx)).Vectors; n < 1 {
		t.Errorf("%d completion vectors", n)
	}
}

// A registration of memory that the process does not have fails with EFAULT.
func TestErrnoOfDevice(t *testing.T) {
	d := openDevice(t)
	_, err := d.RegMR(d.pd, 4096, 4096, abi.LocalWrite)
	if !errors.Is(err, syscall.EFAULT) && !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("%v, expected EFAULT", err)
	}
}

// Windows exist, or the library says that the device has none.
func TestWindowsOfDevice(t *testing.T) {
	d := openDevice(t)
	mw, err := d.AllocMW(d.pd)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		t.Log("no windows")
		return
	}
	d.must("alloc mw", err)
	t.Logf("key %#x", abi.MWKey(uintptr(mw)))
	d.must("dealloc mw", d.DeallocMW(mw))
}

// side is one end of a connection.
type side struct {
	ch lib.CompChannel
	cq lib.CQ
	qp lib.QP
	mr lib.MR
	b  []byte
}

const sideSize = 4096

func (d *device) side() *side {
	d.t.Helper()
	s := &side{b: d.part(sideSize)}
	var err error
	s.ch, err = d.CreateCompChannel(d.ctx)
	d.must("channel", err)
	d.t.Cleanup(func() { d.must("destroy channel", d.DestroyCompChannel(s.ch)) })
	s.cq, err = d.CreateCQ(d.ctx, 16, 7, s.ch, 0)
	d.must("cq", err)
	d.t.Cleanup(func() { d.must("destroy cq", d.DestroyCQ(s.cq)) })
	if n := abi.CQEntries(uintptr(s.cq)); n < 16 {
		d.t.Errorf("a queue of %d entries, expected 16", n)
	}
	attr := abi.QPInitAttr{SendCQ: uintptr(s.cq), RecvCQ: uintptr(s.cq), MaxSendWR: 8, MaxRecvWR: 8, MaxSendSGE: 2, MaxRecvSGE: 2}
	s.qp, err = d.CreateQP(d.pd, &attr)
	d.must("qp", err)
	d.t.Cleanup(func() { d.must("destroy qp", d.DestroyQP(s.qp)) })
	if attr.MaxSendWR < 8 || attr.MaxRecvWR < 8 {
		d.t.Errorf("the library gives %+v", attr)
	}
	if abi.Device(abi.Context(uintptr(d.ctx)).Device).Transport == abi.TransportIB {
		init := abi.QPAttr{State: abi.QPInit, Port: 1, Access: abi.LocalWrite | abi.RemoteWrite | abi.RemoteRead}
		d.must("init", d.ModifyQP(s.qp, init, abi.MaskState|abi.MaskAccess|abi.MaskPKey|abi.MaskPort))
	}
	s.mr, err = d.RegMR(d.pd, abi.Addr(s.b), len(s.b), abi.LocalWrite|abi.RemoteWrite|abi.RemoteRead)
	d.must("mr", err)
	d.t.Cleanup(func() { d.must("dereg", d.DeregMR(s.mr)) })
	return s
}

// sge returns the address of a list of one element, of n bytes of the side's memory.
func (d *device) sge(s *side, n int) uintptr {
	list := d.part(abi.SGESize)
	abi.SGE{Addr: abi.Addr(s.b), Length: uint32(n), LKey: abi.MR(uintptr(s.mr)).LKey}.Put(list)
	return abi.Addr(list)
}

// poll waits for a completion of a side, by its channel.
func (d *device) poll(s *side) abi.WC {
	d.t.Helper()
	d.must("arm", d.ReqNotify(s.cq, false))
	wcs := make([]byte, abi.WCSize)
	for {
		n, err := d.Poll(s.cq, wcs)
		d.must("poll", err)
		if n == 1 {
			return abi.GetWC(wcs)
		}
		cq, user, err := d.CQEvent(s.ch)
		d.must("event", err)
		if cq != s.cq || user != 7 {
			d.t.Errorf("an event of queue %#x with %d, expected %#x with 7", cq, user, s.cq)
		}
		d.AckCQEvents(cq, 1)
		d.must("arm", d.ReqNotify(s.cq, false))
	}
}

// sockaddr returns a sockaddr_in.
func sockaddr(at netip.AddrPort) []byte {
	b := binary.NativeEndian.AppendUint16(nil, syscall.AF_INET)
	b = binary.BigEndian.AppendUint16(b, at.Port())
	ip := at.Addr().As4()
	return append(append(b, ip[:]...), make([]byte, 8)...)
}

// event takes an event of a connection, and returns it with its private data.
func (d *device) event(ch lib.EventChannel, want abi.CMEventType) abi.CMEvent {
	d.t.Helper()
	p, err := d.GetCMEvent(ch)
	d.must("cm event", err)
	e := abi.GetCMEvent(uintptr(p))
	d.must("ack", d.AckCMEvent(p))
	d.t.Logf("event %+v", e)
	if e.Type != want {
		d.t.Fatalf("event %d with status %d, expected %d", e.Type, e.Status, want)
	}
	return e
}

// A message goes through a connection of the device to itself.
func TestMessageThroughDevice(t *testing.T) {
	d := openDevice(t)
	client, server := d.side(), d.side()
	var channels [2]lib.EventChannel
	for i := range channels {
		var err error
		channels[i], err = d.CreateEventChannel()
		d.must("event channel", err)
		t.Cleanup(func() { d.DestroyEventChannel(channels[i]) })
	}
	dialing, listening := channels[0], channels[1]
	ln, err := d.CreateID(listening, 1)
	d.must("id", err)
	t.Cleanup(func() { d.must("destroy id", d.DestroyID(ln)) })
	d.must("bind", d.BindAddr(ln, sockaddr(d.addr)))
	d.must("listen", d.Listen(ln, 4))

	id, err := d.CreateID(dialing, 2)
	d.must("id", err)
	release := func(id lib.ID) {
		abi.SetCMQP(uintptr(id), 0)
		d.must("destroy id", d.DestroyID(id))
	}
	t.Cleanup(func() { release(id) })
	d.must("resolve", d.ResolveAddr(id, nil, sockaddr(d.addr), 2*time.Second))
	d.event(dialing, abi.CMAddrResolved)
	if got := abi.GetCMID(uintptr(id)); got.Verbs != uintptr(d.ctx) || got.Context != 2 || got.Port != 1 {
		t.Errorf("the ID has %+v, expected the device %#x, context 2, port 1", got, d.ctx)
	}
	d.must("route", d.ResolveRoute(id, 2*time.Second))
	d.event(dialing, abi.CMRouteResolved)

	// The server's Receive is posted before there is a connection.
	recv := d.part(abi.RecvWRSize)
	(&abi.RecvWR{ID: 11, SGL: d.sge(server, 100), NumSGE: 1}).Put(recv)
	if bad, err := d.PostRecv(server.qp, abi.Addr(recv)); err != nil {
		t.Fatalf("post receive: %v, at %#x", err, bad)
	}
	data := d.part(16)
	copy(data, "hello")
	param := func(qp lib.QP) *abi.ConnParam {
		return &abi.ConnParam{Data: abi.Addr(data), DataLen: 5, Responder: 1, Initiator: 1, Retry: 7, QPNum: abi.QPNum(uintptr(qp))}
	}
	abi.SetCMQP(uintptr(id), uintptr(client.qp))
	d.must("connect", d.Connect(id, param(client.qp)))
	request := d.event(listening, abi.CMConnectRequest)
	if request.ListenID != uintptr(ln) || !bytes.HasPrefix(request.PrivateData, data[:5]) {
		t.Errorf("request %+v, expected the private data %q", request, data[:5])
	}
	accepted := lib.ID(request.ID)
	t.Cleanup(func() { release(accepted) })
	abi.SetCMQP(request.ID, uintptr(server.qp))
	d.must("accept", d.Accept(accepted, param(server.qp)))
	d.event(dialing, abi.CMEstablished)

	copy(client.b, "a message")
	send := d.part(abi.SendWRSize)
	(&abi.SendWR{ID: 12, SGL: d.sge(client, 9), NumSGE: 1, Opcode: abi.OpSend, Flags: abi.Signaled}).Put(send)
	if bad, err := d.PostSend(client.qp, abi.Addr(send)); err != nil {
		t.Fatalf("post send: %v, at %#x", err, bad)
	}
	if wc := d.poll(client); wc.ID != 12 || wc.Status != abi.StatusSuccess || wc.Opcode != abi.WCSend {
		t.Errorf("completion %+v of the Send", wc)
	}
	d.event(listening, abi.CMEstablished)
	wc := d.poll(server)
	if wc.ID != 11 || wc.Status != abi.StatusSuccess || wc.Opcode != abi.WCRecv || wc.ByteLen != 9 || wc.QPNum != abi.QPNum(uintptr(server.qp)) {
		t.Errorf("completion %+v of the Receive", wc)
	}
	if got := string(server.b[:9]); got != "a message" {
		t.Errorf("received %q", got)
	}
	d.must("disconnect", d.Disconnect(id))
	d.event(listening, abi.CMDisconnected)
	_ = d.Disconnect(accepted) // over InfiniBand and RoCE, the other end waits for this answer
	d.event(dialing, abi.CMDisconnected)
}
