package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// file is an output file with a size limit. Each Write is a line or block that is written whole or
// not at all.
type file struct {
	mu   sync.Mutex
	buf  *bufio.Writer
	f    *os.File // nil: standard error, which is not closed
	note io.Writer
	most size // the limit, bytes; 0: none
	n    size
	full bool
	err  error
}

// newFile creates a file of at most most bytes. If most is 0, or name is "-" for standard error,
// there is no limit.
func newFile(name string, most size, env environment) (*file, error) {
	if name == "-" {
		return &file{buf: bufio.NewWriter(env.stderr)}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &file{buf: bufio.NewWriterSize(f, 1<<16), f: f, note: env.stderr, most: most}, nil
}

// Write implements io.Writer. It drops the first b that exceeds the limit, and all later ones, so
// that the file has no gap. It prints a note once.
func (f *file) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most > 0 && (f.full || f.n+size(len(b)) > f.most) {
		if !f.full {
			f.full = true
			fmt.Fprintf(f.note, "rpcrdma: %s has %d bytes and -limit is %d: nothing more is written to it\n", f.f.Name(), f.n, f.most)
			f.failed(f.buf.Flush())
		}
		return len(b), nil
	}
	n, err := f.buf.Write(b)
	f.n += size(n)
	f.failed(err)
	if f.f == nil { // standard error is read as it is written
		f.failed(f.buf.Flush())
	}
	return n, err
}

// failed keeps the first error; later lines fail for the same reason.
func (f *file) failed(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed(f.buf.Flush())
	if f.f != nil {
		f.err = errors.Join(f.err, f.f.Close())
	}
	return f.err
}
