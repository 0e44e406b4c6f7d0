package main

import (
	"context"
	"errors"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// breaker is a device that can cut the connections it has dialed. That is for rxe, which has no TCP
// connections for ss -K, and which may refuse connections for minutes after packets were lost.
type breaker struct {
	verbs.Device

	mu    sync.Mutex
	pairs []verbs.QueuePair
}

// Dial implements verbs.Dialer.
func (b *breaker) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := b.Device.Dial(ctx, addr, qp, params)
	if err == nil {
		b.mu.Lock()
		b.pairs = append(b.pairs, qp)
		b.mu.Unlock()
	}
	return info, err
}

// cut disconnects all queue pairs that were connected since the last cut. Calls in flight are lost.
func (b *breaker) cut() error {
	b.mu.Lock()
	pairs := b.pairs
	b.pairs = nil
	b.mu.Unlock()
	var errs []error
	for _, qp := range pairs {
		errs = append(errs, qp.Disconnect())
	}
	return errors.Join(errs...)
}
