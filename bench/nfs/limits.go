package nfs

import (
	"fmt"
	"os"
	"path/filepath"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// messageSize is about the size of a GETATTR's call and reply.
const messageSize = 128

// dialFramed returns the calls of framed for an operation.
func dialFramed(addr string, op Op) (*bench.FramedClient, error) {
	return bench.DialFramed(addr, bench.Framed, bench.Shape{Size: max(op.Size, messageSize), Depth: op.Depth})
}

// local does the work of the procedures by package os.
type local struct {
	dir  string
	file *os.File
	bufs [][]byte
}

func openLocal(dir string, depth int) (*local, error) {
	f, err := os.OpenFile(filepath.Join(dir, dataFile), os.O_RDWR, 0)
	return &local{dir, f, buffers(depth)}, err
}

func (l *local) getattr(int) error {
	_, err := os.Lstat(filepath.Join(l.dir, dataFile))
	return err
}

func (l *local) lookup(slot int) error { return l.getattr(slot) }

func (l *local) read(slot, size int) error {
	_, err := l.file.ReadAt(l.bufs[slot][:size], 0)
	return err
}

func (l *local) write(slot, size int) error {
	_, err := l.file.WriteAt(l.bufs[slot][:size], 0)
	return err
}

// list reads the names and the attributes of a directory.
func (l *local) list() (int, error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, listDir))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if _, err := e.Info(); err != nil {
			return 0, fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return len(entries), nil
}

// Close implements io.Closer.
func (l *local) Close() error { return l.file.Close() }
