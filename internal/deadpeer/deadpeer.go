// Package deadpeer makes the system end a TCP connection whose peer no longer answers, for all
// carriers and providers over TCP (ADR 0041).
package deadpeer

import (
	"errors"
	"math"
	"net"
	"sync"
	"syscall"
	"time"
)

// maxKeepAlive is the longest keepalive time that all systems accept. On Linux the limit is 32,767
// s.
const maxKeepAlive = 9 * time.Hour

// Watch makes the system end conn when its peer has not answered for limit. After half of limit
// without traffic the system sends a keepalive probe. Where it has an option for that, sent data
// that stays unacknowledged for limit ends the connection too; by default Linux retransmits for
// some 15 minutes. On Linux that limit holds for data that the peer has no window for as well: a
// peer that answers but reads nothing for limit is given up.
//
// If limit is zero, no probes are sent. Watch does nothing for a stream that no TCP connection
// carries, and an option that the system refuses keeps its default.
func Watch(conn net.Conn, limit time.Duration) {
	if w, ok := conn.(Watcher); ok {
		w.Watch(limit)
		return
	}
	tcp := tcpUnder(conn)
	if tcp == nil {
		return
	}
	if limit == 0 {
		_ = tcp.SetKeepAlive(false)
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: min(limit/2, maxKeepAlive), Interval: min(limit/6, maxKeepAlive), Count: 3,
	})
	limitUnacked(tcp, limit)
}

// limitUnacked limits the time for which sent data may stay unacknowledged, where the system has an
// option for that. On Linux the limit holds for keepalive probes, too, in place of their number.
func limitUnacked(tcp *net.TCPConn, limit time.Duration) {
	option, unit := unackedOption()
	raw, err := tcp.SyscallConn()
	if option == 0 || err != nil {
		return
	}
	units := min((limit+unit-1)/unit, math.MaxInt32)
	_ = raw.Control(func(fd uintptr) { setTCPOption(fd, option, int(units)) })
}

// Watcher is a stream that is not of the system and notices a peer that is gone, as of a simulated
// network.
type Watcher interface {
	// Watch makes the stream fail with syscall.ETIMEDOUT when its peer has been gone for limit, or
	// never if limit is zero.
	Watch(limit time.Duration)
}

// Prober is a stream that is not of the system and can be probed, as of a simulated network.
type Prober interface {
	// Probe closes the stream within limit if the peer is gone. It does not block.
	Probe(limit time.Duration)
}

// Probes are the probes of one connection, at most one at a time. The zero Probes can be used. Its
// method is safe for concurrent use.
type Probes struct {
	mu      sync.Mutex
	waiting bool
}

// Probe makes the system ask the peer of conn at once whether it is there: the keepalive probe is
// due after one second without traffic, and is repeated each second. If the peer has no such
// connection any more, it answers with a reset, and conn fails. If it does not answer, conn fails
// within limit, or within watch, the time of Watch, whichever comes first. After limit the times of
// Watch are set again.
//
// It has no effect if limit is not positive, while an earlier probe waits, and for a stream that
// TCP does not carry.
func (p *Probes) Probe(conn net.Conn, limit, watch time.Duration) {
	if watch > 0 {
		limit = min(limit, watch)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting || limit <= 0 {
		return
	}
	p.waiting = true
	end := probe(conn, limit, watch)
	time.AfterFunc(limit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting = false
		end()
	})
}

// probe begins a probe, and returns the function that must follow.
func probe(conn net.Conn, limit, watch time.Duration) (end func()) {
	if p, ok := conn.(Prober); ok {
		p.Probe(limit)
		return func() {}
	}
	tcp := tcpUnder(conn)
	if tcp == nil {
		return func() {}
	}
	seconds := max(min(int(limit/time.Second), maxProbes), 2)
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: seconds - 1})
	limitUnacked(tcp, limit)
	return func() {
		if Watch(conn, watch); watch == 0 {
			limitUnacked(tcp, 0) // the system's own
		}
	}
}

// Abort makes the next Close of conn reset the TCP connection: the peer then knows that its answers
// are not read. The usual end of a stream only says that no further bytes come, and a client may
// still read. Data that the system has not sent is discarded.
func Abort(conn net.Conn) {
	if tcp := tcpUnder(conn); tcp != nil {
		_ = tcp.SetLinger(0)
	}
}

// maxProbes is the largest number of keepalive probes that all systems accept.
const maxProbes = 127

// tcpUnder returns the TCP connection that conn is or that carries it, as under TLS, or nil.
func tcpUnder(conn net.Conn) *net.TCPConn {
	for {
		switch c := conn.(type) {
		case *net.TCPConn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// HasLeft is Left for a connection. It reports false for a stream that no TCP connection carries.
func HasLeft(conn net.Conn) (left bool) {
	if tcp := tcpUnder(conn); tcp != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { left = Left(fd) })
		}
	}
	return left
}

// Error numbers of Windows, which package syscall does not translate.
const (
	wsaNetUnreach  = syscall.Errno(10051)
	wsaTimedOut    = syscall.Errno(10060)
	wsaHostUnreach = syscall.Errno(10065)
)

// Gone reports whether the system ended a connection because its peer did not answer. If a router
// has reported an error meanwhile, the system returns that error instead of a timeout.
func Gone(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaTimedOut, wsaHostUnreach, wsaNetUnreach:
		return true
	}
	return false
}
