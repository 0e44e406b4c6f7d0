package mem

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// requestState is the state of a connection request.
type requestState uint8

const (
	requestOpen      requestState = iota
	requestAnswered               // by Accept, Reject or the closed listener
	requestAbandoned              // by Dial
)

// connRequest implements verbs.ConnRequest.
type connRequest struct {
	ln     *listener
	from   *queuePair
	params verbs.ConnParams // the dialer's, normalised
	reply  chan error       // capacity 1: the result of Dial; nil if connected
	info   *verbs.ConnInfo  // for the dialer, set before the reply

	mu    sync.Mutex
	state requestState
}

// PrivateData implements verbs.ConnRequest.
func (r *connRequest) PrivateData() []byte { return r.params.PrivateData }

// RemoteAddr implements verbs.ConnRequest.
func (r *connRequest) RemoteAddr() string { return r.from.dev.attrs.Name }

// wanted reports whether the request is open.
func (r *connRequest) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == requestOpen
}

// answer answers the request with an error. It returns false if the request is not open.
func (r *connRequest) answer(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != requestOpen {
		return false
	}
	r.state = requestAnswered
	r.reply <- err
	return true
}

// Reject implements verbs.ConnRequest.
func (r *connRequest) Reject(private []byte) error {
	if limit := r.ln.dev.attrs.MaxPrivateData; len(private) > limit {
		return fmt.Errorf("mem: reject: private data of %d bytes, limit is %d: %w", len(private), limit, verbs.ErrTooLarge)
	}
	if !r.answer(&verbs.RejectedError{PrivateData: bytes.Clone(private)}) {
		return fmt.Errorf("mem: reject: the request has been answered, or its peer has given up: %w", verbs.ErrInvalidState)
	}
	return nil
}

// Accept implements verbs.ConnRequest.
func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, q, err := r.accept(ctx, qp, params)
	if err == nil {
		return info, nil
	}
	if q != nil { // not misuse
		l := q.lock()
		l.end(q, err, nil)
		l.UnlockNotify()
	}
	return nil, fmt.Errorf("mem: accept at %q: %w", r.ln.addr, err)
}

func (r *connRequest) accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, *queuePair, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == requestAnswered {
		return nil, nil, fmt.Errorf("the request has been answered: %w", verbs.ErrInvalidState)
	}
	q, p, err := r.ln.dev.connecting(qp, params)
	if err != nil {
		return nil, nil, err
	}
	if r.state == requestAbandoned {
		return nil, q, verbs.ErrPeerDisconnected
	}
	r.state = requestAnswered
	if err := ctx.Err(); err != nil {
		r.reply <- verbs.ErrPeerDisconnected
		return nil, q, err
	}
	own, info, err := r.join(q, p)
	if err != nil {
		r.reply <- verbs.ErrPeerDisconnected
		return nil, q, err
	}
	r.info = info
	r.reply <- nil
	return own, q, nil
}

// join connects two queue pairs and returns the ConnInfo of each side.
func (r *connRequest) join(q *queuePair, p verbs.ConnParams) (own, peers *verbs.ConnInfo, err error) {
	lq, lf := lockTwo(q, r.from)
	defer lq.Unlock()
	defer lf.Unlock()
	switch {
	case q.State() != verbs.StateConnecting:
		return nil, nil, q.err
	case r.from.State() != verbs.StateConnecting:
		return nil, nil, verbs.ErrPeerDisconnected
	}
	own = &verbs.ConnInfo{
		PrivateData: bytes.Clone(r.params.PrivateData), LocalAddr: r.ln.addr, RemoteAddr: r.RemoteAddr(),
		InitiatorDepth:     min(p.InitiatorDepth, r.params.ResponderResources),
		ResponderResources: min(p.ResponderResources, r.params.InitiatorDepth),
	}
	peers = &verbs.ConnInfo{
		PrivateData: p.PrivateData, LocalAddr: r.RemoteAddr(), RemoteAddr: r.ln.addr,
		InitiatorDepth: own.ResponderResources, ResponderResources: own.InitiatorDepth,
	}
	q.depth, r.from.depth = own.InitiatorDepth, peers.InitiatorDepth
	q.peer, r.from.peer = r.from, q
	q.binding = newBinding()
	r.from.binding = q.binding
	q.link.Store(lf)
	q.SetState(verbs.StateConnected)
	r.from.SetState(verbs.StateConnected)
	return own, peers, nil
}
