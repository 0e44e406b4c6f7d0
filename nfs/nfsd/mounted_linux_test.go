package nfsd_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// Handles that were issued before another file system was mounted over their names are stale, even
// if its objects have the same inode numbers and no generations: an overlay keeps the numbers of
// its lower layer.
func TestHandlesUnderMountAreStale(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	dir, _ := c.mkdir(t, c.root, "dir")
	file, _ := c.create(t, dir, "file")
	under, empty := filepath.Join(e.dir, "dir"), filepath.Join(e.outside, "..", "empty")
	check(t, os.Mkdir(empty, 0o755))
	number := func() uint64 {
		var st syscall.Stat_t
		check(t, syscall.Lstat(filepath.Join(under, "file"), &st))
		return st.Ino
	}
	before := number()
	if err := syscall.Mount("overlay", under, "overlay", syscall.MS_RDONLY, "lowerdir="+under+":"+empty); err != nil {
		t.Skip("mounting an overlay: ", err)
	}
	mounted := true
	unmount := func() {
		if mounted {
			mounted = false
			check(t, syscall.Unmount(under, 0))
		}
	}
	t.Cleanup(unmount)
	if after := number(); after != before {
		t.Skipf("the inode number is %d in the overlay, and %d below it", after, before)
	}
	for name, h := range map[string]nfs3.Handle{"the directory": dir, "the file": file} {
		_, code := c.attr(t, h)
		want(t, "GETATTR of "+name, code, nfs3.StatusStale)
	}
	want(t, "READ", c.read(t, file, 0, 1).Status, nfs3.StatusStale)
	want(t, "WRITE", c.write(t, file, 0, []byte("x"), nfs3.StableHowUnstable).Status, nfs3.StatusStale)
	_, code := c.lookup(t, dir, "file")
	want(t, "LOOKUP", code, nfs3.StatusStale)
	_, code = c.lookup(t, c.root, "dir")
	want(t, "LOOKUP of the directory", code, nfs3.StatusAcces)
	_, code = c.mkdir(t, c.root, "other")
	want(t, "MKDIR", code, nfs3.StatusOK)
	want(t, "RENAME onto the directory", c.rename(t, c.root, "other", c.root, "dir"), nfs3.StatusAcces)
	want(t, "RENAME of the directory", c.rename(t, c.root, "dir", c.root, "new"), nfs3.StatusAcces)
	want(t, "RMDIR of the directory", c.rmdir(t, c.root, "dir"), nfs3.StatusAcces)
	unmount()
	for name, h := range map[string]nfs3.Handle{"the directory": dir, "the file": file} {
		_, code := c.attr(t, h)
		want(t, "GETATTR of "+name+" without the mount", code, nfs3.StatusOK)
	}
}
