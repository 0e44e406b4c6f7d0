package rdmatcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// listener implements verbs.Listener.
type listener struct {
	dev        *Device
	tcp        net.Listener
	queue      chan *connRequest
	done       chan struct{}
	handshakes atomic.Int64

	mu   sync.Mutex // so that nothing enters the queue after it was emptied
	shot bool
	new  map[net.Conn]struct{} // in the handshake
}

// Listen implements verbs.Device; addr is "host:port", with port 0 for a free one.
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	if err := d.soft.Usable(); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	tcp, err := config.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || isErrno(err, wsaAddrInUse):
		return nil, fmt.Errorf("rdmatcp: listen at %q: %w: %w", addr, verbs.ErrAddressInUse, err)
	case err != nil:
		return nil, fmt.Errorf("rdmatcp: listen at %q: %w", addr, err)
	}
	l := &listener{
		dev: d, tcp: tcp, queue: make(chan *connRequest, d.cfg.Backlog), done: make(chan struct{}), new: make(map[net.Conn]struct{}),
	}
	if err := d.soft.Listen(l); err != nil { // removed meanwhile
		l.Close()
		return nil, err
	}
	d.goroutines.Go(l.serve)
	return l, nil
}

// Addr implements verbs.Listener.
func (l *listener) Addr() string { return l.tcp.Addr().String() }

// Accept implements verbs.Listener.
func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	select {
	case <-l.done:
	default:
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("rdmatcp: accept at %q: %w", l.Addr(), ctx.Err())
		case r := <-l.queue:
			return r, nil
		}
	}
	return nil, fmt.Errorf("rdmatcp: accept at %q: listener: %w", l.Addr(), verbs.ErrClosed)
}

// Close implements verbs.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shot {
		return nil
	}
	l.shot = true
	l.tcp.Close()
	l.dev.soft.Unlisten(l)
	close(l.done)
	for conn := range l.new {
		conn.SetDeadline(past)
	}
	for {
		select {
		case r := <-l.queue:
			r.refuse()
		default:
			return nil
		}
	}
}

// serve takes TCP connections until the listener is closed.
func (l *listener) serve() {
	pause := time.Millisecond
	for {
		conn, err := l.tcp.Accept()
		if err != nil {
			select {
			case <-l.done:
				return
			case <-time.After(pause): // out of file descriptors, say
				pause = min(2*pause, time.Second)
				continue
			}
		}
		pause = time.Millisecond
		if !l.dev.adopt(conn) {
			l.dev.stats.refused.Add(1)
			continue
		}
		if l.handshakes.Load() >= int64(l.dev.cfg.MaxHandshakes) || !l.begin(conn) {
			l.dev.stats.refused.Add(1)
			l.dev.drop(conn)
			continue
		}
		l.handshakes.Add(1)
		l.dev.goroutines.Go(func() {
			defer l.handshakes.Add(-1)
			l.greet(conn)
		})
	}
}

// begin notes a connection whose handshake runs; false if the listener is closed.
func (l *listener) begin(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shot {
		return false
	}
	l.new[conn] = struct{}{}
	return true
}

// greet has the first half of the handshake and queues the request.
func (l *listener) greet(conn net.Conn) {
	r, err := l.dev.request(conn, time.Now().Add(l.dev.cfg.HandshakeTimeout))
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.new, conn)
	if err != nil {
		l.dev.stats.refused.Add(1)
		l.dev.drop(conn)
		return
	}
	if !l.shot {
		select {
		case l.queue <- r:
			return
		default:
		}
	}
	l.dev.stats.refused.Add(1)
	r.refuse()
}
