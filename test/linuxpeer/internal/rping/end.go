package rping

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const (
	messageSize = 16
	bufferSize  = 256 // at least as many bytes as rping's default of 64
)

// end is this end of a connection.
type end struct {
	ctx     context.Context
	pings   int // in all
	cq      verbs.CompletionQueue
	wake    <-chan struct{}
	qp      verbs.QueuePair
	ended   <-chan struct{}    // has a signal when the connection has ended
	msg     verbs.MemoryRegion // one message to send, one to receive
	data    verbs.MemoryRegion
	closers []func() error
}

// newEnd returns an end that is not connected, with a Receive posted.
func newEnd(ctx context.Context, dev verbs.Device) (*end, error) {
	e := &end{ctx: ctx}
	if err := e.open(dev); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *end) open(dev verbs.Device) error {
	pd, err := dev.AllocPD()
	if err != nil {
		return err
	}
	e.closers = append(e.closers, pd.Close)
	notify, wake := verbs.NotifyChannel()
	e.wake = wake
	if e.cq, err = dev.CreateCQ(64, notify); err != nil {
		return err
	}
	e.closers = append(e.closers, e.cq.Close)
	if e.msg, err = e.region(pd, 2*messageSize, verbs.AccessLocalWrite); err != nil {
		return err
	}
	const all = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	if e.data, err = e.region(pd, bufferSize, all); err != nil {
		return err
	}
	lost, ended := verbs.NotifyChannel()
	e.ended = ended
	e.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 8, MaxRecvWR: 8, Notify: lost})
	if err != nil {
		return err
	}
	e.closers = append(e.closers, e.qp.Close)
	return e.receive()
}

// region returns n bytes of memory.
func (e *end) region(pd verbs.ProtectionDomain, n int, access verbs.Access) (verbs.MemoryRegion, error) {
	buf, err := pd.Alloc(n)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, func() error { return pd.Free(buf) })
	mr, err := pd.RegisterMemory(buf, access)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, mr.Deregister)
	return mr, nil
}

// close ends the connection and releases what the end has.
func (e *end) close() error {
	var all []error
	for _, f := range slices.Backward(e.closers) {
		all = append(all, f())
	}
	return errors.Join(all...)
}

// receive posts a Receive for a message.
func (e *end) receive() error {
	_, err := e.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: e.msg, Offset: messageSize, Length: messageSize}}}})
	return err
}

// post posts a request and waits for its completion, or for that of a Receive.
func (e *end) post(wr verbs.SendWR) error {
	wr.Flags = verbs.SendSignaled
	if _, err := e.qp.PostSend([]verbs.SendWR{wr}); err != nil {
		return err
	}
	return e.next()
}

// next waits for a completion. The sequence of the messages allows no more than two at a time, of
// which the caller waits for both.
func (e *end) next() error {
	var wc [1]verbs.WC
	for armed := false; ; armed = !armed {
		n, err := e.cq.Poll(wc[:])
		if err != nil {
			return err
		}
		if n == 1 {
			if err := wc[0].Err(); err != nil {
				return fmt.Errorf("%w (%v)", err, e.qp.Err())
			}
			return nil
		}
		if !armed {
			if err := e.cq.Arm(false); err != nil {
				return err
			}
			continue
		}
		select {
		case <-e.wake:
		case <-e.ctx.Done():
			return fmt.Errorf("no completion: %w (%v)", context.Cause(e.ctx), e.qp.Err())
		}
	}
}

// send sends a message that names the first n bytes of the data.
func (e *end) send(n int) error {
	b := e.msg.Bytes()
	binary.BigEndian.PutUint64(b, e.data.RemoteAddr())
	binary.BigEndian.PutUint32(b[8:], e.data.RKey())
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	return e.post(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: e.msg, Length: messageSize}}})
}

// buffer is memory of the peer.
type buffer struct {
	addr      uint64
	key, size uint32
}

// got waits for the peer's message, and returns the buffer that it names.
func (e *end) got() (buffer, error) {
	if err := e.next(); err != nil {
		return buffer{}, err
	}
	b := e.msg.Bytes()[messageSize:]
	peer := buffer{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])}
	return peer, e.receive()
}

// move moves the first n bytes of the data from or to the peer's buffer.
func (e *end) move(op verbs.Opcode, peer buffer, n int) error {
	return e.post(verbs.SendWR{Opcode: op, RemoteAddr: peer.addr, RKey: peer.key, SGL: []verbs.SGE{{MR: e.data, Length: n}}})
}
