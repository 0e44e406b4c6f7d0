package perftest

import (
	"context"
	"errors"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queue is a completion queue that can be waited for.
type queue struct {
	cq   verbs.CompletionQueue
	wake <-chan struct{}
}

// next waits for a completion.
func (q *queue) next(ctx context.Context) (verbs.WC, error) {
	var wc [1]verbs.WC
	for armed := false; ; armed = !armed {
		n, err := q.cq.Poll(wc[:])
		if err != nil {
			return verbs.WC{}, err
		}
		if n == 1 {
			return wc[0], wc[0].Err()
		}
		if !armed {
			if err := q.cq.Arm(false); err != nil {
				return verbs.WC{}, err
			}
			continue
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return verbs.WC{}, ctx.Err()
		}
	}
}

// conn is one connection, with a region of memory for what it sends and receives.
type conn struct {
	sent, received queue
	qp             verbs.QueuePair
	ended          <-chan struct{} // has a signal when the connection has ended
	mr             verbs.MemoryRegion
	closers        []func() error
}

// newConn returns a connection that is not connected yet, with n bytes of memory and room for
// depth requests in each queue.
func newConn(dev verbs.Device, n, depth int) (*conn, error) {
	c := new(conn)
	if err := c.open(dev, n, depth); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) open(dev verbs.Device, n, depth int) error {
	pd, err := dev.AllocPD()
	if err != nil {
		return err
	}
	c.closers = append(c.closers, pd.Close)
	for _, q := range []*queue{&c.sent, &c.received} {
		notify, wake := verbs.NotifyChannel()
		if q.cq, err = dev.CreateCQ(depth, notify); err != nil {
			return err
		}
		q.wake = wake
		c.closers = append(c.closers, q.cq.Close)
	}
	buf, err := pd.Alloc(n)
	if err != nil {
		return err
	}
	c.closers = append(c.closers, func() error { return pd.Free(buf) })
	const access = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead
	if c.mr, err = pd.RegisterMemory(buf, access); err != nil {
		return err
	}
	c.closers = append(c.closers, c.mr.Deregister)
	notify, ended := verbs.NotifyChannel()
	c.ended = ended
	cfg := verbs.QPConfig{SendCQ: c.sent.cq, RecvCQ: c.received.cq, MaxSendWR: depth, MaxRecvWR: depth, Notify: notify}
	if c.qp, err = pd.CreateQP(cfg); err != nil {
		return err
	}
	c.closers = append(c.closers, c.qp.Close)
	return nil
}

// close ends the connection and releases what it has.
func (c *conn) close() error {
	var all []error
	for _, f := range slices.Backward(c.closers) {
		all = append(all, f())
	}
	return errors.Join(all...)
}

// memory names the region for the peer.
func (c *conn) memory() Memory { return Memory{Key: c.mr.RKey(), Addr: c.mr.RemoteAddr()} }

// part returns bytes of the region.
func (c *conn) part(offset, n int) []verbs.SGE {
	return []verbs.SGE{{MR: c.mr, Offset: offset, Length: n}}
}

// receive posts n Receives for the same bytes of the region.
func (c *conn) receive(n int, sgl []verbs.SGE) error {
	_, err := c.qp.PostRecv(slices.Repeat([]verbs.RecvWR{{SGL: sgl}}, n))
	return err
}

// post posts n requests, and waits until they are complete.
func (c *conn) post(ctx context.Context, n int, wr verbs.SendWR) error {
	wr.Flags = verbs.SendSignaled
	for batch := 0; n > 0; n -= batch {
		batch = min(n, 64)
		if _, err := c.qp.PostSend(slices.Repeat([]verbs.SendWR{wr}, batch)); err != nil {
			return err
		}
		for range batch {
			if _, err := c.sent.next(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
