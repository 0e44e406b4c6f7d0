//go:build unix

package stream

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const canTry = true

// attempt is a write that does not wait. It is a field of Conn, which saves an
// allocation.
type attempt struct {
	b   []byte
	n   int
	err error
	run func(fd uintptr) bool
}

// try writes what the socket takes at once and returns the number of bytes, which may
// be 0.
func (c *Conn) try(b []byte) (n int, err error) {
	a := &c.attempt
	if a.run == nil {
		a.run = a.write
	}
	a.b, a.n, a.err = b, 0, nil
	err = c.raw.Write(a.run)
	a.b = nil
	if err == nil {
		err = a.err
	}
	if err == syscall.EAGAIN || errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // the deadline was set by interrupt: the writer continues
	}
	return max(a.n, 0), err
}

// write writes once. It always returns true, so that the runtime does not wait for the
// socket.
func (a *attempt) write(fd uintptr) bool {
	for {
		a.n, a.err = syscall.Write(int(fd), a.b)
		if a.err != syscall.EINTR {
			return true
		}
	}
}

// arrival is a read into dst, if that is not nil, and then into the empty input buffer,
// which is borrowed only when bytes have arrived. It is a field of Conn, as attempt is.
type arrival struct {
	dst  []byte
	room int
	n    int
	err  error
	run  func(fd uintptr) bool
}

// arrive waits for bytes and reads them into dst, and up to room bytes into the input
// buffer.
func (c *Conn) arrive(dst []byte, room int) (int, error) {
	a := &c.arrival
	if a.run == nil {
		a.run = c.readSome
	}
	a.dst, a.room = dst, room
	err := c.raw.Read(a.run)
	if a.dst = nil; err != nil {
		return 0, err
	}
	return a.n, a.err
}

// readSome reads once. It returns false if the runtime is to wait for the socket and
// call it again.
func (c *Conn) readSome(fd uintptr) bool {
	a := &c.arrival
	if c.input.buf == nil {
		c.input.borrow()
	}
	for {
		if a.dst == nil {
			a.n, a.err = syscall.Read(int(fd), c.input.buf[:a.room])
		} else {
			a.n, a.err = readv(fd, a.dst, c.input.buf[:a.room])
			c.input.r, c.input.w = 0, max(0, a.n-len(a.dst))
			a.n -= c.input.w
		}
		switch {
		case a.err == syscall.EINTR:
		case a.err == syscall.EAGAIN:
			c.input.giveBack()
			a.n, a.err = 0, errIdle
			return c.noWait
		case a.err != nil:
			a.n, a.err = 0, os.NewSyscallError("read", a.err)
			return true
		case a.n == 0:
			a.err = io.EOF
			return true
		default:
			return true
		}
	}
}
