// Package rawpeer is one end of a connection that uses verbs only, and so can break every rule of
// RPC-over-RDMA: it sends any bytes as a message, and returns the messages that come as they are.
// Parse reads their headers, without the codec of the transport.
//
// Package peertest has the same peer for tests. rpcrdma conform tests servers with it.
package rawpeer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Patience is the time that a request of this side has to complete.
const Patience = 30 * time.Second

// ErrSilent reports that no message came in time.
var ErrSilent = errors.New("rawpeer: no message in time")

// The WRIDs of requests. The WRID of a Receive is below their number.
const (
	sendID = 1 << 32
	rdmaID = 1 << 33
)

// Peer is one end of a connection. Its methods are for one goroutine at a time.
type Peer struct {
	QP   verbs.QueuePair
	PD   verbs.ProtectionDomain
	MR   verbs.MemoryRegion // of Mem
	Mem  []byte             // its messages, and the data of its RDMA operations
	Lost <-chan struct{}    // closed with the connection

	// Invalidated is the key that the last message invalidated, or 0.
	Invalidated uint32

	recvs int // Receives
	size  int // of each in bytes, and of the send buffer
	cq    verbs.CompletionQueue
	ready <-chan struct{}
	kept  []verbs.WC // polled completions that no method has used yet
}

// New returns a peer on a device that has so many Receives of this size in bytes, and sends up to
// that size. created, if not nil, is called with the number of its queue pair before any use. The
// caller must Close it, also if New fails.
func New(dev verbs.Device, recvs, size int, created func(qp uint32)) (p *Peer, err error) {
	p = &Peer{recvs: recvs, size: size}
	if p.PD, err = dev.AllocPD(); err != nil {
		return p, err
	}
	notify, ready := verbs.NotifyChannel()
	p.ready = ready
	if p.cq, err = dev.CreateCQ(128+recvs, notify); err != nil {
		return p, err
	}
	lost := make(chan struct{})
	p.Lost = lost
	p.QP, err = p.PD.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, MaxSendWR: 64, MaxRecvWR: max(64, recvs), Notify: func() { close(lost) }})
	if err != nil {
		return p, err
	}
	if created != nil {
		created(p.QP.Num())
	}
	if p.Mem, err = p.PD.Alloc((recvs + 1) * size); err != nil {
		return p, err
	}
	if p.MR, err = p.PD.RegisterMemory(p.Mem, verbs.AccessLocalWrite); err != nil {
		return p, err
	}
	for i := range recvs {
		if err := p.receive(uint64(i)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Close closes the connection and releases everything of the peer.
func (p *Peer) Close() error {
	var errs []error
	if p.QP != nil {
		errs = append(errs, p.QP.Close())
	}
	if p.MR != nil {
		errs = append(errs, p.MR.Deregister())
	}
	if p.Mem != nil {
		errs = append(errs, p.PD.Free(p.Mem))
	}
	if p.cq != nil {
		errs = append(errs, p.cq.Close())
	}
	if p.PD != nil {
		errs = append(errs, p.PD.Close())
	}
	return errors.Join(errs...)
}

// Dial connects and returns the private data of the other side.
func (p *Peer) Dial(ctx context.Context, dev verbs.Dialer, addr string, private []byte) ([]byte, error) {
	info, err := dev.Dial(ctx, addr, p.QP, &verbs.ConnParams{PrivateData: private})
	if err != nil {
		return nil, err
	}
	return info.PrivateData, nil
}

// Accept accepts the next connection.
func (p *Peer) Accept(ctx context.Context, ln verbs.Listener, private []byte) error {
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, p.QP, &verbs.ConnParams{PrivateData: private})
	}
	return err
}

// Send sends b as a message. If key is not 0, the message invalidates that key of the other side.
func (p *Peer) Send(b []byte, key uint32) error {
	wr := verbs.SendWR{WRID: sendID, Opcode: verbs.Send}
	if key != 0 {
		wr.Opcode, wr.InvalidateRKey = verbs.SendWithInvalidate, key
	}
	return p.post(wr, copy(p.Mem[p.recvs*p.size:], b))
}

// Write writes bytes to the other side's memory.
func (p *Peer) Write(key uint32, at uint64, b []byte) error {
	return p.post(verbs.SendWR{WRID: rdmaID, Opcode: verbs.RDMAWrite, RKey: key, RemoteAddr: at}, copy(p.Mem[p.recvs*p.size:], b))
}

// Read returns n bytes of the other side's memory.
func (p *Peer) Read(key uint32, at uint64, n int) ([]byte, error) {
	if err := p.post(verbs.SendWR{WRID: rdmaID, Opcode: verbs.RDMARead, RKey: key, RemoteAddr: at}, n); err != nil {
		return nil, err
	}
	return append([]byte(nil), p.Mem[p.recvs*p.size:][:n]...), nil
}

// post posts a request with n bytes of the send buffer, and waits for its completion.
func (p *Peer) post(wr verbs.SendWR, n int) error {
	wr.SGL, wr.Flags = []verbs.SGE{{MR: p.MR, Offset: p.recvs * p.size, Length: n}}, verbs.SendSignaled
	if _, err := p.QP.PostSend([]verbs.SendWR{wr}); err != nil {
		return err
	}
	wc, err := p.poll(func(wc verbs.WC) bool { return wc.WRID == wr.WRID }, Patience)
	if err == nil && wc.Status != verbs.StatusSuccess {
		err = fmt.Errorf("%v: %v", wr.Opcode, wc.Status)
	}
	return err
}

// Message returns the next message and posts its Receive again. The error is ErrSilent if none
// arrives in time.
func (p *Peer) Message(wait time.Duration) (Raw, error) {
	wc, err := p.poll(func(wc verbs.WC) bool { return wc.WRID < uint64(p.recvs) }, wait)
	if err == nil {
		err = wc.Status.Err()
	}
	if err != nil {
		return nil, err
	}
	p.Invalidated = wc.InvalidatedRKey
	b := append([]byte(nil), p.Mem[int(wc.WRID)*p.size:][:wc.ByteLen]...)
	_ = p.receive(wc.WRID) // fails if the connection is lost, which the next call reports
	return b, nil
}

func (p *Peer) receive(id uint64) error {
	_, err := p.QP.PostRecv([]verbs.RecvWR{{WRID: id, SGL: []verbs.SGE{{MR: p.MR, Offset: int(id) * p.size, Length: p.size}}}})
	return err
}

// poll waits for a completion that match accepts, and keeps others for later.
func (p *Peer) poll(match func(verbs.WC) bool, wait time.Duration) (verbs.WC, error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for armed := false; ; {
		for i, wc := range p.kept {
			if match(wc) {
				p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
				return wc, nil
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
			return verbs.WC{}, fmt.Errorf("completion queue: %w", err)
		}
		p.kept = append(p.kept, wcs[:n]...)
		if n > 0 {
			continue
		}
		select {
		case <-p.ready:
			armed = false
		case <-timeout.C:
			return verbs.WC{}, ErrSilent
		}
	}
}
