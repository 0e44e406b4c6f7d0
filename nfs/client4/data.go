package client4

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// rewrites is the number of times that data are written again because the server has restarted.
const rewrites = 16

// extent is a range of the file that was written and is not committed.
type extent struct {
	off, n int64
	data   []byte      // or nil:
	src    io.ReaderAt // has the data at the same offset
}

// verifiers compares the verifiers of the replies since the last COMMIT.
type verifiers struct {
	mu      sync.Mutex
	verf    nfs42.Verifier
	any     bool
	changed bool
}

func (v *verifiers) add(verf nfs42.Verifier) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changed = v.changed || v.any && v.verf != verf
	v.verf, v.any = verf, true
}

// lose makes the next reset report that data are lost.
func (v *verifiers) lose() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changed = true
}

// reset forgets the verifiers, and reports whether they were all the same.
func (v *verifiers) reset() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	same := !v.changed
	v.any, v.changed = false, false
	return same
}

// each calls do for each part of n bytes, with Config.Depth calls in flight. After an error it
// begins no further one.
func (f *File) each(n int64, do func(ctx context.Context, at, n int64) error) error {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	size := int64(f.chunk)
	for range min(int64(f.c.cfg.Depth), (n+size-1)/size) {
		wg.Go(func() {
			for {
				at := (next.Add(1) - 1) * size
				if at >= n || ctx.Err() != nil {
					return
				}
				if err := do(ctx, at, min(size, n-at)); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// ReadAt reads len(p) bytes from an offset, with several READs in flight. Over RDMA the server
// places them in p. The error is io.EOF if the file ends before.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.inRange("READ", off, int64(len(p))); err != nil {
		return 0, err
	}
	got := make([]int, len(p)/f.chunk+1)
	err := f.each(int64(len(p)), func(ctx context.Context, at, n int64) (err error) {
		got[at/int64(f.chunk)], err = f.fill(ctx, p[at:at+n], off+at)
		return err
	})
	n := 0
	for _, g := range got {
		if n += g; g < f.chunk {
			break
		}
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// fill reads len(p) bytes, or up to the end of the file, in as many calls as it takes.
func (f *File) fill(ctx context.Context, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		rest := p[n:]
		var res *nfs42.ReadRes
		if err := f.with(ctx, "READ", func(cmp *nfs4.Compound, id nfs42.StateID) {
			res = cmp.Read(&nfs42.ReadArgs{StateID: id, Offset: nfs42.Offset(off) + nfs42.Offset(n), Count: nfs42.Count(len(rest))})
			cmp.Results = [][]byte{rest}
		}); err != nil {
			return n, err
		}
		got := len(res.OK.Data)
		switch {
		case got > len(rest):
			return n, f.broken("READ", "%d bytes, expected at most the %d asked for (RFC 8881 §18.22.3)", got, len(rest))
		case got == 0 && !res.OK.EOF:
			return n, f.broken("READ", "no data before the end of the file, expected at least one byte (RFC 8881 §18.22.3)")
		case got > 0 && &res.OK.Data[0] != &rest[0]:
			copy(rest, res.OK.Data)
		}
		if n += got; res.OK.EOF {
			return n, nil
		}
	}
	return n, nil
}

// CopyTo writes n bytes from an offset of the file to w, in order, with several READs in flight. It
// returns the number of bytes written to w. The error is io.ErrUnexpectedEOF if the file ends
// before.
func (f *File) CopyTo(w io.Writer, off, n int64) (done int64, err error) {
	if err := f.inRange("READ", off, n); err != nil {
		return 0, err
	}
	buf := make([]byte, min(n, int64(f.chunk)*int64(f.c.cfg.Depth)))
	for done < n {
		part := buf[:min(int64(len(buf)), n-done)]
		got, err := f.ReadAt(part, off+done)
		put, failed := w.Write(part[:got])
		done += int64(put)
		switch {
		case failed != nil:
			return done, failed
		case err == io.EOF:
			return done, fmt.Errorf("READ %q: the file ends at byte %d: %w", f.name, off+done, io.ErrUnexpectedEOF)
		case err != nil:
			return done, err
		}
	}
	return done, nil
}

// WriteAt writes p at an offset, with several WRITEs in flight. The data may be lost with the
// server until Sync or Close has returned. Until then the File keeps a copy, of Config.Window bytes
// at most.
func (f *File) WriteAt(p []byte, off int64) (n int, err error) {
	if err := f.inRange("WRITE", off, int64(len(p))); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(p) {
		part := p[n:min(n+f.c.cfg.Window, len(p))]
		if err := f.push(extent{off: off + int64(n), n: int64(len(part)), data: bytes.Clone(part)}); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// CopyFrom writes n bytes from an offset of src to the same offset of the file, with several
// WRITEs in flight, and commits them. src is read again if the server has restarted, so the bytes
// must not change. If stored is not nil, it is called after each COMMIT with the offset up to which
// the data are stored.
func (f *File) CopyFrom(src io.ReaderAt, off, n int64, stored func(upTo int64) error) error {
	if err := f.inRange("WRITE", off, n); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for end := off + n; off < end; {
		e := extent{off: off, n: min(int64(f.c.cfg.Window), end-off), src: src}
		if err := f.push(e); err != nil {
			return err
		}
		if err := f.commit(); err != nil {
			return err
		}
		off += e.n
		if stored == nil {
			continue
		}
		if err := stored(off); err != nil {
			return err
		}
	}
	return nil
}

// Sync waits until the written data are stored.
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commit()
}

// push writes an extent, and commits if as much was written as the File keeps.
func (f *File) push(e extent) error {
	if f.size > 0 && f.size+e.n > int64(f.c.cfg.Window) {
		if err := f.commit(); err != nil {
			return err
		}
	}
	f.kept = append(f.kept, e)
	f.size += e.n
	return f.write(e)
}

// commit commits the extents. If the server has restarted, it writes the data again (RFC 8881
// §18.3.3).
func (f *File) commit() error {
	for range rewrites {
		if len(f.kept) == 0 {
			return nil
		}
		var res *nfs42.CommitRes
		if err := f.with(f.ctx, "COMMIT", func(cmp *nfs4.Compound, _ nfs42.StateID) { res = cmp.Commit(0, 0) }); err != nil {
			return err
		}
		if f.seen.add(res.OK.WriteVerf); f.seen.reset() {
			f.kept, f.size = nil, 0
			return nil
		}
		for _, e := range f.kept {
			if err := f.write(e); err != nil {
				f.seen.lose() // the rest of the data
				return err
			}
		}
	}
	f.seen.lose()
	return f.broken("COMMIT", "another write verifier after each of %d attempts, expected a new one only after a restart (RFC 8881 §18.3.3)", rewrites)
}

// write writes an extent.
func (f *File) write(e extent) error {
	return f.each(e.n, func(ctx context.Context, at, n int64) error {
		if e.data != nil {
			return f.put(ctx, e.data[at:at+n], e.off+at)
		}
		buf := make([]byte, n)
		if got, err := e.src.ReadAt(buf, e.off+at); got < len(buf) {
			return fmt.Errorf("WRITE %q: the source ends at byte %d of %d: %w", f.name, e.off+at+int64(got), e.off+e.n, err)
		}
		return f.put(ctx, buf, e.off+at)
	})
}

// put writes p in as many calls as it takes.
func (f *File) put(ctx context.Context, p []byte, off int64) error {
	for len(p) > 0 {
		var res *nfs42.WriteRes
		if err := f.with(ctx, "WRITE", func(cmp *nfs4.Compound, id nfs42.StateID) {
			res = cmp.Write(&nfs42.WriteArgs{StateID: id, Offset: nfs42.Offset(off), Stable: nfs42.StableHowUnstable, Data: p})
		}); err != nil {
			return err
		}
		n := int64(res.OK.Count)
		if n == 0 || n > int64(len(p)) {
			return f.broken("WRITE", "count %d, expected 1 to %d, the bytes sent (RFC 8881 §18.32.3)", n, len(p))
		}
		f.seen.add(res.OK.WriteVerf)
		p, off = p[n:], off+n
	}
	return nil
}
