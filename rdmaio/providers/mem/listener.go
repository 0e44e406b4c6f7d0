package mem

import (
	"context"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// listener implements verbs.Listener.
type listener struct {
	dev   *device
	addr  string
	queue chan *connRequest
	done  chan struct{}

	mu     sync.Mutex // held to add to the queue: after Close has emptied it, nothing is added
	closed bool
}

// Addr implements verbs.Listener.
func (l *listener) Addr() string { return l.addr }

// Accept implements verbs.Listener.
func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	for {
		select {
		case <-l.done:
			return nil, fmt.Errorf("mem: accept at %q: listener: %w", l.addr, verbs.ErrClosed)
		case <-ctx.Done():
			return nil, fmt.Errorf("mem: accept at %q: %w", l.addr, ctx.Err())
		case r := <-l.queue:
			if r.wanted() {
				return r, nil
			}
		}
	}
}

// Close implements verbs.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.dev.net.unlisten(l)
	l.dev.soft.Unlisten(l)
	close(l.done)
	for {
		select {
		case r := <-l.queue:
			r.answer(verbs.ErrConnectionRefused)
		default:
			return nil
		}
	}
}

// offer queues a request. It returns false if the listener is closed or its backlog is full.
func (l *listener) offer(r *connRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.queue <- r:
		return true
	default:
		return false
	}
}
