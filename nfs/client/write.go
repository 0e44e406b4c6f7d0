package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
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
	verf    nfs3.WriteVerf
	any     bool
	changed bool
}

func (v *verifiers) add(verf nfs3.WriteVerf) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changed = v.changed || v.any && v.verf != verf
	v.verf, v.any = verf, true
}

// reset forgets the verifiers, and reports whether they were all the same.
func (v *verifiers) reset() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	same := !v.changed
	v.any, v.changed = false, false
	return same
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
	if f.c.noCommit.Load() {
		return f.write(e, nfs3.StableHowFileSync)
	}
	if err := f.write(e, nfs3.StableHowUnstable); err != nil {
		return err
	}
	f.kept = append(f.kept, e)
	f.size += e.n
	return nil
}

// commit commits the extents. If the server has restarted, it writes the data again (RFC 1813
// §3.3.21). If the server lacks COMMIT, it does the same, by WRITEs that store the data.
func (f *File) commit() error {
	for range rewrites {
		if len(f.kept) == 0 {
			return nil
		}
		args, res := nfs3.CommitArgs{File: f.handle}, nfs3.CommitRes{}
		err := f.c.do(f.ctx, "COMMIT", f.name, &res.Status, func() error { return f.c.nfs.CommitInto(f.ctx, &args, &res, nil) })
		if unsupported(err) {
			f.c.noCommit.Store(true)
			return f.rewrite(nfs3.StableHowFileSync)
		}
		if err != nil {
			return err
		}
		if f.seen.add(res.OK.Verf); f.seen.reset() {
			f.kept, f.size = nil, 0
			return nil
		}
		if err := f.rewrite(nfs3.StableHowUnstable); err != nil {
			return err
		}
	}
	return f.broken("COMMIT", "found another write verifier after each of %d attempts, expected a new one only after a restart (RFC 1813 §3.3.21)", rewrites)
}

// rewrite writes the extents again. After FILE_SYNC they are stored.
func (f *File) rewrite(how nfs3.StableHow) error {
	for _, e := range f.kept {
		if err := f.write(e, how); err != nil {
			return err
		}
	}
	if how == nfs3.StableHowFileSync {
		f.kept, f.size = nil, 0
		f.seen.reset()
	}
	return nil
}

// write writes an extent.
func (f *File) write(e extent, how nfs3.StableHow) error {
	bufs := make([][]byte, f.c.cfg.Depth)
	return f.each(e.n, f.c.wsize, func(ctx context.Context, worker int, at, n int64) error {
		if e.data != nil {
			return f.put(ctx, e.data[at:at+n], e.off+at, how)
		}
		if bufs[worker] == nil {
			bufs[worker] = make([]byte, f.c.wsize)
		}
		buf := bufs[worker][:n]
		if got, err := e.src.ReadAt(buf, e.off+at); got < len(buf) {
			return fmt.Errorf("WRITE %q: the source ends at byte %d of %d: %w", f.name, e.off+at+int64(got), e.off+e.n, err)
		}
		return f.put(ctx, buf, e.off+at, how)
	})
}

// put writes p in as many calls as it takes.
func (f *File) put(ctx context.Context, p []byte, off int64, how nfs3.StableHow) error {
	for len(p) > 0 {
		args := nfs3.WriteArgs{File: f.handle, Offset: nfs3.Offset(off), Count: nfs3.Count(len(p)), Stable: how, Data: p}
		var res nfs3.WriteRes
		if err := f.c.do(ctx, "WRITE", f.name, &res.Status, func() error { return f.c.nfs.WriteInto(ctx, &args, &res, nil) }); err != nil {
			return err
		}
		ok := &res.OK
		if ok.Count == 0 || int64(ok.Count) > int64(len(p)) {
			return f.broken("WRITE", "found count %d, expected 1 to %d, the bytes sent (RFC 1813 §3.3.7)", ok.Count, len(p))
		}
		if ok.Committed < how {
			return f.broken("WRITE", "found committed %v, expected %v, as the call asked for (RFC 1813 §3.3.7)", ok.Committed, how)
		}
		f.seen.add(ok.Verf)
		p, off = p[ok.Count:], off+int64(ok.Count)
	}
	return nil
}
