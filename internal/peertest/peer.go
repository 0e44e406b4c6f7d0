package peertest

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Patience is the time that a test waits for a message that must come. Only a failing test waits so
// long.
const Patience = 30 * time.Second

// Recvs is the number of Receives that a Peer has posted, and Size their size in bytes, if it is
// made by New.
const (
	Recvs = 16
	Size  = 4096
)

// The WRIDs of requests. Those of Receives are below their number.
const (
	sendID = 1 << 32
	rdmaID = 1 << 33
)

// Peer is one end of a connection. It is closed at the end of its test.
type Peer struct {
	QP   verbs.QueuePair
	MR   verbs.MemoryRegion // of Mem
	Mem  []byte             // its messages, and the data of its RDMA operations
	Lost <-chan struct{}    // closed with the connection

	// Invalidated is the key that the last message invalidated, or 0.
	Invalidated uint32

	t      testing.TB
	recvs  int // Receives
	size   int // of each in bytes, and of the send buffer
	pd     verbs.ProtectionDomain
	cq     verbs.CompletionQueue
	ready  <-chan struct{}
	kept   []verbs.WC // polled completions that no method has used yet
	exempt exempter
}

// exempter is a device that checks its users against rules. A Peer exempts its own objects.
type exempter interface {
	ExemptQP(num uint32)
	ExemptKey(key uint32)
}

// New returns a peer on a device.
func New(t testing.TB, dev verbs.Device) *Peer {
	t.Helper()
	return NewSized(t, dev, Recvs, Size)
}

// NewSized returns a peer that has so many Receives of this size, and sends up to that size.
func NewSized(t testing.TB, dev verbs.Device, recvs, size int) *Peer {
	t.Helper()
	p := &Peer{t: t, recvs: recvs, size: size}
	p.exempt, _ = dev.(exempter)
	var err error
	p.pd, err = dev.AllocPD()
	p.must(err)
	notify, ready := verbs.NotifyChannel()
	p.ready = ready
	p.cq, err = dev.CreateCQ(128+recvs, notify)
	p.must(err)
	lost := make(chan struct{})
	p.Lost = lost
	p.QP, err = p.pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, MaxSendWR: 64, MaxRecvWR: max(64, recvs), Notify: func() { close(lost) }})
	p.must(err)
	if p.exempt != nil {
		p.exempt.ExemptQP(p.QP.Num())
	}
	p.Mem, err = p.pd.Alloc((recvs + 1) * size)
	p.must(err)
	p.MR, err = p.pd.RegisterMemory(p.Mem, verbs.AccessLocalWrite)
	p.must(err)
	for i := range recvs {
		p.recv(uint64(i))
	}
	t.Cleanup(func() {
		for _, end := range []func() error{p.QP.Close, p.MR.Deregister, func() error { return p.pd.Free(p.Mem) }, p.cq.Close, p.pd.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

// Bytes returns the bytes of text, which has hexadecimal digits and spaces.
func Bytes(t testing.TB, text string) Raw {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *Peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Dial connects and returns the private data of the other side.
func (p *Peer) Dial(dev verbs.Dialer, addr string, private []byte) []byte {
	p.t.Helper()
	info, err := dev.Dial(context.Background(), addr, p.QP, &verbs.ConnParams{PrivateData: private})
	p.must(err)
	return info.PrivateData
}

// Accept accepts the next connection. If that fails, it fails the test and returns false. It may be
// called from any goroutine.
func (p *Peer) Accept(ln verbs.Listener, private []byte) bool {
	req, err := ln.Accept(context.Background())
	if err == nil {
		_, err = req.Accept(context.Background(), p.QP, &verbs.ConnParams{PrivateData: private})
	}
	if err != nil {
		p.t.Error(err)
	}
	return err == nil
}

// Send sends b as a message.
func (p *Peer) Send(b []byte) {
	p.t.Helper()
	p.send(verbs.SendWR{WRID: sendID, Opcode: verbs.Send}, b)
}

// SendHex sends a message written in hexadecimal.
func (p *Peer) SendHex(text string) {
	p.t.Helper()
	p.Send(Bytes(p.t, text))
}

// SendInvalidate sends a message that invalidates a key of the other side.
func (p *Peer) SendInvalidate(b []byte, key uint32) {
	p.t.Helper()
	p.send(verbs.SendWR{WRID: sendID, Opcode: verbs.SendWithInvalidate, InvalidateRKey: key}, b)
}

func (p *Peer) send(wr verbs.SendWR, b []byte) {
	p.t.Helper()
	n := copy(p.Mem[p.recvs*p.size:], b)
	wr.SGL, wr.Flags = []verbs.SGE{{MR: p.MR, Offset: p.recvs * p.size, Length: n}}, verbs.SendSignaled
	p.post(wr)
}

// Write writes bytes to the other side's memory, and reports whether it succeeded.
func (p *Peer) Write(key uint32, at uint64, b []byte) bool {
	p.t.Helper()
	n := copy(p.Mem[p.recvs*p.size:], b)
	return p.post(verbs.SendWR{
		WRID: rdmaID, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, RKey: key, RemoteAddr: at,
		SGL: []verbs.SGE{{MR: p.MR, Offset: p.recvs * p.size, Length: n}},
	})
}

// Read returns n bytes of the other side's memory, or nil if it failed.
func (p *Peer) Read(key uint32, at uint64, n int) []byte {
	p.t.Helper()
	if !p.post(verbs.SendWR{
		WRID: rdmaID, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: key, RemoteAddr: at,
		SGL: []verbs.SGE{{MR: p.MR, Offset: p.recvs * p.size, Length: n}},
	}) {
		return nil
	}
	return append([]byte(nil), p.Mem[p.recvs*p.size:][:n]...)
}

// post posts a request, waits for its completion and reports whether it succeeded.
func (p *Peer) post(wr verbs.SendWR) bool {
	p.t.Helper()
	if _, err := p.QP.PostSend([]verbs.SendWR{wr}); err != nil {
		p.t.Logf("post: %v", err)
		return false
	}
	wc, ok := p.poll(func(wc verbs.WC) bool { return wc.WRID == wr.WRID }, Patience)
	if !ok || wc.Status != verbs.StatusSuccess {
		p.t.Logf("%v: %v", wr.Opcode, wc.Status)
		return false
	}
	return true
}

// Message returns the next message and posts its Receive again. It returns nil if none arrives in
// time.
func (p *Peer) Message(wait time.Duration) Raw {
	p.t.Helper()
	wc, ok := p.poll(func(wc verbs.WC) bool { return wc.WRID < uint64(p.recvs) }, wait)
	if !ok || wc.Status != verbs.StatusSuccess {
		return nil
	}
	p.Invalidated = wc.InvalidatedRKey
	b := append([]byte(nil), p.Mem[int(wc.WRID)*p.size:][:wc.ByteLen]...)
	p.recv(wc.WRID)
	return b
}

func (p *Peer) recv(id uint64) {
	if _, err := p.QP.PostRecv([]verbs.RecvWR{{WRID: id, SGL: []verbs.SGE{{MR: p.MR, Offset: int(id) * p.size, Length: p.size}}}}); err != nil {
		p.t.Logf("receive: %v", err) // the connection has ended
	}
}

// poll waits for a completion that match accepts, and keeps others for later.
func (p *Peer) poll(match func(verbs.WC) bool, wait time.Duration) (verbs.WC, bool) {
	timeout := time.After(wait)
	for armed := false; ; {
		for i, wc := range p.kept {
			if match(wc) {
				p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
				return wc, true
			}
		}
		var wcs [8]verbs.WC
		n, err := p.cq.Poll(wcs[:])
		if err == nil && n == 0 && !armed {
			err, armed = p.cq.Arm(false), true
			if err == nil {
				continue
			}
		}
		if err != nil {
			p.t.Errorf("completion queue: %v", err)
			return verbs.WC{}, false
		}
		p.kept = append(p.kept, wcs[:n]...)
		if n > 0 {
			continue
		}
		select {
		case <-p.ready:
			armed = false
		case <-timeout:
			return verbs.WC{}, false
		}
	}
}
