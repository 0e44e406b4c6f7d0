package verbs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	rdma "github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// messages is the number of Receives that each end posts: one more than the client has unanswered
// Sends.
func (s Shape) messages() int { return s.Depth + 1 }

// messageSize is the length of a Send.
const messageSize = 128

// endpoint is one end of a provider's connection.
type endpoint struct {
	pd       rdma.ProtectionDomain
	cq       rdma.CompletionQueue
	qp       rdma.QueuePair
	data     rdma.MemoryRegion // Shape.Size times Shape.Depth
	messages rdma.MemoryRegion // a slot for each Receive, and one to send from
	places   int               // of Receives
	wcs      [32]rdma.WC
}

// newEndpoint returns an end with its Receives posted. If it fails it leaks objects: the program
// ends then.
func newEndpoint(dev rdma.Device, s Shape, access rdma.Access, notify func()) (*endpoint, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	e := endpoint{places: s.messages()}
	var err error
	if e.pd, err = dev.AllocPD(); err != nil {
		return nil, err
	}
	if e.cq, err = dev.CreateCQ(s.Depth+2*e.places+2, notify); err != nil {
		return nil, err
	}
	e.qp, err = e.pd.CreateQP(rdma.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: s.Depth + e.places + 1, MaxRecvWR: e.places})
	if err != nil {
		return nil, err
	}
	if e.data, err = e.pd.RegisterMemory(make([]byte, s.Size*s.Depth), access); err != nil {
		return nil, err
	}
	e.messages, err = e.pd.RegisterMemory(make([]byte, (e.places+1)*messageSize), rdma.AccessLocalWrite)
	if err != nil {
		return nil, err
	}
	for i := range e.places {
		if err := e.receive(i); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

// receive posts the Receive of slot i.
func (e *endpoint) receive(i int) error {
	sgl := [1]rdma.SGE{{MR: e.messages, Offset: i * messageSize, Length: messageSize}}
	wr := [1]rdma.RecvWR{{WRID: uint64(i), SGL: sgl[:]}}
	_, err := e.qp.PostRecv(wr[:])
	return err
}

// send posts a Send from slot i.
func (e *endpoint) send(i int) error {
	sgl := [1]rdma.SGE{{MR: e.messages, Offset: i * messageSize, Length: messageSize}}
	wr := [1]rdma.SendWR{{WRID: uint64(i), Opcode: rdma.Send, Flags: rdma.SendSignaled, SGL: sgl[:]}}
	_, err := e.qp.PostSend(wr[:])
	return err
}

func (e *endpoint) close() error {
	return errors.Join(e.qp.Close(), e.data.Deregister(), e.messages.Deregister(), e.cq.Close(), e.pd.Close())
}

// providerServer answers each Send with the same message, on the goroutine of the provider's
// notification. The peer may write and read its memory.
type providerServer struct {
	*endpoint
	events atomic.Int64 // notifications not yet processed
}

// acceptProvider serves connections until the listener is closed.
func acceptProvider(ctx context.Context, dev rdma.Device, ln rdma.Listener) {
	for {
		req, err := ln.Accept(ctx)
		if err != nil {
			return
		}
		if _, err := serveProvider(ctx, dev, req); err != nil {
			fmt.Fprintln(os.Stderr, "verbsbench: server:", err)
		}
	}
}

// serveProvider accepts a connection, which is never closed.
func serveProvider(ctx context.Context, dev rdma.Device, req rdma.ConnRequest) (*providerServer, error) {
	s, err := parseShape(req.PrivateData())
	if err != nil {
		return nil, errors.Join(err, req.Reject(nil))
	}
	var p providerServer
	p.endpoint, err = newEndpoint(dev, s, rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite, p.notify)
	if err != nil {
		return nil, errors.Join(err, req.Reject(nil))
	}
	if err := p.cq.Arm(false); err != nil {
		return nil, err
	}
	key := binary.BigEndian.AppendUint32(nil, p.data.RKey())
	key = binary.BigEndian.AppendUint64(key, p.data.RemoteAddr())
	_, err = req.Accept(ctx, p.qp, &rdma.ConnParams{PrivateData: key})
	return &p, err
}

// notify runs the polling loop of verbs.CompletionQueue, once at a time.
func (p *providerServer) notify() {
	if p.events.Add(1) > 1 {
		return // the running loop polls again
	}
	for seen := int64(1); seen > 0; seen = p.events.Add(-seen) {
		for armed := false; ; {
			n, err := p.cq.Poll(p.wcs[:])
			if err != nil || n == 0 && armed {
				break
			}
			for _, wc := range p.wcs[:n] {
				p.complete(wc)
			}
			if n == 0 {
				armed = p.cq.Arm(false) == nil
			}
		}
	}
}

// complete handles a completion. If posting fails the connection is broken, which the client
// reports.
func (p *providerServer) complete(wc rdma.WC) {
	switch {
	case wc.Status != rdma.StatusSuccess:
	case wc.Opcode == rdma.WCRecv:
		p.send(int(wc.WRID))
	case wc.Opcode == rdma.WCSend:
		p.receive(int(wc.WRID))
	}
}

// providerClient is the client, which measures.
type providerClient struct {
	*endpoint
	shape  Shape
	signal <-chan struct{}
	key    uint32
	addr   uint64
}

func dialProvider(ctx context.Context, dev rdma.Device, addr string, s Shape) (*providerClient, error) {
	notify, signal := rdma.NotifyChannel()
	e, err := newEndpoint(dev, s, rdma.AccessLocalWrite, notify)
	if err != nil {
		return nil, err
	}
	info, err := dev.Dial(ctx, addr, e.qp, &rdma.ConnParams{PrivateData: s.append(nil)})
	if err != nil {
		return nil, err
	}
	if len(info.PrivateData) < 12 { // a device may pad it
		return nil, fmt.Errorf("found %d octets of private data, expected 12: key and address", len(info.PrivateData))
	}
	return &providerClient{
		endpoint: e, shape: s, signal: signal,
		key: binary.BigEndian.Uint32(info.PrivateData), addr: binary.BigEndian.Uint64(info.PrivateData[4:]),
	}, nil
}

// wait returns at least one completion; it returns an error if one failed.
func (c *providerClient) wait() ([]rdma.WC, error) {
	for armed := false; ; {
		n, err := c.cq.Poll(c.wcs[:])
		if err != nil {
			return nil, err
		}
		for i := range n {
			if err := c.wcs[i].Err(); err != nil {
				return nil, errors.Join(err, c.qp.Err())
			}
		}
		switch {
		case n > 0:
			return c.wcs[:n], nil
		case armed:
			<-c.signal
			armed = false
		default:
			if err := c.cq.Arm(false); err != nil {
				return nil, err
			}
			armed = true
		}
	}
}

// call sends a message, and waits for its completion and the answer.
func (c *providerClient) call() error {
	if err := c.send(c.places); err != nil {
		return err
	}
	for left := 2; left > 0; {
		wcs, err := c.wait()
		if err != nil {
			return err
		}
		left -= len(wcs)
		for _, wc := range wcs {
			if wc.Opcode != rdma.WCRecv {
				continue
			}
			if err := c.receive(int(wc.WRID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// calls keeps Depth calls outstanding until n were answered.
func (c *providerClient) calls(n int) (time.Duration, error) {
	start := time.Now()
	for sent, completed, answered := 0, 0, 0; answered < n || completed < n; {
		for ; sent < n && sent-min(answered, completed) < c.shape.Depth; sent++ {
			if err := c.send(c.places); err != nil {
				return 0, err
			}
		}
		wcs, err := c.wait()
		if err != nil {
			return 0, err
		}
		for _, wc := range wcs {
			if wc.Opcode != rdma.WCRecv {
				completed++
				continue
			}
			answered++
			if err := c.receive(int(wc.WRID)); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start), nil
}

// bulk returns a run of Writes or Reads, and one call at its end.
func (c *providerClient) bulk(op rdma.Opcode) Run {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		free := c.shape.Depth
		for posted, done := 0, 0; done < n; {
			for posted < n && free > 0 {
				if err := c.access(op, posted%c.shape.Depth); err != nil {
					return 0, err
				}
				posted++
				free--
			}
			wcs, err := c.wait()
			if err != nil {
				return 0, err
			}
			done += len(wcs)
			free += len(wcs)
		}
		err := c.call()
		return time.Since(start), err
	}
}

// access posts one Write or Read between the same slots of both ends. Completions come in order, so
// the next slot in turn is free.
func (c *providerClient) access(op rdma.Opcode, place int) error {
	offset := place * c.shape.Size
	sgl := [1]rdma.SGE{{MR: c.data, Offset: offset, Length: c.shape.Size}}
	wr := [1]rdma.SendWR{{
		WRID: uint64(place), Opcode: op, Flags: rdma.SendSignaled, SGL: sgl[:],
		RKey: c.key, RemoteAddr: c.addr + uint64(offset),
	}}
	_, err := c.qp.PostSend(wr[:])
	return err
}
