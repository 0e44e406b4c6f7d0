//go:build unix

package rdmatcp

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const canTry = true

// attempt is one write that does not wait. It lives in the wire so that
// nothing is allocated for it.
type attempt struct {
	b   []byte
	n   int
	err error
	run func(fd uintptr) bool
}

// try writes what the socket takes at once; 0 and no error if that is nothing.
func (w *wire) try(b []byte) (n int, err error) {
	a := &w.attempt
	if a.run == nil {
		a.run = a.write
	}
	a.b, a.n, a.err = b, 0, nil
	err = w.raw.Write(a.run)
	a.b = nil
	if err == nil {
		err = a.err
	}
	if err == syscall.EAGAIN || errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // the latter: interrupt was called; the writer knows how to go on
	}
	return max(a.n, 0), err
}

// write always reports that it is done, lest the runtime waits for the socket.
func (a *attempt) write(fd uintptr) bool {
	for {
		a.n, a.err = syscall.Write(int(fd), a.b)
		if a.err != syscall.EINTR {
			return true
		}
	}
}

// arrival is one read, to an empty input that is borrowed only when something is
// there, or to a place of its own and then to that. It lives in the wire as
// attempt does.
type arrival struct {
	dst  []byte
	room int
	n    int
	err  error
	run  func(fd uintptr) bool
}

// arrive waits for bytes and reads them to dst, and at most room to the input.
func (w *wire) arrive(dst []byte, room int) (int, error) {
	a := &w.arrival
	if a.run == nil {
		a.run = w.readSome
	}
	a.dst, a.room = dst, room
	err := w.raw.Read(a.run)
	if a.dst = nil; err != nil {
		return 0, err
	}
	return a.n, a.err
}

// readSome is false if the runtime is to wait for the socket and call again.
func (w *wire) readSome(fd uintptr) bool {
	a := &w.arrival
	if w.buf == nil {
		w.borrowInput()
	}
	for {
		if a.dst == nil {
			a.n, a.err = syscall.Read(int(fd), w.buf[:a.room])
		} else {
			a.n, a.err = readv(fd, a.dst, w.buf[:a.room])
			w.r, w.w = 0, max(0, a.n-len(a.dst))
			a.n -= w.w
		}
		switch {
		case a.err == syscall.EINTR:
		case a.err == syscall.EAGAIN:
			w.returnInput()
			a.n, a.err = 0, errIdle
			return w.noWait
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
