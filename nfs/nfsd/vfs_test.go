package nfsd_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs/vfstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
)

// servedFS returns a server of an FS with a key, and a client of user 1000.
func servedFS(t *testing.T, files vfs.FS, key string) (*nfsd.Server, *client) {
	t.Helper()
	cfg := nfsd.Config{FS: files}
	if key != "" {
		cfg.Key = []byte(key)
	}
	s, err := nfsd.New(cfg)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	conn := mem.New(s.Handler(), nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	return s, clientOver(t, conn, auth(t, 1000, 1000))
}

// Files in memory are served as a directory is, with the users of the callers, whoever runs the
// server.
func TestTreeInMemory(t *testing.T) {
	s, c := servedFS(t, memfs.New(memfs.Config{}), "")
	useTree(t, c)
	h, code := c.create(t, c.root, "mine")
	want(t, "CREATE", code, nfs3.StatusOK)
	if a, _ := c.attr(t, h); a.UID != 1000 || a.GID != 1000 || a.Mode != 0o644 {
		t.Errorf("a new file has the attributes %+v", a)
	}
	conn := mem.New(s.Handler(), nil)
	defer conn.Close()
	other := clientOver(t, conn, auth(t, 1001, 1001))
	want(t, "WRITE of another user", other.write(t, h, 0, []byte("x"), nfs3.StableHowUnstable).Status, nfs3.StatusAcces)
	want(t, "REMOVE of another user", other.remove(t, other.root, "mine"), nfs3.StatusPerm)
}

// A full memory is NFS3ERR_NOSPC, and takes changes again when files are removed.
func TestFullMemory(t *testing.T) {
	_, c := servedFS(t, memfs.New(memfs.Config{Size: 1 << 20}), "")
	h, _ := c.create(t, c.root, "file")
	want(t, "WRITE", c.write(t, h, 0, make([]byte, 900<<10), nfs3.StableHowFileSync).Status, nfs3.StatusOK)
	second, _ := c.create(t, c.root, "second")
	want(t, "WRITE", c.write(t, second, 0, make([]byte, 200<<10), nfs3.StableHowFileSync).Status, nfs3.StatusNospc)
	want(t, "WRITE far away", c.write(t, second, 1<<40, []byte("x"), nfs3.StableHowFileSync).Status, nfs3.StatusOK)
	want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
	want(t, "WRITE", c.write(t, second, 0, make([]byte, 200<<10), nfs3.StableHowFileSync).Status, nfs3.StatusOK)
}

// A read-only file system is served as such: its files are read and listed, ACCESS promises no
// change, and each change is NFS3ERR_ROFS, whoever asks.
func TestReadOnlyFiles(t *testing.T) {
	files, err := iofs.New(vfstest.Sample(), iofs.Config{UID: 1000, GID: 1000})
	check(t, err)
	_, c := servedFS(t, files, "the key of the test")
	for _, plus := range []bool{false, true} {
		if names := c.list(t, c.root, plus, 8192, nil); len(names) != 5 {
			t.Errorf("the root has %q", names)
		}
	}
	dir, code := c.lookup(t, c.root, "dir")
	want(t, "LOOKUP", code, nfs3.StatusOK)
	long, code := c.lookup(t, dir, "long")
	want(t, "LOOKUP", code, nfs3.StatusOK)
	data := vfstest.Sample()["dir/long"].Data
	if got := c.read(t, long, 1<<20, 1<<20); !bytes.Equal(got.OK.Data, data[1<<20:2<<20]) || got.OK.EOF {
		t.Errorf("READ: %v, %d bytes, end %v", got.Status, len(got.OK.Data), got.OK.EOF)
	}
	access, err := c.Access(t.Context(), &nfs3.AccessArgs{Object: dir, Access: 0x3f})
	check(t, err)
	if want := uint32(nfs3.AccessRead | nfs3.AccessLookup); access.OK.Access != want {
		t.Errorf("ACCESS of the caller's directory is %#x, expected %#x", access.OK.Access, want)
	}
	want(t, "WRITE", c.write(t, long, 0, []byte("x"), nfs3.StableHowUnstable).Status, nfs3.StatusRofs)
	_, code = c.create(t, dir, "new")
	want(t, "CREATE", code, nfs3.StatusRofs)
	want(t, "REMOVE", c.remove(t, dir, "long"), nfs3.StatusRofs)
	want(t, "RENAME", c.rename(t, dir, "long", dir, "x"), nfs3.StatusRofs)
	want(t, "SETATTR", c.setattr(t, long, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true}}), nfs3.StatusRofs)

	// Handles outlive the server if the key does, and no other key opens them.
	_, again := servedFS(t, files, "the key of the test")
	_, code = again.attr(t, long)
	want(t, "GETATTR after a restart", code, nfs3.StatusOK)
	_, other := servedFS(t, files, "")
	_, code = other.attr(t, long)
	want(t, "GETATTR with another key", code, nfs3.StatusBadhandle)
}
