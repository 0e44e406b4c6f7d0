package nfsd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a server that is not root has one user")
	}
}

// User 0 and callers without AUTH_SYS act as the anonymous user by default. User 0 keeps its
// groups, and group 0 stands for the anonymous one, as with Linux's server. The number 2^32-1
// stands for no user, even where user 0 is root.
func TestRootSquash(t *testing.T) {
	needRoot(t)
	none := oncrpc.OpaqueAuth{}
	for _, tt := range []struct {
		name      string
		cred      oncrpc.OpaqueAuth
		allowRoot bool
		uid, gid  uint32
		secret    nfs3.Status // of reading root's file
	}{
		{"root", auth(t, 0, 0, 0), false, 65534, 65534, nfs3.StatusAcces},
		{"root allowed", auth(t, 0, 0, 0), true, 0, 0, nfs3.StatusOK},
		{"root of another group", auth(t, 0, 100, 0), false, 65534, 100, nfs3.StatusAcces},
		{"AUTH_NONE", none, true, 65534, 65534, nfs3.StatusAcces},
		{"group root", auth(t, 1000, 0, 0), false, 1000, 65534, nfs3.StatusAcces},
		{"a user", auth(t, 1000, 100), false, 1000, 100, nfs3.StatusAcces},
		{"no user", auth(t, 1<<32-1, 100), true, 65534, 100, nfs3.StatusAcces},
		{"no group", auth(t, 1000, 1<<32-1), true, 1000, 65534, nfs3.StatusAcces},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newExport(t, nfsd.Config{Async: true, AllowRoot: tt.allowRoot})
			check(t, os.WriteFile(filepath.Join(e.dir, "secret"), []byte("x"), 0o640)) // root:root
			c := e.client(t, tt.cred)
			secret, _ := c.lookup(t, c.root, "secret")
			want(t, "READ", c.read(t, secret, 0, 1).Status, tt.secret)
			for _, name := range []string{"file", "dir", "link"} {
				var h nfs3.Handle
				var code nfs3.Status
				switch name {
				case "file":
					h, code = c.create(t, c.root, name)
				case "dir":
					h, code = c.mkdir(t, c.root, name)
				case "link":
					h, code = c.symlink(t, c.root, name, "to")
				}
				want(t, "creation", code, nfs3.StatusOK)
				a, _ := c.attr(t, h)
				if uint32(a.UID) != tt.uid || uint32(a.GID) != tt.gid {
					t.Errorf("%s belongs to %d:%d, expected %d:%d", name, a.UID, a.GID, tt.uid, tt.gid)
				}
			}
		})
	}
}

// A caller in group 0 is put into the anonymous group instead.
func TestGroupRootIsMapped(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	for name, gid := range map[string]int{"root": 0, "anonymous": 65534} {
		check(t, os.WriteFile(filepath.Join(e.dir, name), []byte("x"), 0o640))
		check(t, os.Chown(filepath.Join(e.dir, name), 1, gid))
	}
	c := e.client(t, auth(t, 2000, 2000, 5, 0))
	for name, code := range map[string]nfs3.Status{"root": nfs3.StatusAcces, "anonymous": nfs3.StatusOK} {
		h, _ := c.lookup(t, c.root, name)
		want(t, "READ, group "+name, c.read(t, h, 0, 1).Status, code)
	}
}

// The mode bits decide, for the owner, the group and all others (RFC 1813 §3.3.4).
func TestModeBits(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	owner, member, other := e.client(t, auth(t, 1000, 1000)), e.client(t, auth(t, 2000, 2000, 7, 1000)), e.client(t, auth(t, 3000, 3000))
	dir, _ := owner.mkdir(t, owner.root, "dir")
	file, _ := owner.create(t, dir, "file")
	mode := func(h nfs3.Handle, m nfs3.Mode) {
		t.Helper()
		want(t, "SETATTR", owner.setattr(t, h, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: m}}), nfs3.StatusOK)
	}
	mode(file, 0o640)
	want(t, "READ by the group", member.read(t, file, 0, 1).Status, nfs3.StatusOK)
	want(t, "READ by others", other.read(t, file, 0, 1).Status, nfs3.StatusAcces)
	want(t, "WRITE by the group", member.write(t, file, 0, []byte("x"), 0).Status, nfs3.StatusAcces)

	// The mode changes while the owner's program has the file open: the program can still use it
	// (RFC 1813 §4.4).
	mode(file, 0)
	want(t, "WRITE by the owner", owner.write(t, file, 0, []byte("x"), 0).Status, nfs3.StatusOK)
	want(t, "READ by the owner", owner.read(t, file, 0, 1).Status, nfs3.StatusOK)
	want(t, "READ by the group", member.read(t, file, 0, 1).Status, nfs3.StatusAcces)
	access, err := owner.Access(t.Context(), &nfs3.AccessArgs{Object: file, Access: 0x3f})
	check(t, err)
	if access.OK.Access != 0 {
		t.Errorf("ACCESS of a file with mode 0: %#x", access.OK.Access)
	}

	// Only the owner changes the mode, and only root gives a file away.
	set := func(c *client, s nfs3.SetAttr) nfs3.Status { t.Helper(); return c.setattr(t, file, s) }
	want(t, "chmod by others", set(other, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o777}}), nfs3.StatusPerm)
	want(t, "chown by the owner", set(owner, nfs3.SetAttr{UID: nfs3.SetUID{SetIt: true, UID: 2000}}), nfs3.StatusPerm)
	want(t, "chgrp to a foreign group", set(owner, nfs3.SetAttr{GID: nfs3.SetGID{SetIt: true, GID: 2000}}), nfs3.StatusPerm)

	// Directories.
	mode(dir, 0o755)
	_, code := other.create(t, dir, "new")
	want(t, "CREATE by others", code, nfs3.StatusAcces)
	want(t, "REMOVE by others", other.remove(t, dir, "file"), nfs3.StatusAcces)
	want(t, "RENAME by others", other.rename(t, dir, "file", other.root, "file"), nfs3.StatusAcces)
	mode(dir, 0o1777)
	want(t, "REMOVE by others in a sticky directory", other.remove(t, dir, "file"), nfs3.StatusPerm)
	mode(dir, 0o700)
	_, code = other.lookup(t, dir, "file")
	want(t, "LOOKUP by others", code, nfs3.StatusAcces)
	list, err := other.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: dir, Count: 4096})
	check(t, err)
	want(t, "READDIR by others", list.Status, nfs3.StatusAcces)
	link, err := other.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: other.at(other.root, "link")})
	check(t, err)
	want(t, "LINK to a file of another user", link.Status, nfs3.StatusPerm)

	// A write takes the set-user-ID bit from a file.
	mode(file, 0o4777)
	want(t, "WRITE", other.write(t, file, 0, []byte("x"), 0).Status, nfs3.StatusOK)
	if a, _ := owner.attr(t, file); a.Mode != 0o777 {
		t.Errorf("the mode is %o after a write", a.Mode)
	}
}
