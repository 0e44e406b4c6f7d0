package verbs

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
)

// headerSize is the length of a frame's header, that of an RDMA_Write in
// draft-williams-rdmatcp-00 §2.
const headerSize = 32

// header is the header of a frame: a part of a payload, and its destination.
type header struct {
	slot   uint32 // the operation's
	length uint32 // octets that follow
	offset uint32 // of the first of them in the payload
	last   bool   // the payload is complete
}

func (h header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.slot)
	b = binary.BigEndian.AppendUint32(b, h.length)
	b = binary.BigEndian.AppendUint32(b, h.offset)
	var last uint32
	if h.last {
		last = 1
	}
	b = binary.BigEndian.AppendUint32(b, last)
	return append(b, make([]byte, headerSize-16)...)
}

func parseHeader(b []byte) header {
	return header{
		slot:   binary.BigEndian.Uint32(b),
		length: binary.BigEndian.Uint32(b[4:]),
		offset: binary.BigEndian.Uint32(b[8:]),
		last:   binary.BigEndian.Uint32(b[12:]) != 0,
	}
}

// reader reads headers through a buffer and payload past it.
type reader struct {
	conn       net.Conn
	buf        []byte
	start, end int

	// The floor sets these.
	ahead   int          // most octets to read at once into buf; 0: as many as it holds
	idle    func() error // called before a read waits
	scatter scatter
}

// newReader chooses the size of the buffer: it takes many small frames in one read, but little of a
// large payload, which would have to be copied.
func newReader(conn net.Conn, s Shape) *reader {
	n := 64 << 10
	if s.Size > 2*small {
		n = 512
	}
	return &reader{conn: conn, buf: make([]byte, n)}
}

func (r *reader) buffered() int { return r.end - r.start }

// next returns n octets, valid until the next call; n is at most the buffer.
func (r *reader) next(n int) ([]byte, error) {
	b, err := r.peek(n)
	r.start += len(b)
	return b, err
}

// peek returns n octets without consuming them.
func (r *reader) peek(n int) ([]byte, error) {
	if r.buffered() < n {
		if n > len(r.buf) {
			return nil, fmt.Errorf("found a message of %d octets, expected at most the buffer's %d", n, len(r.buf))
		}
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
		if r.idle == nil {
			k, err := io.ReadAtLeast(r.conn, r.buf[r.end:], n-r.end)
			r.end += k
			if err != nil {
				return nil, err
			}
		}
		for r.end < n {
			k, err := r.scatter.read(r.conn, r.space(n), nil, r.idle)
			r.end += k
			if err != nil {
				return nil, err
			}
		}
	}
	return r.buf[r.start : r.start+n], nil
}

// readOne calls idle and reads into a, or into b if a is empty.
func readOne(conn net.Conn, a, b []byte, idle func() error) (int, error) {
	if err := idle(); err != nil {
		return 0, err
	}
	if len(a) == 0 {
		a = b
	}
	return conn.Read(a)
}

// space returns the free part of the buffer to read into, for at least n octets in it.
func (r *reader) space(n int) []byte {
	to := len(r.buf)
	if r.ahead > 0 {
		to = min(to, max(n, r.end+r.ahead))
	}
	return r.buf[r.end:to]
}

// place fills p and returns the CRC of p and what precedes it, whose CRC is sum. The last read also
// takes what follows p.
func (r *reader) place(p []byte, sum uint32) (uint32, error) {
	for len(p) > 0 {
		n := copy(p, r.buf[r.start:r.end])
		r.start += n
		if n == 0 {
			r.start, r.end = 0, 0
			k, err := r.scatter.read(r.conn, p, r.space(0), r.idle)
			if err != nil {
				return 0, err
			}
			n = min(k, len(p))
			r.end = k - n
		}
		sum, p = crc.Update(sum, p[:n]), p[n:]
	}
	return sum, nil
}

// into fills p.
func (r *reader) into(p []byte) error {
	n := copy(p, r.buf[r.start:r.end])
	r.start += n
	_, err := io.ReadFull(r.conn, p[n:])
	return err
}

// small is the longest payload that is copied after its header, which is cheaper than an element of
// its own for writev.
const small = 4 << 10

// writer sends the frames that several goroutines queue. A goroutine that finds no other one
// writing writes all queued frames at once.
type writer struct {
	conn net.Conn

	mu     sync.Mutex
	queued *batch
	both   [2]batch // one is queued, the other is being written
	busy   bool
	err    error
}

func newWriter(conn net.Conn) *writer {
	w := &writer{conn: conn}
	w.queued = &w.both[0]
	return w
}

// batch is the data of one writev: octets of its own and, at each break between them, those of a
// caller.
type batch struct {
	own    []byte
	breaks []part
	lent   int // octets of callers
	iov    net.Buffers
	unsent net.Buffers // of iov; WriteTo consumes it
}

type part struct {
	at   int // in own
	body []byte
}

func (b *batch) add(body []byte) {
	if len(body) <= small {
		b.own = append(b.own, body...)
	} else {
		b.breaks = append(b.breaks, part{len(b.own), body})
		b.lent += len(body)
	}
}

func (b *batch) write(conn net.Conn) error {
	iov, from := b.iov[:0], 0
	for _, p := range b.breaks {
		iov, from = append(iov, b.own[from:p.at], p.body), p.at
	}
	b.iov = append(iov, b.own[from:])
	b.unsent = b.iov
	_, err := b.unsent.WriteTo(conn)
	clear(b.breaks)
	b.own, b.breaks, b.lent = b.own[:0], b.breaks[:0], 0
	return err
}

// queue runs add under the lock, so that the frames of one call stay together.
func (w *writer) queue(add func(*batch)) {
	w.mu.Lock()
	add(w.queued)
	w.mu.Unlock()
}

// flush sends the queued frames, unless another goroutine is writing. With yield it lets others
// queue theirs first.
func (w *writer) flush(yield bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return w.err
	}
	w.busy = true
	for len(w.queued.own) > 0 && w.err == nil {
		if yield {
			w.mu.Unlock()
			runtime.Gosched()
			w.mu.Lock()
		}
		b := w.queued
		if w.queued = &w.both[0]; b == w.queued {
			w.queued = &w.both[1]
		}
		w.mu.Unlock()
		err := b.write(w.conn)
		w.mu.Lock()
		w.err = err
	}
	w.busy = false
	if w.err != nil {
		w.conn.Close() // so that the reader fails the calls whose frames were queued
	}
	return w.err
}
