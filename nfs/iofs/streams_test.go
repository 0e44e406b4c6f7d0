package iofs_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// stream has files that can only be read from the beginning.
type stream struct {
	fs.FS
	wrap func(fs.File) fs.File
}

type plain struct{ fs.File }

func (s stream) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if d, ok := f.(fs.ReadDirFile); ok {
		return d, nil
	}
	return s.wrap(plain{f}), nil
}

func openNamed(t *testing.T, r *iofs.FS, name string) vfs.File {
	t.Helper()
	root, _, err := r.Root()
	check(t, err)
	n, _, err := root.Lookup(name)
	check(t, err)
	f, err := n.Open(vfs.Read)
	check(t, err)
	t.Cleanup(func() { check(t, f.Close()) })
	return f
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Data that was dropped from the cache is not kept elsewhere.
func TestDroppedDataIsFreed(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 129 {
		files["small"+strconv.Itoa(i)] = &fstest.MapFile{Data: []byte("x"), Mode: 0o444}
	}
	one := make([]byte, 1<<20)
	for i := range 20 {
		files["big"+strconv.Itoa(i)] = &fstest.MapFile{Data: one, Mode: 0o444}
	}
	r, err := iofs.New(stream{files, func(f fs.File) fs.File { return f }}, iofs.Config{Cache: 1 << 20})
	check(t, err)
	b := make([]byte, 1)
	for i := range 129 {
		_, err := openNamed(t, r, "small"+strconv.Itoa(i)).ReadAt(b, 0)
		check(t, err)
	}
	before := heap()
	for i := range 20 {
		_, err := openNamed(t, r, "big"+strconv.Itoa(i)).ReadAt(b, 0)
		check(t, err)
	}
	if got := int64(heap() - before); got > 4<<20 {
		t.Errorf("%d MiB stay in memory, Cache is 1 MiB", got>>20)
	}
	runtime.KeepAlive(r)
}

// gate counts the files that are being read.
type gate struct {
	fs.File
	state *gateState
	in    *bool
}

type gateState struct {
	mu       sync.Mutex
	now, top int
}

func (g gate) Read(p []byte) (int, error) {
	g.state.mu.Lock()
	defer g.state.mu.Unlock()
	if !*g.in {
		*g.in = true
		g.state.now++
		g.state.top = max(g.state.top, g.state.now)
	}
	defer runtime.Gosched() // the others begin
	return g.File.Read(p[:min(len(p), 4096)])
}

func (g gate) Close() error {
	g.state.mu.Lock()
	defer g.state.mu.Unlock()
	if *g.in {
		g.state.now--
	}
	return g.File.Close()
}

// Files that are being read at the same time take no more memory than Cache.
func TestFilesThatAreBeingReadHaveALimit(t *testing.T) {
	const n = 8
	files := fstest.MapFS{}
	for i := range n {
		files["big"+strconv.Itoa(i)] = &fstest.MapFile{Data: make([]byte, 1<<20), Mode: 0o444}
	}
	var state gateState
	r, err := iofs.New(stream{files, func(f fs.File) fs.File { return gate{f, &state, new(bool)} }}, iofs.Config{Cache: 2 << 20})
	check(t, err)
	var all sync.WaitGroup
	for i := range n {
		f := openNamed(t, r, "big"+strconv.Itoa(i))
		all.Go(func() {
			if _, err := f.ReadAt(make([]byte, 10), 5); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if state.top > 2 {
		t.Errorf("%d files, each half as large as Cache, were read at once", state.top)
	}
}

// A file that cannot be read gives its memory back.
func TestFailedReadGivesMemoryBack(t *testing.T) {
	files := fstest.MapFS{"a": {Data: make([]byte, 600), Mode: 0o444}, "b": {Data: make([]byte, 600), Mode: 0o444}}
	fail := true
	wrap := func(f fs.File) fs.File {
		if fail {
			return failing{f}
		}
		return f
	}
	r, err := iofs.New(stream{files, wrap}, iofs.Config{Cache: 1000})
	check(t, err)
	f := openNamed(t, r, "a")
	if _, err := f.ReadAt(make([]byte, 10), 0); err != io.ErrNoProgress {
		t.Errorf("a file that cannot be read: %v", err)
	}
	fail = false
	for _, name := range []string{"a", "b", "a"} {
		f, read := openNamed(t, r, name), make(chan error, 1)
		go func() {
			_, err := f.ReadAt(make([]byte, 600), 0)
			read <- err
		}()
		select {
		case err := <-read:
			check(t, err)
		case <-time.After(20 * time.Second):
			t.Fatalf("reading %s waits for memory", name)
		}
	}
}

// A file that has become empty is an error, not one that ends: kept or not.
func TestEmptiedFileIsAnError(t *testing.T) {
	files := fstest.MapFS{"a": {Data: make([]byte, 600), Mode: 0o444}}
	for name, cfg := range map[string]iofs.Config{"kept": {}, "larger than the cache": {Cache: 4}} {
		r, err := iofs.New(stream{files, func(f fs.File) fs.File { return empty{f} }}, cfg)
		check(t, err)
		for _, off := range []int64{0, 300} {
			if n, err := openNamed(t, r, "a").ReadAt(make([]byte, 10), off); n != 0 || err != io.ErrUnexpectedEOF {
				t.Errorf("%s, offset %d: %d bytes, %v", name, off, n, err)
			}
		}
	}
}

type empty struct{ fs.File }

func (empty) Read([]byte) (int, error) { return 0, io.EOF }

// stuck fails its reads when a channel is closed.
type stuck struct {
	fs.File
	until chan struct{}
}

func (s stuck) Read([]byte) (int, error) {
	<-s.until
	return 0, io.ErrNoProgress
}

// A READ that waits for memory gets it when another READ fails.
func TestFailedReadWakesThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"a": {Data: make([]byte, 600), Mode: 0o444}, "b": {Data: make([]byte, 601), Mode: 0o444}}
		until := make(chan struct{})
		r, err := iofs.New(stream{files, func(f fs.File) fs.File {
			if info, err := f.Stat(); err == nil && info.Size() == 600 {
				return stuck{f, until}
			}
			return f
		}}, iofs.Config{Cache: 1000})
		check(t, err)
		read := func(name string) chan error {
			f, over := openNamed(t, r, name), make(chan error, 1)
			go func() {
				_, err := f.ReadAt(make([]byte, 600), 0)
				over <- err
			}()
			synctest.Wait()
			return over
		}
		a, b := read("a"), read("b")
		if len(a)+len(b) > 0 {
			t.Fatal("a file is read beyond the memory of Cache")
		}
		close(until)
		synctest.Wait()
		if len(b) == 0 {
			t.Fatal("the other READ waits still")
		}
		check(t, <-b)
		if err := <-a; err != io.ErrNoProgress {
			t.Error(err)
		}
	})
}

type failing struct{ fs.File }

func (failing) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// wrongSum returns a zip file whose only file does not have its checksum.
func wrongSum(t *testing.T) fs.FS {
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "file", Method: zip.Store})
	check(t, err)
	_, err = io.WriteString(f, "hello world")
	check(t, err)
	check(t, w.Close())
	b := text.Bytes()
	b[bytes.Index(b, []byte("hello world"))] = 'J'
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	check(t, err)
	return r
}

// Data that does not have its checksum is an error, also where the file is larger than the cache.
func TestWrongChecksum(t *testing.T) {
	for name, cfg := range map[string]iofs.Config{"kept": {}, "larger than the cache": {Cache: 4}} {
		t.Run(name, func(t *testing.T) {
			z, err := iofs.New(wrongSum(t), cfg)
			check(t, err)
			f := openNamed(t, z, "file")
			for _, length := range []int{11, 20} {
				if _, err := f.ReadAt(make([]byte, length), 0); err != zip.ErrChecksum {
					t.Errorf("%d bytes from the beginning: %v", length, err)
				}
			}
		})
	}
}

// sizedInfo says another size than a file has.
type sizedInfo struct {
	fs.FileInfo
	by int64
}

func (s sizedInfo) Size() int64 { return s.FileInfo.Size() + s.by }

type sizedFS struct {
	fstest.MapFS
	by int64
}

func (s sizedFS) Open(name string) (fs.File, error) {
	return stream{s.MapFS, func(f fs.File) fs.File { return f }}.Open(name)
}

func (s sizedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := s.MapFS.ReadDir(name)
	for i, e := range list {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list[i] = fs.FileInfoToDirEntry(sizedInfo{info, s.by})
	}
	return list, err
}

// A file that is shorter or longer than its size says is an error, and not a short read: a client
// would read on without end.
func TestWrongSize(t *testing.T) {
	for _, by := range []int64{-1, 1, 11} {
		for _, most := range []int64{0, 4} {
			r, err := iofs.New(sizedFS{fstest.MapFS{"file": {Data: []byte("hello world"), Mode: 0o444}}, by}, iofs.Config{Cache: most})
			check(t, err)
			f := openNamed(t, r, "file")
			if n, err := f.ReadAt(make([]byte, 11+by), 0); err == nil || err == io.EOF {
				t.Errorf("size %d, cache of %d: read %d bytes, %v", 11+by, most, n, err)
			}
		}
	}
}
