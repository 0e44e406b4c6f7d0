//go:build !race

package verbs

import (
	"io"
	"net"
	"syscall"
	"unsafe"
)

// scatter reads into two slices with one system call, which the standard library does not offer.
type scatter struct {
	raw  syscall.RawConn
	iov  [2]syscall.Iovec
	n    int
	err  error
	idle func() error
	call func(fd uintptr) bool
}

// read fills a from the connection, then b, as far as there is input. It calls idle if there is
// none, before it waits.
func (s *scatter) read(conn net.Conn, a, b []byte, idle func() error) (int, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return readOne(conn, a, b, idle)
	}
	if s.raw == nil {
		var err error
		if s.raw, err = tcp.SyscallConn(); err != nil {
			return 0, err
		}
		s.call = s.readv
	}
	for i, p := range [...][]byte{a, b} {
		s.iov[i].Base = unsafe.SliceData(p)
		s.iov[i].SetLen(len(p))
	}
	s.idle = idle
	err := s.raw.Read(s.call)
	clear(s.iov[:])
	switch {
	case err != nil:
		return 0, err
	case s.err != nil:
		return 0, s.err
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// readv reports whether the call is done: with the result, unless there is no input.
func (s *scatter) readv(fd uintptr) bool {
	for {
		n, _, errno := syscall.Syscall(syscall.SYS_READV, fd, uintptr(unsafe.Pointer(&s.iov)), uintptr(len(s.iov)))
		s.n, s.err = int(n), nil
		switch errno {
		case 0:
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			s.err = s.idle()
			return s.err != nil
		default:
			s.err = errno
			return true
		}
	}
}
