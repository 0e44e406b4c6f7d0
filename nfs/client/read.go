package client

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// readHead is the largest size of a READ's reply without the data: RPC header, status, attributes,
// count, eof, length and padding.
const readHead = rpc.ReplyHead + 4 + 4 + nfs3.AttrFixedSize + 4 + 4 + 4 + 3

// ReadAt reads len(p) bytes from an offset, with several READs in flight. The server places them in
// p by RDMA. The error is io.EOF if the file ends before.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.inRange("READ", off, int64(len(p))); err != nil {
		return 0, err
	}
	got := make([]int, len(p)/f.c.rsize+1)
	err := f.each(int64(len(p)), f.c.rsize, func(ctx context.Context, _ int, at, n int64) error {
		i := at / int64(f.c.rsize)
		var err error
		if got[i], err = f.fill(ctx, p[at:at+n], off+at); err == io.EOF {
			err = nil
		}
		return err
	})
	n := 0
	for _, g := range got {
		if n += g; g < f.c.rsize {
			break
		}
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// CopyTo writes n bytes from an offset of the file to w, in order, with several READs in flight. It
// returns the number of bytes written to w. The error is io.ErrUnexpectedEOF if the file ends
// before.
func (f *File) CopyTo(w io.Writer, off, n int64) (done int64, err error) {
	if err := f.inRange("READ", off, n); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(f.ctx)
	type block struct {
		buf   []byte
		n     int
		err   error
		ready chan struct{}
	}
	queue := make(chan *block, f.c.cfg.Depth)
	free := make(chan []byte, f.c.cfg.Depth)
	for range f.c.cfg.Depth {
		free <- nil // made when it is needed
	}
	go func() {
		defer close(queue)
		for at := int64(0); at < n; at += int64(f.c.rsize) {
			var b block
			select {
			case b.buf = <-free:
			case <-ctx.Done():
				return
			}
			size := int(min(int64(f.c.rsize), n-at))
			b.buf, b.ready = slices.Grow(b.buf[:0], size)[:size], make(chan struct{})
			queue <- &b
			go func() {
				defer close(b.ready)
				b.n, b.err = f.fill(ctx, b.buf, off+at)
			}()
		}
	}()
	defer func() { // no call uses a buffer after the return
		cancel()
		for b := range queue {
			<-b.ready
		}
	}()
	for b := range queue {
		<-b.ready
		n, err := w.Write(b.buf[:b.n])
		done += int64(n)
		switch {
		case err != nil:
			return done, err
		case b.err == io.EOF:
			return done, fmt.Errorf("READ %q: the file ends at byte %d: %w", f.name, off+done, io.ErrUnexpectedEOF)
		case b.err != nil:
			return done, b.err
		}
		free <- b.buf
	}
	if done < n {
		return done, context.Cause(ctx)
	}
	return done, nil
}

// fill reads len(p) bytes in as many calls as it takes. The error is io.EOF if the file ends
// before.
func (f *File) fill(ctx context.Context, p []byte, off int64) (n int, err error) {
	reply := f.c.replies.get(len(p))
	defer f.c.replies.put(reply)
	for n < len(p) {
		var res nfs3.ReadRes
		rest := p[n:]
		args := nfs3.ReadArgs{File: f.handle, Offset: nfs3.Offset(off) + nfs3.Offset(n), Count: nfs3.Count(len(rest))}
		if err := f.c.do(ctx, "READ", f.name, &res.Status, func() error {
			return f.c.nfs.ReadInto(ctx, &args, &res, &rpc.Options{Results: [][]byte{rest}, ReplyBuf: reply})
		}); err != nil {
			return n, err
		}
		got := len(res.OK.Data)
		attr := &res.OK.FileAttributes
		end := uint64(off) + uint64(n) + uint64(got)
		switch {
		case got > len(rest) || got != int(res.OK.Count):
			return n, f.broken("READ", "found %d bytes and count %d, expected at most the %d asked for (RFC 1813 §3.3.6)", got, res.OK.Count, len(rest))
		case got == 0 && !res.OK.EOF:
			return n, f.broken("READ", "found no data before the end of the file, expected at least one byte (RFC 1813 §3.3.6)")
		case got == 0 && attr.AttributesFollow && end < uint64(attr.Attributes.Size):
			return n, f.broken("READ", "found the end of the file at byte %d of %d (RFC 1813 §3.3.6)", end, attr.Attributes.Size)
		case got == 0:
			return n, io.EOF
		}
		if &res.OK.Data[0] != &rest[0] { // not by RDMA
			copy(rest, res.OK.Data)
		}
		n += got
	}
	return n, nil
}

func (f *File) broken(op, rule string, args ...any) error {
	return &ProtocolError{Op: op, Name: f.name, Rule: fmt.Sprintf(rule, args...)}
}

// inRange returns an error unless off and n are a valid range of bytes.
func (f *File) inRange(op string, off, n int64) error {
	if off < 0 || n < 0 || off > math.MaxInt64-n {
		return fmt.Errorf("%s %q: found offset %d and %d bytes, expected a range from 0 to 2^63-1", op, f.name, off, n)
	}
	return nil
}

// replies has memory for the replies of READs, for a carrier that does not place data in Results:
// without it each reply would take fresh memory, and the garbage collector more time than the copy.
type replies struct {
	use  bool
	pool sync.Pool // of *[]byte
}

// get returns memory for a reply with n bytes of data, or nil if the carrier needs none.
func (r *replies) get(n int) []byte {
	if !r.use {
		return nil
	}
	if b, ok := r.pool.Get().(*[]byte); ok && len(*b) >= n+readHead {
		return *b
	}
	return make([]byte, n+readHead)
}

// put takes the memory back.
func (r *replies) put(b []byte) {
	if b != nil {
		r.pool.Put(&b)
	}
}
