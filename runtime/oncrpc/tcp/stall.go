package tcp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
)

// stall waits until resume is called, because MaxRequests Requests are not answered. While it
// waits, it fills the read buffer to notice the end of the stream, and returns the read's error.
// When the buffer is full, deadpeer.Left finds the end after the bytes that are not read. It
// returns after each read, so the caller has to look whether it can continue. c.mu must be held;
// stall releases it while it waits.
func (c *Conn) stall() error {
	wait := c.in.r.fill
	if c.in.r.full() {
		socket, err := rawConn(c.out.nc)
		if err != nil { // no socket of the system
			c.wake.Wait()
			return nil
		}
		wait = func() error {
			if err := socket.Read(deadpeer.Left); err != nil {
				return err
			}
			return io.EOF
		}
	}
	c.stalled = true
	c.mu.Unlock()
	err := wait()
	c.mu.Lock()
	if !c.stalled { // wait may have returned without seeing resume's deadline
		_ = c.out.nc.SetReadDeadline(time.Time{})
	}
	c.stalled = false
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// resume wakes a reader that is stalled or waits for memory. c.mu must be held.
func (c *Conn) resume() {
	c.wake.Broadcast()
	c.reserved.wake()
	if c.stalled {
		c.stalled = false
		_ = c.out.nc.SetReadDeadline(time.Unix(1, 0)) // long ago
	}
}

// rawConn returns the socket of a stream, below TLS if it has that.
func rawConn(nc net.Conn) (syscall.RawConn, error) {
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = over.NetConn()
	}
	if s, ok := nc.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// ofSystem reports whether the system has given up a connection, for example after a reset, or
// because the peer does not answer. Where the system does not say so, it reports false.
func ofSystem(nc net.Conn) (ended bool) {
	if socket, err := rawConn(nc); err == nil {
		_ = socket.Control(func(fd uintptr) { ended = deadpeer.Ended(fd) })
	}
	return ended
}
