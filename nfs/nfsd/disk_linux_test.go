package nfsd_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// newSmallExport returns an export that is a separate file system with limits, which are options of
// tmpfs.
func newSmallExport(t *testing.T, limits string) *export {
	t.Helper()
	e := newExport(t, nfsd.Config{})
	check(t, e.server.Close())
	err := syscall.Mount("none", e.dir, "tmpfs", 0, limits+",mode=777")
	e.start(t)
	if err != nil {
		t.Skip("mounting a small file system: ", err)
	}
	t.Cleanup(func() { // runs before newExport's cleanup
		check(t, e.server.Close()) // it has the file system open
		check(t, syscall.Unmount(e.dir, 0))
		e.start(t)
	})
	return e
}

// When the disk is full, the status is NFS3ERR_NOSPC; when there is space again, calls succeed. A
// file system mounted below the export is not served.
func TestFullDisk(t *testing.T) {
	e := newSmallExport(t, "size=1m")
	c := e.client(t, auth(t, 1000, 1000))
	file, code := c.create(t, c.root, "file")
	want(t, "CREATE", code, nfs3.StatusOK)
	data, written := pattern(1, 300_000), 0
	for {
		res := c.write(t, file, uint64(written), data, nfs3.StableHowFileSync)
		if written += int(res.OK.Count); res.Status == nfs3.StatusNospc {
			break
		}
		if want(t, "WRITE", res.Status, nfs3.StatusOK); res.OK.Count == 0 || written > 2<<20 {
			t.Fatalf("%d bytes of 1 MiB", written)
		}
	}
	if a, _ := c.attr(t, file); int(a.Size) < written {
		t.Errorf("%d bytes, the replies say %d", a.Size, written)
	}
	space, err := c.FSStat(t.Context(), &nfs3.FSStatArgs{FSRoot: c.root})
	check(t, err)
	if space.OK.Tbytes != 1<<20 || space.OK.Abytes != 0 {
		t.Errorf("FSSTAT: %+v", space.OK)
	}
	want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
	file, _ = c.create(t, c.root, "file")
	want(t, "WRITE after REMOVE", c.write(t, file, 0, data, nfs3.StableHowFileSync).Status, nfs3.StatusOK)

	_, code = c.mkdir(t, c.root, "below")
	want(t, "MKDIR", code, nfs3.StatusOK)
	below := filepath.Join(e.dir, "below")
	check(t, syscall.Mount("none", below, "tmpfs", 0, "size=1m"))
	defer func() { check(t, syscall.Unmount(below, 0)) }()
	_, code = c.lookup(t, c.root, "below")
	want(t, "LOOKUP of a mounted file system", code, nfs3.StatusAcces)
}
