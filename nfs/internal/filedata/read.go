package filedata

import (
	"io"
	"sync"
	"sync/atomic"
)

// reading is one ReadAt. Where a part ends, its READ of the next block is submitted.
type reading struct {
	f      *File
	p      []byte
	off    int64
	got    []int        // bytes by block
	next   atomic.Int64 // the first block that has not begun
	stop   atomic.Bool  // no further block begins
	flying atomic.Int64 // parts in flight
	over   chan struct{}

	mu   sync.Mutex
	err  error   // the first one
	idle []*part // parts that are over
}

// ReadAt reads len(p) bytes from an offset, with several READs in flight. Over RDMA the server
// places them in p. The error is io.EOF if the file ends before. After an error no further READ
// begins, and ReadAt waits for those in flight.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.InRange("READ", off, int64(len(p))); err != nil {
		return 0, err
	}
	size := f.cfg.ReadSize
	if len(p) <= size {
		return f.readOne(p, off)
	}
	r := &reading{f: f, p: p, off: off, got: make([]int, (len(p)+size-1)/size), over: make(chan struct{})}
	parts := make([]*part, min(f.cfg.Depth, len(r.got)))
	for i := range parts {
		parts[i] = f.get(r)
	}
	r.flying.Store(int64(len(parts)))
	for _, x := range parts {
		r.begin(x)
	}
	<-r.over
	f.put(parts...)
	n := 0
	for _, g := range r.got {
		if n += g; g < size {
			break
		}
	}
	if r.err == nil && n < len(p) {
		return n, io.EOF
	}
	return n, r.err
}

// readOne is ReadAt with one READ after the other.
func (f *File) readOne(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, f.cfg.Ctx.Err()
	}
	x := f.get(nil)
	defer f.put(x)
	if x.run(Read, p, off); x.err == nil && x.n < len(p) {
		return x.n, io.EOF
	}
	return x.n, x.err
}

// begin begins the next block with a part, if there is one.
func (r *reading) begin(x *part) {
	size := int64(r.f.cfg.ReadSize)
	x.block = r.next.Add(1) - 1
	if at := x.block * size; at < int64(len(r.p)) && !r.stop.Load() {
		x.begin(Read, r.p[at:min(at+size, int64(len(r.p)))], r.off+at)
		return
	}
	if r.flying.Add(-1) == 0 {
		close(r.over)
	}
}

// ended implements receiver.
func (r *reading) ended(x *part) {
	if r.got[x.block] = x.n; x.err != nil || x.eof {
		r.stop.Store(true)
		r.mu.Lock()
		if r.err == nil {
			r.err = x.err
		}
		r.mu.Unlock()
	}
	r.begin(x)
}

// CopyTo writes n bytes from an offset of the file to w, in order, with several READs in flight. It
// returns the number of bytes written to w. The error is io.ErrUnexpectedEOF if the file ends
// before.
func (f *File) CopyTo(w io.Writer, off, n int64) (done int64, err error) {
	if err := f.InRange("READ", off, n); err != nil {
		return 0, err
	}
	back := make(queue, f.cfg.Depth)
	var line []*part // in flight, in the order of their bytes
	defer func() {   // no call uses memory after the return
		for _, x := range line {
			x.wait(back)
		}
		f.put(line...)
		f.forget()
	}()
	for at := int64(0); done < n; {
		for at < n && len(line) < f.cfg.Depth {
			size := min(int64(f.cfg.ReadSize), n-at)
			x := f.get(back)
			line = append(line, x)
			x.begin(Read, x.room(size), off+at)
			at += size
		}
		x := line[0]
		x.wait(back)
		put, failed := w.Write(x.buf[:x.n])
		done += int64(put)
		switch {
		case failed != nil:
			return done, failed
		case x.err != nil:
			return done, x.err
		case x.eof:
			return done, f.short(off + done)
		}
		line = line[1:]
		f.put(x)
	}
	return done, nil
}

// wait waits until a part is over, among others.
func (x *part) wait(back queue) {
	for !x.ended {
		(<-back).ended = true
	}
}
