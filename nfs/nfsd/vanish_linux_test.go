package nfsd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/fsx"
	"github.com/rpcrdma/rpcrdma/nfs/fsx/fsxtest"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
)

// disk keeps what the server has synced: the data of files and the names in directories, by inode
// number.
type disk struct {
	mu       sync.Mutex
	files    map[uint64][]byte
	dirs     map[uint64][]string
	vanished int // bytes that power cuts have changed
}

func inode(fi fs.FileInfo) uint64 { return fi.Sys().(*syscall.Stat_t).Ino }

func (d *disk) sync(f nfsd.OSFile) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	own := fmt.Sprintf("/proc/self/fd/%d", f.Fd()) // whatever its name is by now
	if fi.IsDir() {
		d.dirs[inode(fi)], err = names(own)
	} else {
		d.files[inode(fi)], err = os.ReadFile(own)
	}
	return err
}

func names(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// powerCut gives all files the data of the last sync. It returns an error if names have changed
// since.
func (d *disk) powerCut(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lost []error
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if now, err := names(path); err != nil || !slices.Equal(now, d.dirs[inode(fi)]) {
				lost = append(lost, fmt.Errorf("%s has %q, the disk has %q, %v", path, now, d.dirs[inode(fi)], err))
			}
			return nil
		}
		data, err := os.ReadFile(path)
		if old := d.files[inode(fi)]; err == nil && !bytes.Equal(data, old) {
			d.vanished++
			err = os.WriteFile(path, old, 0)
		}
		return err
	})
	return errors.Join(append(lost, err)...)
}

// crashing is a server whose power is cut between two calls, now and then.
type crashing struct {
	t    *testing.T
	e    *export
	disk *disk

	mu      sync.RWMutex // locked for writing while there is no server
	handler oncrpc.Handler
	next    sync.Mutex // guards rnd, left, cuts and lost
	rnd     *rand.Rand
	left    int // calls to the next cut
	cuts    int
	lost    error // names
}

func newCrashing(t *testing.T, e *export, seed uint64) *crashing {
	d := &disk{files: map[uint64][]byte{}, dirs: map[uint64][]string{}}
	c := &crashing{t: t, e: e, disk: d, rnd: rand.New(rand.NewPCG(seed, 0)), left: 100}
	e.server.SetSync(d.sync)
	c.handler = e.server.Handler()
	return c
}

func (c *crashing) ServeRPC(r *oncrpc.Request) {
	c.next.Lock()
	if c.left--; c.left == 0 {
		c.left = 50 + c.rnd.IntN(300)
		c.cut()
	}
	c.next.Unlock()
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.handler.ServeRPC(r)
}

// cut stops the server, loses all data that are not stored, and starts the server again.
func (c *crashing) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
	c.lost = errors.Join(c.lost, c.e.server.Close(), c.disk.powerCut(c.e.dir))
	server, err := nfsd.New(c.e.cfg)
	if err != nil {
		c.t.Error(err)
		return
	}
	server.SetSync(c.disk.sync)
	c.e.server, c.handler = server, server.Handler()
}

// crash runs random operations while the power of the server is cut.
func crash(t *testing.T, cfg nfsd.Config, seed uint64, n int) (*crashing, error) {
	e := newExport(t, cfg)
	c := newCrashing(t, e, seed)
	conn := mem.New(c, nil)
	defer conn.Close()
	run := steps(seed, n)
	// The client has no cache: after a crash it reads its own data only when it has synced them. So
	// only Compare reads, and Append is not used, because it asks for the size.
	run.Only = []fsx.Op{fsx.Write, fsx.Truncate, fsx.Sync, fsx.Reopen, fsx.Rename, fsx.Link, fsx.Remove, fsx.Compare}
	run.MaxFile = 64 << 10
	err := fsx.Run(t.Context(), fsxtest.FS(t.Context(), newClient(t, e, conn)), run)
	return c, errors.Join(err, c.lost)
}

// A power cut takes all data that are not synced. The client sends them again when the verifier
// has changed, and finds all that the server has promised (RFC 1813 §4.8). A server that replies
// before it syncs does not pass.
func TestPowerCut(t *testing.T) {
	c, err := crash(t, nfsd.Config{}, 1, 3000)
	check(t, err)
	if !testing.Short() && (c.cuts < 5 || c.disk.vanished < 5) {
		t.Errorf("%d cuts, %d files have lost data", c.cuts, c.disk.vanished)
	}
	if testing.Short() {
		return
	}
	if _, err := crash(t, nfsd.Config{Async: true}, 1, 3000); err == nil {
		t.Error("the crashes of a server that syncs late were not found")
	}
}

// WRITEs of each kind are where the replies say: stable ones are stored, and all of them after
// COMMIT, unless the verifier has changed.
func TestPromises(t *testing.T) {
	t.Run("sync", func(t *testing.T) {
		if broken := promises(t, nfsd.Config{}); broken > 0 {
			t.Errorf("%d bytes that were promised are lost", broken)
		}
	})
	t.Run("async", func(t *testing.T) { // canary
		if broken := promises(t, nfsd.Config{Async: true}); broken == 0 {
			t.Error("no byte is lost with Config.Async")
		}
	})
}

func promises(t *testing.T, cfg nfsd.Config) (broken int) {
	e := newExport(t, cfg)
	c := newCrashing(t, e, 0)
	c.left = -1
	conn := mem.New(c, nil)
	defer conn.Close()
	cl := clientOver(t, conn, auth(t, 1000, 1000))
	h, code := cl.create(t, cl.root, "file")
	want(t, "CREATE", code, nfs3.StatusOK)
	const size = 100_000
	written, promised := make([]byte, size), make([]byte, size)
	loose := make([]bool, size) // written and not promised
	want(t, "SETATTR", cl.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: size}}), nfs3.StatusOK)
	var verf nfs3.WriteVerf
	rnd := rand.New(rand.NewPCG(1, 0))
	for step := range 400 {
		switch op := rnd.IntN(20); {
		case op < 15:
			off := rnd.IntN(size)
			data := pattern(byte(step), rnd.IntN(min(size-off, 20_000)+1))
			res := cl.write(t, h, uint64(off), data, nfs3.StableHow(rnd.IntN(3)))
			want(t, "WRITE", res.Status, nfs3.StatusOK)
			verf = res.OK.Verf
			copy(written[off:], data)
			for i := range data {
				if loose[off+i] = res.OK.Committed == nfs3.StableHowUnstable; !loose[off+i] {
					promised[off+i] = data[i]
				}
			}
		case op < 17:
			res, err := cl.Commit(t.Context(), &nfs3.CommitArgs{File: h})
			check(t, err)
			if want(t, "COMMIT", res.Status, nfs3.StatusOK); res.OK.Verf == verf {
				copy(promised, written)
				clear(loose)
			}
		case op == 17:
			c.cut()
			got := cl.read(t, h, 0, size)
			if want(t, "READ", got.Status, nfs3.StatusOK); len(got.OK.Data) != size {
				return size
			}
			for i, b := range got.OK.Data {
				if !loose[i] && b != promised[i] {
					broken++
				}
			}
			copy(written, got.OK.Data)
			copy(promised, got.OK.Data)
			clear(loose) // the server has nothing else
			verf = nfs3.WriteVerf{}
		}
	}
	if c.cuts < 5 || c.disk.vanished < 5 {
		t.Errorf("%d cuts, %d of them have lost data", c.cuts, c.disk.vanished)
	}
	check(t, c.lost)
	return broken
}

// A failure to sync fails the call and changes the verifier. A COMMIT that comes before the reply
// must get the new verifier, too, because the system does not report the failure to it again.
func TestFailingSync(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	c := e.client(t, auth(t, 1000, 1000))
	h, code := c.create(t, c.root, "file")
	want(t, "CREATE", code, nfs3.StatusOK)
	before := c.write(t, h, 0, []byte("data"), nfs3.StableHowUnstable).OK.Verf
	commit := func() *nfs3.CommitRes {
		res, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: h})
		check(t, err)
		return res
	}
	for _, how := range []nfs3.StableHow{nfs3.StableHowDataSync, nfs3.StableHowFileSync} {
		e.server.SetSync(func(nfsd.OSFile) error { return syscall.EIO })
		want(t, "WRITE", c.write(t, h, 0, []byte("data"), how).Status, nfs3.StatusIO)
		_, code = c.create(t, c.root, fmt.Sprint("other", how))
		want(t, "CREATE", code, nfs3.StatusIO)
		want(t, "SETATTR", c.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}), nfs3.StatusIO)
		want(t, "RENAME", c.rename(t, c.root, "file", c.root, "file2"), nfs3.StatusIO)
		want(t, "RENAME", c.rename(t, c.root, "file2", c.root, "file"), nfs3.StatusIO)
		want(t, "COMMIT", commit().Status, nfs3.StatusIO)
		e.server.SetSync(nfsd.OSFile.Sync)
		res := commit()
		if want(t, "COMMIT", res.Status, nfs3.StatusOK); res.OK.Verf == before {
			t.Error("the verifier has not changed")
		}
		before = res.OK.Verf
	}

	// The second COMMIT begins while the first one fails.
	second := make(chan *nfs3.CommitRes, 1)
	var failed atomic.Bool
	e.server.SetSync(func(nfsd.OSFile) error {
		if failed.Swap(true) {
			return nil
		}
		go func() { second <- commit() }()
		select {
		case res := <-second: // too early
			second <- res
		case <-time.After(100 * time.Millisecond):
		}
		return syscall.EIO
	})
	want(t, "COMMIT", commit().Status, nfs3.StatusIO)
	if res := <-second; res.Status == nfs3.StatusOK && res.OK.Verf == before {
		t.Error("a COMMIT succeeds with the old verifier after the data were lost")
	}
}

// Other calls run while one waits for the disk.
func TestSlowSync(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	dir, _ := c.mkdir(t, c.root, "dir")
	for _, slow := range []struct {
		name  string
		files int // that it stores
		call  func() nfs3.Status
	}{
		{"CREATE", 2, func() nfs3.Status { _, code := c.create(t, c.root, "new"); return code }},
		{"MKDIR", 1, func() nfs3.Status { _, code := c.mkdir(t, dir, "below"); return code }},
		{"SETATTR", 1, func() nfs3.Status {
			return c.setattr(t, file, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 1}})
		}},
	} {
		waiting, written := make(chan struct{}, slow.files), make(chan struct{})
		e.server.SetSync(func(nfsd.OSFile) error {
			waiting <- struct{}{}
			<-written
			return nil
		})
		done := make(chan nfs3.Status, 1)
		go func() { done <- slow.call() }()
		<-waiting
		got := c.write(t, file, 0, []byte("data"), nfs3.StableHowUnstable)
		want(t, "WRITE during "+slow.name, got.Status, nfs3.StatusOK)
		_, code := c.lookup(t, c.root, "file")
		want(t, "LOOKUP during "+slow.name, code, nfs3.StatusOK)
		close(written)
		want(t, slow.name, <-done, nfs3.StatusOK)
	}
}

// A CREATE that empties an existing file stores it before the reply.
func TestCreateStoresSize(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	c := newCrashing(t, e, 0)
	c.left = -1
	conn := mem.New(c, nil)
	defer conn.Close()
	cl := clientOver(t, conn, auth(t, 1000, 1000))
	h, code := cl.create(t, cl.root, "file")
	want(t, "CREATE", code, nfs3.StatusOK)
	want(t, "WRITE", cl.write(t, h, 0, []byte("data"), nfs3.StableHowFileSync).Status, nfs3.StatusOK)
	how := nfs3.CreateHow{Mode: nfs3.CreateModeUnchecked, ObjAttributes: nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}}
	res, err := cl.Create(t.Context(), &nfs3.CreateArgs{Where: cl.at(cl.root, "file"), How: how})
	check(t, err)
	want(t, "CREATE of an existing file", res.Status, nfs3.StatusOK)
	c.cut()
	if a, _ := cl.attr(t, h); a.Size != 0 {
		t.Errorf("after a crash the file has %d bytes again", a.Size)
	}
}
