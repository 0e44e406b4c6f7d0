package nfsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// fileModes covers every value of the owner, group and other bits.
func fileModes() []uint32 {
	var modes []uint32
	for bits := range uint32(8) {
		modes = append(modes, bits<<6|(7-bits)<<3|(bits+3)%8, bits<<3, bits)
	}
	return modes
}

// Each procedure does what the mode bits of a file allow (RFC 1813 §3.3.4, §4.4): its owner reads
// and writes whatever they are, and a caller that may execute it may read it. ACCESS returns these
// bits. Root may execute a file if any execute bit is set. A read-only export promises no change.
func TestFileRights(t *testing.T) {
	needRoot(t)
	for _, cfg := range []nfsd.Config{{Async: true}, {Async: true, AllowRoot: true}, {Async: true, ReadOnly: true}} {
		e := newExport(t, cfg)
		for _, u := range usersOf(t, cfg.AllowRoot) {
			c := e.client(t, u.cred)
			for _, mode := range fileModes() {
				what := fmt.Sprintf("%s, mode %04o: ", u.name, mode)
				h := e.file(t, c, "file", 1000, 1000, nfs3.Mode(mode))
				may := u.rights(mode)
				if u.name == "root" && mode&0o111 == 0 {
					may &^= 1
				}
				owner := u.shift == 6 || u.shift < 0
				allow := func(allowed bool) nfs3.Status {
					switch {
					case cfg.ReadOnly:
						return nfs3.StatusRofs
					case allowed:
						return nfs3.StatusOK
					}
					return nfs3.StatusAcces
				}
				read := nfs3.StatusAcces
				if owner || may&5 != 0 {
					read = nfs3.StatusOK
				}
				want(t, what+"READ", c.read(t, h, 0, 1).Status, read)
				want(t, what+"WRITE", c.write(t, h, 0, []byte("x"), nfs3.StableHowUnstable).Status, allow(owner || may&2 != 0))
				want(t, what+"truncation", c.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 2}}), allow(owner || may&2 != 0))
				now := nfs3.SetAttr{Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime}}
				want(t, what+"touch", c.setattr(t, h, now), allow(owner || may&2 != 0))
				commit, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: h})
				check(t, err)
				code := nfs3.StatusAcces
				if owner || may&2 != 0 {
					code = nfs3.StatusOK
				}
				want(t, what+"COMMIT", commit.Status, code)
				if code := c.setattr(t, h, setTimes(5)); !cfg.ReadOnly && (code == nfs3.StatusOK) != owner {
					t.Errorf("%sSETATTR of times: %v", what, code)
				}
				var promised uint32
				if may&4 != 0 {
					promised |= nfs3.AccessRead
				}
				if may&2 != 0 && !cfg.ReadOnly {
					promised |= nfs3.AccessModify | nfs3.AccessExtend
				}
				if may&1 != 0 {
					promised |= nfs3.AccessExecute
				}
				res, err := c.Access(t.Context(), &nfs3.AccessArgs{Object: h, Access: 0x3f})
				check(t, err)
				if res.OK.Access != promised {
					t.Errorf("%sACCESS %#x, expected %#x", what, res.OK.Access, promised)
				}
			}
		}
	}
}

// A read-only export promises no change of a directory, either.
func TestReadOnlyAccess(t *testing.T) {
	e := newExport(t, nfsd.Config{ReadOnly: true})
	c := e.client(t, auth(t, 1000, 1000))
	res, err := c.Access(t.Context(), &nfs3.AccessArgs{Object: c.root, Access: 0x3f})
	check(t, err)
	if res.OK.Access != nfs3.AccessRead|nfs3.AccessLookup {
		t.Errorf("ACCESS %#x", res.OK.Access)
	}
}

// In a sticky directory, its owner, the owner of the object and root remove and rename an object,
// and replace it; other users do not.
func TestStickyDirectory(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	for _, u := range []struct {
		name string
		c    *client
		code nfs3.Status
	}{
		{"the owner of the directory", e.client(t, auth(t, 1000, 1000)), nfs3.StatusOK},
		{"the owner of the objects", e.client(t, auth(t, 2000, 2000)), nfs3.StatusOK},
		{"another user of the group", e.client(t, auth(t, 3000, 1000)), nfs3.StatusPerm},
		{"root", e.client(t, auth(t, 0, 0)), nfs3.StatusOK},
	} {
		for name, call := range map[string]func(s scene) nfs3.Status{
			"REMOVE":      func(s scene) nfs3.Status { return s.remove(t, s.dir, "f") },
			"RMDIR":       func(s scene) nfs3.Status { return s.rmdir(t, s.dir, "d") },
			"RENAME out":  func(s scene) nfs3.Status { return s.rename(t, s.dir, "f", s.aside, "new") },
			"RENAME onto": func(s scene) nfs3.Status { return s.rename(t, s.aside, "g", s.dir, "f") },
		} {
			s := e.directory(t, u.c, 0o777)
			check(t, os.Chmod(filepath.Join(e.dir, "dir"), 0o777|os.ModeSticky))
			for _, object := range []string{"f", "d"} {
				check(t, os.Chown(filepath.Join(e.dir, "dir", object), 2000, 2000))
			}
			want(t, name+" by "+u.name, call(s), u.code)
		}
		// To add a name takes no more than in other directories.
		s := e.directory(t, u.c, 0o777)
		check(t, os.Chmod(filepath.Join(e.dir, "dir"), 0o777|os.ModeSticky))
		want(t, "RENAME in by "+u.name, s.rename(t, s.aside, "g", s.dir, "new"), nfs3.StatusOK)
	}
}

// A directory that goes to another one has another "..", so the caller must be able to write it.
func TestRenameOfDirectoryNeedsWritePermission(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 3000, 3000))
	s := e.directory(t, c, 0o777)
	check(t, os.Chmod(filepath.Join(e.dir, "dir/d"), 0o755))
	want(t, "RENAME to another directory", s.rename(t, s.dir, "d", s.aside, "d"), nfs3.StatusAcces)
	want(t, "RENAME within the directory", s.rename(t, s.dir, "d", s.dir, "e"), nfs3.StatusOK)
	check(t, os.Chmod(filepath.Join(e.dir, "dir/e"), 0o777))
	want(t, "RENAME to another directory", s.rename(t, s.dir, "e", s.aside, "d"), nfs3.StatusOK)
}

// Values that no system has are refused before anything changes.
func TestInvalidAttributes(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	c := e.client(t, auth(t, 0, 0))
	second := nfs3.Time{Seconds: 5, Nseconds: 1e9}
	for name, set := range map[string]nfs3.SetAttr{
		"atime": {Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: second}},
		"mtime": {Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: second}},
		"uid":   setOwner(1<<32 - 1),
		"gid":   setGroup(1<<32 - 1),
	} {
		h := e.file(t, c, "file", 1000, 1000, 0o640)
		before, _ := c.attr(t, h)
		set.Mode, set.Size = setMode(0o777).Mode, nfs3.SetSize{SetIt: true, Size: 1}
		want(t, "SETATTR of an invalid "+name, c.setattr(t, h, set), nfs3.StatusInval)
		if after, _ := c.attr(t, h); after != before {
			t.Errorf("SETATTR of an invalid %s changed %v to %v", name, before, after)
		}
	}
}

// An object that cannot get its attributes is not made.
func TestNothingIsMadeWithInvalidAttributes(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	c := e.client(t, auth(t, 0, 0))
	set := setOwner(1<<32 - 1)
	made, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: set}})
	check(t, err)
	want(t, "CREATE", made.Status, nfs3.StatusInval)
	dir, err := c.MkDir(t.Context(), &nfs3.MkDirArgs{Where: c.at(c.root, "dir"), Attributes: set})
	check(t, err)
	want(t, "MKDIR", dir.Status, nfs3.StatusInval)
	link, err := c.SymLink(t.Context(), &nfs3.SymLinkArgs{Where: c.at(c.root, "link"), SymLink: nfs3.SymLinkData{Path: nfs3.Path("to"), Attributes: set}})
	check(t, err)
	want(t, "SYMLINK", link.Status, nfs3.StatusInval)
	for _, name := range []string{"file", "dir", "link"} {
		_, code := c.lookup(t, c.root, name)
		want(t, "LOOKUP of the "+name, code, nfs3.StatusNoent)
	}
}

// Of another user's objects, a caller may LINK only regular files that it can read and write and
// that have no set-ID bit, as Linux protects hard links (proc_sys_fs(5)).
func TestLinkOfAnotherUsersFile(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	owner, other := e.client(t, auth(t, 1000, 1000)), e.client(t, auth(t, 3000, 3000))
	link := func(c *client, h nfs3.Handle) nfs3.Status {
		res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: h, Link: c.at(c.root, "link")})
		check(t, err)
		if res.Status == nfs3.StatusOK {
			want(t, "REMOVE", c.remove(t, c.root, "link"), nfs3.StatusOK)
		}
		return res.Status
	}
	for mode, code := range map[nfs3.Mode]nfs3.Status{
		0o666: nfs3.StatusOK, 0o606: nfs3.StatusOK, 0o664: nfs3.StatusPerm, 0o662: nfs3.StatusPerm, 0o660: nfs3.StatusPerm,
		0o4666: nfs3.StatusPerm, 0o2666: nfs3.StatusPerm, 0: nfs3.StatusPerm,
	} {
		h := e.file(t, owner, "file", 1000, 1000, mode)
		want(t, fmt.Sprintf("LINK of a file of mode %04o", mode), link(other, h), code)
		want(t, fmt.Sprintf("LINK of the own file of mode %04o", mode), link(owner, h), nfs3.StatusOK)
	}
	node, err := owner.MkNod(t.Context(), &nfs3.MkNodArgs{Where: owner.at(owner.root, "pipe"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo, PipeAttributes: setMode(0o666)}})
	check(t, err)
	want(t, "LINK of a pipe", link(other, node.OK.Obj.Handle), nfs3.StatusPerm)
}

// A server that is not root has one user, whoever calls it, and this one is never root.
func TestOneUserWithoutRoot(t *testing.T) {
	asUser(t)
	if os.Geteuid() == 0 {
		t.Skip("the tests run as root")
	}
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	for _, cred := range []oncrpc.OpaqueAuth{auth(t, 0, 0), auth(t, 1000, 1000), {}} {
		c := e.client(t, cred)
		h, code := c.create(t, c.root, "file")
		want(t, "CREATE", code, nfs3.StatusOK)
		a, _ := c.attr(t, h)
		if int(a.UID) != os.Geteuid() {
			t.Errorf("the file belongs to %d, expected %d", a.UID, os.Geteuid())
		}
		want(t, "SETATTR of another owner", c.setattr(t, h, setOwner(2000)), nfs3.StatusPerm)
		want(t, "SETATTR of the mode", c.setattr(t, h, setMode(0)), nfs3.StatusOK)
		access, err := c.Access(t.Context(), &nfs3.AccessArgs{Object: h, Access: 0x3f})
		check(t, err)
		if access.OK.Access != 0 {
			t.Errorf("ACCESS of a file of mode 0: %#x", access.OK.Access)
		}
		want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
	}
}
