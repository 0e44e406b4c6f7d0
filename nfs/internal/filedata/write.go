package filedata

import (
	"bytes"
	"fmt"
	"io"
	"sync"
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
	verf    Verifier
	any     bool
	changed bool
}

func (v *verifiers) add(verf Verifier) {
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

// WriteAt writes p at an offset, with several WRITEs in flight. The data may be lost with the
// server until Sync has returned. Until then the File keeps a copy, of Config.Window bytes at most.
func (f *File) WriteAt(p []byte, off int64) (n int, err error) {
	if err := f.InRange("WRITE", off, int64(len(p))); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(p) {
		part := p[n:min(n+f.cfg.Window, len(p))]
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
	if err := f.InRange("WRITE", off, n); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.forget()
	for end := off + n; off < end; {
		e := extent{off: off, n: min(int64(f.cfg.Window), end-off), src: src}
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
func (f *File) Sync() error { return f.After(nil) }

// After stores the written data, and calls then, unless it is nil, before others are written.
func (f *File) After(then func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.commit(); err != nil || then == nil {
		return err
	}
	return then()
}

// push writes an extent, and commits if as much was written as the File keeps.
func (f *File) push(e extent) error {
	if f.size > 0 && f.size+e.n > int64(f.cfg.Window) {
		if err := f.commit(); err != nil {
			return err
		}
	}
	if f.cfg.NoCommit.Load() {
		return f.write(e, Stored)
	}
	f.kept = append(f.kept, e)
	f.size += e.n
	return f.write(e, Write)
}

// commit commits the extents. If the server has restarted, it writes the data again (RFC 1813
// §3.3.21, RFC 8881 §18.3.3). If the server lacks COMMIT, it does the same, by WRITEs that store
// the data.
func (f *File) commit() error {
	for range rewrites {
		if len(f.kept) == 0 {
			return nil
		}
		verf, err := f.cfg.Calls.Commit()
		if unsupported(err) {
			f.cfg.NoCommit.Store(true)
			return f.rewrite(Stored)
		}
		if err != nil {
			return err
		}
		if f.seen.add(verf); f.seen.reset() {
			f.kept, f.size = nil, 0
			return nil
		}
		if err := f.rewrite(Write); err != nil {
			f.seen.lose() // the rest of the data
			return err
		}
	}
	f.seen.lose()
	return f.cfg.Calls.Broken("COMMIT", fmt.Sprintf("another write verifier after each of %d attempts, expected a new one only after a restart", rewrites))
}

// rewrite writes the extents again. After Stored they are not kept.
func (f *File) rewrite(op Op) error {
	for _, e := range f.kept {
		if err := f.write(e, op); err != nil {
			return err
		}
	}
	if op == Stored {
		f.kept, f.size = nil, 0
		f.seen.reset()
	}
	return nil
}

// write writes an extent. The caller's goroutine reads the source, and submits a WRITE for each one
// that is over. After an error no further one begins.
func (f *File) write(e extent, op Op) (err error) {
	size := int64(f.cfg.WriteSize)
	if e.data != nil && e.n <= size {
		x := f.get(nil)
		defer f.put(x)
		x.run(op, e.data, e.off)
		return x.err
	}
	back := make(queue, f.cfg.Depth)
	flying := 0
	for at := int64(0); ; {
		if err == nil && at < e.n && flying < f.cfg.Depth {
			x := f.get(back)
			var p []byte
			if p, err = e.bytes(f, x, at, min(size, e.n-at)); err != nil {
				f.put(x)
				continue
			}
			flying++
			x.begin(op, p, e.off+at)
			at += int64(len(p))
			continue
		}
		if flying == 0 {
			return err
		}
		x := <-back
		flying--
		if err == nil {
			err = x.err
		}
		f.put(x)
	}
}

// bytes returns n bytes of an extent, in memory of the part if they come from its source.
func (e *extent) bytes(f *File, x *part, at, n int64) ([]byte, error) {
	if e.data != nil {
		return e.data[at : at+n], nil
	}
	buf := x.room(n)
	if got, err := e.src.ReadAt(buf, e.off+at); got < len(buf) {
		return nil, fmt.Errorf("WRITE %q: the source ends at byte %d of %d: %w", f.cfg.Name, e.off+at+int64(got), e.off+e.n, err)
	}
	return buf, nil
}
