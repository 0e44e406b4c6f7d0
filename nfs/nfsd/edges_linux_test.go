package nfsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// LINK and MKNOD refuse names that are not one component, as the other procedures do.
func TestNamesOfLinkAndNode(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	for name, code := range map[string]nfs3.Status{
		"": nfs3.StatusAcces, "../outside/new": nfs3.StatusAcces, "a\x00b": nfs3.StatusAcces, "/new": nfs3.StatusAcces,
		".": nfs3.StatusExist, "..": nfs3.StatusExist, "file": nfs3.StatusExist, string(make([]byte, 300)): nfs3.StatusAcces,
	} {
		link, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: c.at(c.root, name)})
		check(t, err)
		want(t, fmt.Sprintf("LINK to %.20q", name), link.Status, code)
		node, err := c.MkNod(t.Context(), &nfs3.MkNodArgs{Where: c.at(c.root, name), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo}})
		check(t, err)
		want(t, fmt.Sprintf("MKNOD of %.20q", name), node.Status, code)
	}
}

// A directory that is removed while it is listed, and a file that is removed while it is open, are
// stale, whether a client or a local program removed them.
func TestRemovedWhileUsed(t *testing.T) {
	for _, local := range []bool{false, true} {
		e := newExport(t, nfsd.Config{Async: true})
		c := e.client(t, auth(t, 1000, 1000))
		dir, _ := c.mkdir(t, c.root, "dir")
		file, _ := c.create(t, dir, "file")
		page, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: dir, Count: 8192})
		check(t, err)
		if local {
			check(t, os.RemoveAll(filepath.Join(e.dir, "dir")))
		} else {
			want(t, "REMOVE", c.remove(t, dir, "file"), nfs3.StatusOK)
			want(t, "RMDIR", c.rmdir(t, c.root, "dir"), nfs3.StatusOK)
		}
		next := nfs3.ReadDirArgs{Dir: dir, Cookie: page.OK.Reply.Entries[0].Cookie, CookieVerf: page.OK.CookieVerf, Count: 8192}
		list, err := c.ReadDir(t.Context(), &next)
		check(t, err)
		want(t, "READDIR", list.Status, nfs3.StatusStale)
		plus, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 8192, MaxCount: 8192})
		check(t, err)
		want(t, "READDIRPLUS", plus.Status, nfs3.StatusStale)
		want(t, "READ", c.read(t, file, 0, 1).Status, nfs3.StatusStale)
		want(t, "WRITE", c.write(t, file, 0, []byte("x"), 0).Status, nfs3.StatusStale)
		want(t, "SETATTR", c.setattr(t, file, setTimes(1)), nfs3.StatusStale)
		commit, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: file})
		check(t, err)
		want(t, "COMMIT", commit.Status, nfs3.StatusStale)
		_, code := c.create(t, dir, "new")
		want(t, "CREATE", code, nfs3.StatusStale)
	}
}

// A change of owner takes the set-ID bits from a file, and so does a change of size by a user.
func TestSetIDAfterChange(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	root, owner := e.client(t, auth(t, 0, 0)), e.client(t, auth(t, 1000, 1000, 7))
	for name, change := range map[string]func(h nfs3.Handle) nfs3.Status{
		"chown by root": func(h nfs3.Handle) nfs3.Status {
			return root.setattr(t, h, nfs3.SetAttr{UID: nfs3.SetUID{SetIt: true, UID: 2000}})
		},
		"chgrp by owner": func(h nfs3.Handle) nfs3.Status {
			return owner.setattr(t, h, nfs3.SetAttr{GID: nfs3.SetGID{SetIt: true, GID: 7}})
		},
		"truncate by owner": func(h nfs3.Handle) nfs3.Status {
			return owner.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 1}})
		},
		"WRITE by owner": func(h nfs3.Handle) nfs3.Status { return owner.write(t, h, 0, []byte("x"), 0).Status },
	} {
		h, _ := owner.create(t, owner.root, name)
		want(t, "SETATTR", owner.setattr(t, h, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o6755}}), nfs3.StatusOK)
		want(t, name, change(h), nfs3.StatusOK)
		if a, _ := owner.attr(t, h); a.Mode != 0o755 {
			t.Errorf("%s: the mode is %o, expected 755", name, a.Mode)
		}
	}
}
