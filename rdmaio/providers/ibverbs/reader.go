package ibverbs

import (
	"errors"
	"os"
	"syscall"
)

// reader takes the events of one of the library's files, on its own goroutine.
type reader struct {
	file *os.File
	done chan struct{} // closed when the goroutine has returned
}

// newReader starts a reader. take takes one event and handles it. It returns false if there is no
// event, and must not wait. The poller reports a file once for the events that are there, so take
// must not return false before it has found that there are no more.
func newReader(fd int, name string, take func() bool) (*reader, error) {
	f, err := pollable(fd, name)
	if err != nil {
		return nil, err
	}
	conn, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &reader{file: f, done: make(chan struct{})}
	go r.read(conn, take)
	return r, nil
}

// read is the goroutine of a reader. If a notification exits it, another one continues.
func (r *reader) read(conn syscall.RawConn, take func() bool) {
	returned := false
	defer func() {
		if !returned {
			go r.read(conn, take)
			return
		}
		close(r.done)
	}()
	// Read calls the function whenever the file may have become readable, and returns when the file
	// is closed. It calls it once before it waits.
	_ = conn.Read(func(uintptr) bool {
		for take() {
		}
		return false
	})
	returned = true
}

// again reports whether an event may be there although the library has returned an error in its
// place: a signal interrupted the call.
func again(err error) bool { return errors.Is(err, syscall.EINTR) }

// close stops the goroutine and waits for it. The library's own file stays open.
func (r *reader) close() {
	if r != nil {
		r.file.Close()
		<-r.done
	}
}
