//go:build unix

package nfsd_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// asUser runs a test as a user that is not root.
func asUser(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		check(t, syscall.Setreuid(-1, 65534)) // of all threads
		t.Cleanup(func() { check(t, syscall.Setreuid(-1, 0)) })
	}
}

// A server that is not root writes a file whose mode forbids it, as a program does that made the
// file with this mode and has it open.
func TestReadOnlyFileOfOwner(t *testing.T) {
	asUser(t)
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	how := nfs3.CreateHow{ObjAttributes: nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o444}}}
	res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: how})
	check(t, err)
	file := res.OK.Obj.Handle
	want(t, "WRITE", c.write(t, file, 0, []byte("data"), 0).Status, nfs3.StatusOK)
	commit, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: file})
	check(t, err)
	want(t, "COMMIT", commit.Status, nfs3.StatusOK)
	if a, _ := c.attr(t, file); a.Mode != 0o444 || a.Size != 4 {
		t.Errorf("mode %o, %d bytes", a.Mode, a.Size)
	}
}

// A server that is not root gives itself the right to open a file for a moment. That changes no
// mode: neither one that SETATTR sets, nor with several calls at a time.
func TestModeStays(t *testing.T) {
	asUser(t)
	e := newExport(t, nfsd.Config{})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	want(t, "SETATTR", c.setattr(t, file, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o004}}), nfs3.StatusOK)
	if a, _ := c.attr(t, file); a.Mode != 0o004 {
		t.Errorf("the mode is %o after SETATTR", a.Mode)
	}
	check(t, os.Chmod(filepath.Join(e.dir, "file"), 0o004))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				res, err := c.Read(t.Context(), &nfs3.ReadArgs{File: file, Count: 1})
				if err != nil || res.Status != nfs3.StatusOK {
					t.Error("READ: ", err, res.Status)
					return
				}
			}
		})
	}
	all.Wait()
	if a, _ := c.attr(t, file); a.Mode != 0o004 {
		t.Errorf("the mode is %o after READs", a.Mode)
	}
}

// inodeOf returns the inode number of a file.
func inodeOf(fi os.FileInfo) uint64 { return uint64(fi.Sys().(*syscall.Stat_t).Ino) }
