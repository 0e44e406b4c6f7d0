package tcp

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Sizes of read buffers.
const (
	readBuffer  = 16 << 10
	largeBuffer = 64 << 10
	mostLarge   = 256 // large buffers in use, for each server
)

// input is a stream with a read buffer. If the stream is a socket, it has the buffer only while
// there is something to read, so that a connection that rests keeps none:
//
//	resting ──the socket is readable──> reading ──┬── bytes ──> buffered ──all are taken──┐
//	   ^                                   ^      │                                       │
//	   │                                   └──────│───────────── the next read ───────────┘
//	   └──────────── nothing to read ─────────────┘
//
// Another stream keeps its buffer from the first byte on.
type input struct {
	src    io.Reader
	socket syscall.RawConn // of src, if it is one
	large  *atomic.Int32   // counts the large buffers in use, for all connections of the server
	size   int             // of the buffer, unless src is a socket; zero: readBuffer

	memory   []byte  // nil, few, or a buffer
	from, to int     // the bytes in it that are not taken
	pooled   *[]byte // memory, if it came from a pool
	few      [markSize]byte

	// short says that a read may bring many records. Otherwise it brings no more than readBuffer,
	// so that most of a long record is read into the record's own memory.
	short bool

	// Of the read in progress.
	receive func(fd uintptr) bool // bound once
	into    []byte                // nil: the buffer
	n       int
	err     error
}

// Buffers of sockets that have something to read.
var (
	buffers      = sync.Pool{New: func() any { return newBuffer(readBuffer) }}
	largeBuffers = sync.Pool{New: func() any { return newBuffer(largeBuffer) }}
)

func newBuffer(size int) *[]byte {
	b := make([]byte, size)
	return &b
}

// reset sets the stream. Bytes of the one before are lost.
func (in *input) reset(src io.Reader, large *atomic.Int32) {
	in.release()
	in.src, in.socket, in.large = src, nil, large
	switch src.(type) {
	case *net.TCPConn, *net.UnixConn:
		if socket, err := src.(syscall.Conn).SyscallConn(); err == nil && socketReads {
			in.socket, in.receive = socket, in.readSocket
		}
	}
}

// release gives the buffer back, with the bytes in it.
func (in *input) release() {
	in.from, in.to = 0, 0
	in.keep(nil)
}

// keep replaces the buffer by other memory.
func (in *input) keep(memory []byte) {
	if p := in.pooled; p != nil {
		if in.pooled = nil; len(*p) == largeBuffer {
			in.large.Add(-1)
			largeBuffers.Put(p)
		} else {
			buffers.Put(p)
		}
	}
	in.memory = memory
}

// buffered returns the number of bytes that are read and not taken.
func (in *input) buffered() int { return in.to - in.from }

// peek returns the next n bytes without taking them, or with an error those that there are. n must
// be at most markSize, or buffered.
func (in *input) peek(n int) ([]byte, error) {
	for in.buffered() < n {
		if err := in.fill(); err != nil {
			return in.memory[in.from:in.to], err
		}
	}
	return in.memory[in.from : in.from+n], nil
}

// discard takes n bytes. It returns the number that it took, and why they are not n.
func (in *input) discard(n int) (taken int, err error) {
	for {
		part := min(n-taken, in.buffered())
		in.from += part
		if taken += part; taken == n {
			return n, nil
		}
		if err := in.fill(); err != nil {
			return taken, err
		}
	}
}

// Read implements io.Reader. Longer reads pass the buffer by.
func (in *input) Read(b []byte) (int, error) {
	if in.buffered() == 0 {
		if len(b) >= readBuffer {
			return in.read(b)
		}
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, in.memory[in.from:in.to])
	in.from += n
	return n, nil
}

// full reports whether the buffer has as many bytes as a connection that is stalled may read.
func (in *input) full() bool { return in.buffered() >= readBuffer }

// fill reads once into the buffer, which must have room.
func (in *input) fill() error {
	if in.buffered() == 0 {
		in.from, in.to = 0, 0
	} else if in.to == len(in.memory) {
		in.to = copy(in.memory, in.memory[in.from:in.to])
		in.from = 0
	}
	n, err := in.read(nil)
	in.to += n
	return err
}

// read reads once, into the buffer if into is nil. The error is nil if there are bytes.
func (in *input) read(into []byte) (int, error) {
	if in.socket == nil {
		return in.readStream(into)
	}
	in.into, in.n, in.err = into, 0, nil
	err := in.socket.Read(in.receive)
	if in.into = nil; err == nil {
		err = in.err
	}
	return in.n, err
}

// readSocket reads from a socket. It returns false if there is nothing to read.
func (in *input) readSocket(fd uintptr) bool {
	b := in.into
	if b == nil {
		b = in.room()
	}
	n, err := readSocket(fd, b)
	switch {
	case err == syscall.EAGAIN:
		in.rest()
		return false
	case err != nil:
		nc := in.src.(net.Conn)
		in.err = &net.OpError{
			Op: "read", Net: nc.LocalAddr().Network(), Source: nc.LocalAddr(), Addr: nc.RemoteAddr(), Err: os.NewSyscallError("read", err),
		}
	case n == 0:
		in.err = io.EOF
	}
	in.n = max(n, 0)
	return true
}

// room returns room in the buffer of a socket, and takes a buffer first if it was given back.
func (in *input) room() []byte {
	if in.pooled == nil {
		pool := &largeBuffers
		if in.large.Add(1) > mostLarge {
			in.large.Add(-1)
			pool = &buffers
		}
		p := pool.Get().(*[]byte)
		in.to = copy(*p, in.memory[in.from:in.to])
		in.from, in.pooled, in.memory = 0, p, *p
	}
	b := in.memory[in.to:]
	if !in.short {
		b = b[:min(len(b), readBuffer)]
	}
	return b
}

// rest gives the buffer back before a wait, unless there are bytes in it that belong to more than a
// mark.
func (in *input) rest() {
	if n := in.buffered(); in.pooled != nil && n <= markSize {
		copy(in.few[:], in.memory[in.from:in.to])
		in.from, in.to = 0, n
		in.keep(in.few[:])
	}
}

// readStream reads from another stream than a socket.
func (in *input) readStream(into []byte) (int, error) {
	b := into
	if b == nil {
		if in.memory == nil {
			in.memory = make([]byte, in.streamSize())
		}
		b = in.memory[in.to:]
	}
	for range mostEmpty {
		if n, err := in.src.Read(b); n > 0 {
			return n, nil // the next read has the error
		} else if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// mostEmpty is the number of reads in a row that may bring neither a byte nor an error.
const mostEmpty = 100

// streamSize returns the size of the buffer for another stream than a socket.
func (in *input) streamSize() int {
	if in.size != 0 {
		return in.size
	}
	return readBuffer
}

// begin waits for the first bytes of a stream and makes the buffer. Until then the stream has only
// the memory of the empty slice b. begin does nothing for a socket, or later.
func (in *input) begin(b []byte) error {
	if in.socket != nil || in.memory != nil {
		return nil
	}
	b = append(b, 0)
	n, err := in.readStream(b[:min(cap(b), in.streamSize())])
	if err != nil {
		return err
	}
	in.memory = make([]byte, in.streamSize())
	in.to = copy(in.memory, b[:n])
	return nil
}
