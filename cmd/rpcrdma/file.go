package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// file is one that is written line by line, or block by block, up to a number of bytes.
type file struct {
	mu   sync.Mutex
	buf  *bufio.Writer
	f    *os.File // nil: not ours to close
	note io.Writer
	most size // 0: no limit
	n    size
	full bool
	err  error
}

// newFile makes a file of at most that many bytes; 0 is no limit, and "-" has none.
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

// Write implements io.Writer. What does not fit is left out, and all after it, so that the file is a whole one; this is told once.
func (f *file) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most > 0 && (f.full || f.n+size(len(b)) > f.most) {
		if !f.full {
			f.full = true
			fmt.Fprintf(f.note, "rpcrdma: %s has %d bytes, -limit is %d: what follows is left out\n", f.f.Name(), f.n, f.most)
			f.failed(f.buf.Flush())
		}
		return len(b), nil
	}
	n, err := f.buf.Write(b)
	f.n += size(n)
	f.failed(err)
	if f.f == nil { // somebody looks on
		f.failed(f.buf.Flush())
	}
	return n, err
}

// failed keeps the first failure: once is enough, the next million lines fail in the same way.
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
