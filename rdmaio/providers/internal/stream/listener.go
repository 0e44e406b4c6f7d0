package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// listener implements verbs.Listener.
type listener struct {
	dev   *Device
	tcp   net.Listener
	queue chan *connRequest
	done  chan struct{}
	rate  admission.Bucket

	mu         sync.Mutex // held to add to the queue: after Close has emptied it, nothing is added
	closed     bool
	handshakes handshakes
}

// Listen implements verbs.Device; addr is "host:port", with port 0 for a free one.
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	if err := d.soft.Usable(); err != nil {
		return nil, err
	}
	if err := d.secure.canListen(); err != nil {
		return nil, fmt.Errorf("%s: listen at %q: %w", d.cfg.Provider, addr, err)
	}
	config := net.ListenConfig{KeepAlive: -1} // deadpeer.Watch sets it
	tcp, err := config.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || isErrno(err, wsaAddrInUse):
		return nil, fmt.Errorf("%s: listen at %q: %w: %w", d.cfg.Provider, addr, verbs.ErrAddressInUse, err)
	case err != nil:
		return nil, fmt.Errorf("%s: listen at %q: %w", d.cfg.Provider, addr, err)
	}
	return d.listenOn(tcp)
}

// listenOn returns a verbs listener over a listener of streams.
func (d *Device) listenOn(tcp net.Listener) (verbs.Listener, error) {
	l := &listener{
		dev: d, tcp: tcp, queue: make(chan *connRequest, d.cfg.Backlog), done: make(chan struct{}), rate: admission.Bucket{Rate: d.cfg.AcceptRate},
	}
	if err := d.soft.Listen(l); err != nil { // the device was removed before
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
			return nil, fmt.Errorf("%s: accept at %q: %w", l.dev.cfg.Provider, l.Addr(), ctx.Err())
		case r := <-l.queue:
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s: accept at %q: listener: %w", l.dev.cfg.Provider, l.Addr(), verbs.ErrClosed)
}

// Close implements verbs.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.tcp.Close()
	l.dev.soft.Unlisten(l)
	close(l.done)
	for l.handshakes.closeOldest() {
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

// serve accepts TCP connections until the listener is closed.
func (l *listener) serve() {
	pause := time.Millisecond
	for {
		if wait := l.rate.Reserve(time.Now()); wait > 0 && !l.sleep(wait) {
			return
		}
		conn, err := l.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example because the process is out of file descriptors
			l.dev.stats.acceptErrors.Add(1)
			l.dev.warn("no connection can be accepted", slog.String("device", l.dev.cfg.Attrs.Name), slog.String("at", l.Addr()),
				slog.Any("error", err), slog.Duration("next_try_in", pause))
			if !l.sleep(pause) {
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		if deadpeer.HasLeft(conn) { // others wait in the system's queue
			l.rate.Return()
			l.dev.logRefused(&l.dev.stats.refusedHandshake, conn, errLeft)
			conn.Close()
			continue
		}
		conn = l.dev.secure.server(conn)
		source := admission.SourceOf(conn.LocalAddr().String(), conn.RemoteAddr().String())
		switch err := l.dev.adopt(conn, &source); err {
		case nil:
			if l.startHandshake(conn) {
				l.dev.goroutines.Go(func() { l.handshake(conn) })
				continue
			}
			l.dev.logRefused(&l.dev.stats.refusedFull, conn, errDeviceGone)
			l.dev.drop(conn)
		case errSourceFull:
			l.dev.logRefused(&l.dev.stats.refusedSource, conn, err)
			conn.Close()
		default:
			l.dev.logRefused(&l.dev.stats.refusedFull, conn, err)
			conn.Close()
		}
	}
}

// sleep waits for d and returns true. It returns false at once if the listener closes.
func (l *listener) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.done:
		return false
	case <-timer.C:
		return true
	}
}

// startHandshake records a connection in the handshake, and closes the oldest of
// MaxHandshakes for it. It returns false if the listener is closed.
func (l *listener) startHandshake(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.handshakes.order.Len() >= l.dev.cfg.MaxHandshakes {
		l.handshakes.closeOldest()
	}
	l.handshakes.add(conn)
	return true
}

var errLeft = errors.New("the peer closed the connection before it was accepted")

var errBacklog = errors.New("as many requests wait for Listener.Accept as Config.Backlog allows, or the listener is closed")

// handshake waits for the client's hello and queues the connection request.
func (l *listener) handshake(conn net.Conn) {
	r, err := l.dev.request(context.Background(), conn)
	if err != nil {
		l.dev.logRefused(&l.dev.stats.refusedHandshake, conn, err)
		l.dev.drop(conn)
	}
	l.mu.Lock()
	l.handshakes.remove(conn)
	queued := false
	if err == nil && !l.closed {
		select {
		case l.queue <- r:
			queued = true
		default:
		}
	}
	l.mu.Unlock()
	if err == nil && !queued {
		l.dev.logRefused(&l.dev.stats.refusedBacklog, conn, errBacklog)
		r.refuse()
	}
}
