package rdmatcp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// maxKeepAlive is the longest keepalive time that every system takes: 32,767 s on Linux.
const maxKeepAlive = 9 * time.Hour

// watchPeer makes the system end a connection whose peer has vanished. A probe is sent after half
// of Config.PeerTimeout without traffic, which finds a peer of whom nothing is expected; where the
// system can, data that stays unacknowledged for that time ends the connection too. Without it
// Linux retransmits for some 15 minutes. A stream that is not TCP has no such limit.
//
// Options that a system refuses keep its own values: an old kernel is no reason to have no connection.
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

// tcpUnder returns the TCP connection that conn is, or that carries it, as under TLS; nil if there is none.
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

// vanished adds to an error of the stream that the peer does not answer, where that is the cause. A
// system that gives up reports the last error that a router gave, if one did.
func (d *Device) vanished(err error) error {
	for _, cause := range []syscall.Errno{
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaTimedOut, wsaHostUnreach, wsaNetUnreach,
	} {
		if isErrno(err, cause) {
			return fmt.Errorf("the peer, or the network to it, has not answered for Config.PeerTimeout, %v: %w: %w",
				d.cfg.PeerTimeout, err, verbs.StatusError{Status: verbs.StatusRetryExceeded})
		}
	}
	return err
}

func isErrno(err error, want syscall.Errno) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno == want
}
