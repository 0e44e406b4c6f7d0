// Package deadpeer makes the system end a TCP connection whose peer no longer answers, for all
// carriers and providers over TCP (ADR 0041).
package deadpeer

import (
	"errors"
	"math"
	"net"
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
	option, unit := unackedOption()
	raw, err := tcp.SyscallConn()
	if option == 0 || err != nil {
		return
	}
	units := min((limit+unit-1)/unit, math.MaxInt32)
	_ = raw.Control(func(fd uintptr) { setTCPOption(fd, option, int(units)) })
}

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
