//go:build unix

package rdmatcp

import (
	"errors"
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
		err = nil // the latter: hurry was here; the writer knows how to go on
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
