package nfsd_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
)

// The disk with the table of handles fills. No handle is issued that the table does not have, and a
// CREATE that is refused for that reason leaves no file. RENAME and REMOVE still work. With space
// again, the handles are as before, also after a restart.
func TestFullTable(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	check(t, e.server.Close())
	check(t, os.RemoveAll(e.cfg.State))
	check(t, os.Mkdir(e.cfg.State, 0o700))
	if err := syscall.Mount("none", e.cfg.State, "tmpfs", 0, "size=64k"); err != nil {
		e.start(t)
		t.Skip("mounting a small file system: ", err)
	}
	state := e.cfg.State
	t.Cleanup(func() { check(t, syscall.Unmount(state, 0)) })
	e.start(t)
	defer func() {
		check(t, e.server.Close())
		e.cfg.State = filepath.Join(t.TempDir(), "state")
		e.start(t) // for the cleanup
	}()
	conn := mem.New(e.server.Handler(), nil)
	c := clientOver(t, conn, auth(t, 1000, 1000))
	first, code := c.create(t, c.root, "first")
	want(t, "CREATE", code, nfs3.StatusOK)
	_, code = c.create(t, c.root, "gone")
	want(t, "CREATE", code, nfs3.StatusOK)
	var last nfs3.Handle
	made := 0
	for ; ; made++ {
		h, code := c.create(t, c.root, fmt.Sprint(made))
		if code != nfs3.StatusOK {
			want(t, "CREATE with a full table", code, nfs3.StatusNospc)
			break
		}
		if last = h; made > 10_000 {
			t.Fatal("the table does not fill")
		}
	}
	refused := fmt.Sprint(made)
	if text, err := os.ReadFile(filepath.Join(state, "handles")); err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("the table ends with a part of a line: %q, %v", text[max(len(text)-100, 0):], err)
	}
	if _, err := os.Lstat(filepath.Join(e.dir, refused)); !os.IsNotExist(err) {
		t.Errorf("a CREATE that was refused left its file: %v", err)
	}
	_, code = c.mkdir(t, c.root, "dir")
	want(t, "MKDIR with a full table", code, nfs3.StatusNospc)
	if _, err := os.Lstat(filepath.Join(e.dir, "dir")); !os.IsNotExist(err) {
		t.Errorf("a MKDIR that was refused left its directory: %v", err)
	}
	check(t, os.WriteFile(filepath.Join(e.dir, "local"), nil, 0o644))
	for range 2 {
		_, code = c.lookup(t, c.root, "local")
		want(t, "LOOKUP of a file without a handle", code, nfs3.StatusNospc)
	}
	want(t, "RENAME", c.rename(t, c.root, "first", c.root, "moved"), nfs3.StatusOK)
	want(t, "REMOVE", c.remove(t, c.root, "gone"), nfs3.StatusOK)
	want(t, "WRITE", c.write(t, first, 0, []byte("data"), 0).Status, nfs3.StatusOK)

	check(t, syscall.Mount("none", e.cfg.State, "tmpfs", syscall.MS_REMOUNT, "size=4m"))
	h, code := c.create(t, c.root, refused)
	want(t, "CREATE with space again", code, nfs3.StatusOK)
	check(t, conn.Close())
	e.restart(t)
	again := e.client(t, auth(t, 1000, 1000))
	for i, h := range []nfs3.Handle{first, last, h} {
		_, code := again.attr(t, h)
		want(t, fmt.Sprintf("GETATTR of handle %d after a restart", i), code, nfs3.StatusOK)
	}
}

// A disk that has no space for a second copy of the table still takes handles until it is full, and
// the log says so when it is.
func TestTableWithoutSecondCopy(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	check(t, e.server.Close())
	check(t, os.RemoveAll(e.cfg.State))
	check(t, os.Mkdir(e.cfg.State, 0o700))
	if err := syscall.Mount("none", e.cfg.State, "tmpfs", 0, "size=560k"); err != nil {
		e.start(t)
		t.Skip("mounting a small file system: ", err)
	}
	var log bytes.Buffer
	state := e.cfg.State
	e.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	e.start(t)
	t.Cleanup(func() { check(t, syscall.Unmount(state, 0)) })
	defer func() {
		check(t, e.server.Close())
		e.cfg.State = filepath.Join(t.TempDir(), "state")
		e.start(t) // for the cleanup
	}()
	conn := mem.New(e.server.Handler(), nil)
	defer conn.Close()
	c := clientOver(t, conn, auth(t, 1000, 1000))
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(e.cfg.State, name))
		check(t, err)
		return info.Size()
	}
	const files = 1000
	for i := range files {
		_, code := c.create(t, c.root, fmt.Sprint(i))
		want(t, "CREATE", code, nfs3.StatusOK)
	}
	most := size("handles")
	for i := 0; i < files+4096+200; i++ {
		from, to := "0", "other"
		if i%2 == 1 {
			from, to = to, from
		}
		want(t, "RENAME", c.rename(t, c.root, from, c.root, to), nfs3.StatusOK)
		if now := size("handles"); now < most {
			t.Fatalf("the table was written again with %d bytes: the disk is too large for this test", most)
		} else {
			most = now
		}
		if i%500 == 0 {
			_, code := c.create(t, c.root, fmt.Sprint("more", i))
			want(t, fmt.Sprintf("CREATE after %d renames and with %d bytes", i, most), code, nfs3.StatusOK)
		}
	}
	for i := 0; ; i++ {
		_, code := c.create(t, c.root, fmt.Sprint("last", i))
		if code == nfs3.StatusOK {
			continue
		}
		want(t, "CREATE with a full table", code, nfs3.StatusNospc)
		break
	}
	check(t, syscall.Mount("none", state, "tmpfs", syscall.MS_REMOUNT, "size=4m"))
	if n := strings.Count(log.String(), "cannot be written"); n != 1 {
		t.Errorf("%d lines about the full disk: %s", n, &log)
	}
}
