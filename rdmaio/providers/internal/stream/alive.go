package stream

import (
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// maxKeepAlive is the longest keepalive time that all systems accept. On Linux the limit
// is 32,767 s.
const maxKeepAlive = 9 * time.Hour

// watchPeer makes the system end a connection whose peer no longer answers. After half
// of Config.PeerTimeout without traffic it sends a keepalive probe. Where the system has
// an option for it, sent data that stays unacknowledged for PeerTimeout ends the
// connection too; by default Linux retransmits for some 15 minutes. A stream that no TCP
// connection carries has no such limit.
//
// An option that the system refuses keeps its default: the connection works without it.
func (d *Device) watchPeer(conn net.Conn) {
	tcp := tcpUnder(conn)
	if tcp == nil {
		return
	}
	limit := d.cfg.PeerTimeout
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

// tcpUnder returns the TCP connection that conn is or that carries it, as under TLS, or
// nil.
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

// vanished adds the cause to an error by which the system gave up a peer that does not
// answer. If a router has reported an error meanwhile, the system returns that one.
func (d *Device) vanished(err error) error {
	for _, cause := range []syscall.Errno{
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaTimedOut, wsaHostUnreach, wsaNetUnreach,
	} {
		if isErrno(err, cause) {
			return fmt.Errorf("the peer, or the network to it, has not answered for %v (Config.PeerTimeout): %w: %w",
				d.cfg.PeerTimeout, err, verbs.StatusError{Status: verbs.StatusRetryExceeded})
		}
	}
	return err
}

func isErrno(err error, want syscall.Errno) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno == want
}
