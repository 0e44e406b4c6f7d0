package mem

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func (d *device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	fail := func(err error) (*verbs.ConnInfo, error) {
		return nil, fmt.Errorf("mem: dial %q: %w", addr, err)
	}
	q, p, err := d.connecting(qp, params)
	if err != nil {
		return fail(err)
	}
	ln := d.net.find(addr)
	r := &connRequest{ln: ln, from: q, params: p, reply: make(chan error, 1)}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case ln == nil:
		err = verbs.ErrConnectionRefused
	case !ln.offer(r):
		err = fmt.Errorf("the listener is closed or its backlog is full: %w", verbs.ErrConnectionRefused)
	default:
		select {
		case err = <-r.reply:
		case <-q.abort:
			err = q.abandon(r, q.Err())
		case <-ctx.Done():
			err = q.abandon(r, ctx.Err())
		}
	}
	if err != nil {
		l := q.lock()
		l.end(q, err, verbs.ErrPeerDisconnected)
		l.UnlockNotify()
		return fail(err)
	}
	return r.info, nil
}

// abandon withdraws a request and returns err. If the request has been answered before, it returns
// that answer.
func (q *queuePair) abandon(r *connRequest, err error) error {
	r.mu.Lock()
	if r.state == requestOpen {
		r.state = requestAbandoned
		r.reply <- err
	}
	r.mu.Unlock()
	return <-r.reply
}

// connecting checks the arguments of Dial and Accept and moves the queue pair
// to StateConnecting.
func (d *device) connecting(qp verbs.QueuePair, params *verbs.ConnParams) (*queuePair, verbs.ConnParams, error) {
	p, err := d.soft.Params(params)
	if err != nil {
		return nil, p, err
	}
	q, ok := qp.(*queuePair)
	if !ok || q.dev != d {
		return nil, p, fmt.Errorf("queue pair: %w", verbs.ErrForeignObject)
	}
	l := q.lock()
	defer l.UnlockNotify()
	return q, p, q.StartConnecting()
}
