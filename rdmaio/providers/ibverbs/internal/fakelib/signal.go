//go:build linux

package fakelib

import (
	"encoding/binary"
	"syscall"
)

// signal is a file that can be read while a list of events is not empty, as the file of a
// completion channel.
type signal struct{ fd int }

const efdSemaphore = 1

// newSignal opens an eventfd, which counts the events of the list.
func newSignal() (signal, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|efdSemaphore, 0)
	if errno != 0 {
		return signal{-1}, errno
	}
	return signal{int(fd)}, nil
}

// add counts an event.
func (s signal) add() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := syscall.Write(s.fd, one[:]); err != nil {
		panic("fakelib: write to an eventfd: " + err.Error())
	}
}

// take waits for an event and counts it off. The error is EAGAIN if the list is empty and the
// file is non-blocking.
func (s signal) take() error {
	var n [8]byte
	for {
		_, err := syscall.Read(s.fd, n[:])
		if err != syscall.EINTR {
			return err
		}
	}
}

func (s signal) close() {
	if s.fd >= 0 {
		_ = syscall.Close(s.fd)
	}
}
