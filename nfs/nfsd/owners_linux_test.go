package nfsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// The fields of sattr3 that tests set.

func setMode(mode nfs3.Mode) nfs3.SetAttr {
	return nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: mode}}
}

func setOwner(uid nfs3.UID) nfs3.SetAttr {
	return nfs3.SetAttr{UID: nfs3.SetUID{SetIt: true, UID: uid}}
}

func setGroup(gid nfs3.GID) nfs3.SetAttr {
	return nfs3.SetAttr{GID: nfs3.SetGID{SetIt: true, GID: gid}}
}

// file makes a file of the export with an owner, a group and a mode, and returns its handle.
func (e *export) file(t *testing.T, c *client, name string, uid, gid int, mode nfs3.Mode) nfs3.Handle {
	t.Helper()
	at := filepath.Join(e.dir, name)
	check(t, os.WriteFile(at, []byte("data"), 0o600))
	check(t, os.Chown(at, uid, gid))
	check(t, os.Chmod(at, nfsd.FileMode(mode)))
	h, code := c.lookup(t, c.root, name)
	want(t, "LOOKUP", code, nfs3.StatusOK)
	return h
}

// Only the owner names the ids that a file has in SETATTR, and only root gives it to others, as for
// chown(2) in POSIX.
func TestOnlyOwnerSetsIDs(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	for _, u := range []struct {
		name                             string
		c                                *client
		sameUID, sameGID, member, others nfs3.Status
	}{
		{"owner", e.client(t, auth(t, 1000, 1000, 7)), nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusPerm},
		{"owner outside the file's group", e.client(t, auth(t, 1000, 5, 7)), nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusPerm},
		{"group", e.client(t, auth(t, 2000, 1000, 7)), nfs3.StatusPerm, nfs3.StatusPerm, nfs3.StatusPerm, nfs3.StatusPerm},
		{"other", e.client(t, auth(t, 3000, 3000, 7)), nfs3.StatusPerm, nfs3.StatusPerm, nfs3.StatusPerm, nfs3.StatusPerm},
		{"root", e.client(t, auth(t, 0, 0)), nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusOK, nfs3.StatusOK},
	} {
		for _, tt := range []struct {
			name string
			set  nfs3.SetAttr
			code nfs3.Status
		}{
			{"the same uid", setOwner(1000), u.sameUID},
			{"the same gid", setGroup(1000), u.sameGID},
			{"a gid that the caller has", setGroup(7), u.member},
			{"another uid", setOwner(2000), u.others},
			{"another gid", setGroup(9), u.others},
		} {
			h := e.file(t, u.c, "file", 1000, 1000, 0o666)
			want(t, u.name+": SETATTR of "+tt.name, u.c.setattr(t, h, tt.set), tt.code)
			a, _ := u.c.attr(t, h)
			uid, gid := nfs3.UID(1000), nfs3.GID(1000)
			if tt.code == nfs3.StatusOK && tt.set.UID.SetIt {
				uid = tt.set.UID.UID
			}
			if tt.code == nfs3.StatusOK && tt.set.GID.SetIt {
				gid = tt.set.GID.GID
			}
			if a.UID != uid || a.GID != gid {
				t.Errorf("%s: after SETATTR of %s the file is of %d:%d, expected %d:%d", u.name, tt.name, a.UID, a.GID, uid, gid)
			}
		}
	}
}

// A change of owner or group takes the set-ID bits from a file, even if it names the ids that the
// file has or a mode with the bits, and even by root: as Linux's server does. A directory keeps
// them.
func TestChownClearsSetIDs(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	owner, root := e.client(t, auth(t, 1000, 1000, 7)), e.client(t, auth(t, 0, 0))
	both := setOwner(1000)
	both.GID = setGroup(1000).GID
	withMode := both
	withMode.Mode = setMode(0o6755).Mode
	moved := setGroup(7)
	moved.Mode = setMode(0o2755).Mode
	for _, tt := range []struct {
		name         string
		c            *client
		before, want nfs3.Mode
		set          nfs3.SetAttr
	}{
		{"the same ids by the owner", owner, 0o6755, 0o755, both},
		{"the same uid by the owner", owner, 0o6755, 0o755, setOwner(1000)},
		{"the same gid by the owner", owner, 0o6755, 0o755, setGroup(1000)},
		{"another group by the owner", owner, 0o6755, 0o755, setGroup(7)},
		{"a file that its group may not execute", owner, 0o6745, 0o745, both},
		{"one bit", owner, 0o4755, 0o755, both},
		{"the other bit", owner, 0o2755, 0o755, both},
		{"the sticky bit stays", owner, 0o7755, 0o1755, both},
		{"the same ids and a mode", owner, 0o755, 0o755, withMode},
		{"another group and a mode", owner, 0o755, 0o755, moved},
		{"the same ids by root", root, 0o6755, 0o755, both},
		{"another owner by root", root, 0o6755, 0o755, setOwner(2000)},
		{"the same ids and a mode by root", root, 0o755, 0o755, withMode},
		{"no ids", owner, 0o6755, 0o6755, setTimes(1)},
	} {
		h := e.file(t, tt.c, "file", 1000, 1000, tt.before)
		want(t, "SETATTR of "+tt.name, tt.c.setattr(t, h, tt.set), nfs3.StatusOK)
		if a, _ := tt.c.attr(t, h); a.Mode != tt.want {
			t.Errorf("%s: mode %04o, then %04o, expected %04o", tt.name, tt.before, a.Mode, tt.want)
		}
	}
	// The group that counts for the mode is the new one.
	sub, _ := owner.mkdir(t, owner.root, "sub")
	want(t, "SETATTR by root", root.setattr(t, sub, setGroup(9)), nfs3.StatusOK)
	want(t, "SETATTR of a group and a mode", owner.setattr(t, sub, moved), nfs3.StatusOK)
	if a, _ := owner.attr(t, sub); a.Mode != 0o2755 || a.GID != 7 {
		t.Errorf("a directory: mode %04o, group %d", a.Mode, a.GID)
	}
	dir, _ := owner.mkdir(t, owner.root, "dir")
	want(t, "SETATTR", owner.setattr(t, dir, setMode(0o2755)), nfs3.StatusOK)
	want(t, "SETATTR", owner.setattr(t, dir, both), nfs3.StatusOK)
	if a, _ := owner.attr(t, dir); a.Mode != 0o2755 {
		t.Errorf("a directory: mode 2755, then %04o", a.Mode)
	}
}

// A caller outside the group of an object does not make it set-group-ID: neither by SETATTR, nor
// where it makes it (chmod(2)). A directory inherits the bit.
func TestSetGroupIDNeedsGroup(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	owner, root := e.client(t, auth(t, 1000, 1000, 7)), e.client(t, auth(t, 0, 0))
	for _, tt := range []struct {
		name     string
		c        *client
		gid      int
		dir      bool
		set, got nfs3.Mode
	}{
		{"the file of a group that the owner is in", owner, 7, false, 0o6755, 0o6755},
		{"the file of the owner's own group", owner, 1000, false, 0o2755, 0o2755},
		{"the file of group 0", owner, 0, false, 0o2755, 0o755},
		{"the file of group 0, set-user-ID, too", owner, 0, false, 0o6755, 0o4755},
		{"the file of another group", owner, 9, false, 0o2755, 0o755},
		{"the file of another group, by root", root, 9, false, 0o2755, 0o2755},
		{"the directory of a group that the owner is in", owner, 7, true, 0o2755, 0o2755},
		{"the directory of another group", owner, 9, true, 0o2755, 0o755},
		{"the directory of another group, by root", root, 9, true, 0o2755, 0o2755},
	} {
		name := "file"
		if tt.dir {
			name = "dir"
			check(t, os.RemoveAll(filepath.Join(e.dir, name)))
			check(t, os.Mkdir(filepath.Join(e.dir, name), 0o700))
			check(t, os.Chown(filepath.Join(e.dir, name), 1000, tt.gid))
		} else {
			e.file(t, tt.c, name, 1000, tt.gid, 0o644)
		}
		h, _ := tt.c.lookup(t, tt.c.root, name)
		want(t, "SETATTR of "+tt.name, tt.c.setattr(t, h, setMode(tt.set)), nfs3.StatusOK)
		if a, _ := tt.c.attr(t, h); a.Mode != tt.got {
			t.Errorf("SETATTR of %s: mode %04o, then %04o, expected %04o", tt.name, tt.set, a.Mode, tt.got)
		}
	}

	// Root gives the file to a group that its owner is not in: then the bit is out of reach.
	file := e.file(t, owner, "file", 1000, 1000, 0o644)
	want(t, "SETATTR by root", root.setattr(t, file, setGroup(0)), nfs3.StatusOK)
	want(t, "SETATTR", owner.setattr(t, file, setMode(0o2755)), nfs3.StatusOK)
	if a, _ := owner.attr(t, file); a.Mode != 0o755 || a.GID != 0 {
		t.Errorf("after chown by root: mode %04o, group %d", a.Mode, a.GID)
	}

	// New objects in a directory of a group that the caller is not in, with the bit and without it.
	for _, parent := range []nfs3.Mode{0o777, 0o2777} {
		at := filepath.Join(e.dir, fmt.Sprintf("parent%o", parent))
		check(t, os.Mkdir(at, 0o777))
		check(t, os.Chown(at, 0, 9))
		check(t, os.Chmod(at, nfsd.FileMode(parent)))
		dir, _ := owner.lookup(t, owner.root, filepath.Base(at))
		gid, file, inherited := nfs3.GID(1000), nfs3.Mode(0o2755), nfs3.Mode(0)
		if parent&0o2000 != 0 {
			gid, file, inherited = 9, 0o755, 0o2000
		}
		for _, tt := range []struct {
			name      string
			set, want nfs3.Mode
		}{{"set-group-ID", 0o2755, 0o2755}, {"plain", 0o755, 0o755 | inherited}} {
			made, err := owner.Create(t.Context(), &nfs3.CreateArgs{Where: owner.at(dir, "f"+tt.name), How: nfs3.CreateHow{ObjAttributes: setMode(tt.set)}})
			check(t, err)
			if a := made.OK.ObjAttributes.Attributes; made.Status != nfs3.StatusOK || a.GID != gid || a.Mode != tt.set&file {
				t.Errorf("CREATE of a %s file in a directory of mode %04o: %v, group %d, mode %04o", tt.name, parent, made.Status, a.GID, a.Mode)
			}
			sub, err := owner.MkDir(t.Context(), &nfs3.MkDirArgs{Where: owner.at(dir, "d"+tt.name), Attributes: setMode(tt.set)})
			check(t, err)
			if a := sub.OK.ObjAttributes.Attributes; sub.Status != nfs3.StatusOK || a.GID != gid || a.Mode != tt.want {
				t.Errorf("MKDIR of a %s directory in one of mode %04o: %v, group %d, mode %04o", tt.name, parent, sub.Status, a.GID, a.Mode)
			}
		}
	}
}

// If a client sets the owner of a new object, that has an effect for root only. For other callers
// the owner is the caller, and the call succeeds, because clients with the rules of BSD send the
// directory's group. A size is ignored, too, unless the object is a file.
func TestOwnerOfNewObjects(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	set := setOwner(4000)
	set.GID = setGroup(5000).GID
	set.Size = nfs3.SetSize{SetIt: true, Size: 3}
	for _, u := range []struct {
		name     string
		c        *client
		uid, gid uint32
	}{
		{"user", e.client(t, auth(t, 1000, 1000)), 1000, 1000},
		{"anonymous", e.client(t, auth(t, 65534, 65534)), 65534, 65534},
		{"root", e.client(t, auth(t, 0, 0)), 4000, 5000},
	} {
		dir, _ := u.c.mkdir(t, u.c.root, u.name)
		for name, call := range map[string]func() (nfs3.Status, nfs3.Attr){
			"CREATE": func() (nfs3.Status, nfs3.Attr) {
				res, err := u.c.Create(t.Context(), &nfs3.CreateArgs{Where: u.c.at(dir, "file"), How: nfs3.CreateHow{ObjAttributes: set}})
				check(t, err)
				if res.OK.ObjAttributes.Attributes.Size != 3 {
					t.Errorf("%s: CREATE: %d bytes", u.name, res.OK.ObjAttributes.Attributes.Size)
				}
				return res.Status, res.OK.ObjAttributes.Attributes
			},
			"MKDIR": func() (nfs3.Status, nfs3.Attr) {
				res, err := u.c.MkDir(t.Context(), &nfs3.MkDirArgs{Where: u.c.at(dir, "dir"), Attributes: set})
				check(t, err)
				return res.Status, res.OK.ObjAttributes.Attributes
			},
			"SYMLINK": func() (nfs3.Status, nfs3.Attr) {
				res, err := u.c.SymLink(t.Context(), &nfs3.SymLinkArgs{Where: u.c.at(dir, "link"), SymLink: nfs3.SymLinkData{Attributes: set, Path: nfs3.Path("to")}})
				check(t, err)
				return res.Status, res.OK.ObjAttributes.Attributes
			},
			"MKNOD": func() (nfs3.Status, nfs3.Attr) {
				res, err := u.c.MkNod(t.Context(), &nfs3.MkNodArgs{Where: u.c.at(dir, "node"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo, PipeAttributes: set}})
				check(t, err)
				return res.Status, res.OK.ObjAttributes.Attributes
			},
		} {
			code, a := call()
			want(t, u.name+": "+name, code, nfs3.StatusOK)
			if uint32(a.UID) != u.uid || uint32(a.GID) != u.gid {
				t.Errorf("%s: the object of %s is of %d:%d, expected %d:%d", u.name, name, a.UID, a.GID, u.uid, u.gid)
			}
		}
	}
}

// A WRITE clears the file's set-ID bits before it changes the data, so that they are gone even if
// it fails after a part of the data. A WRITE by a user other than the owner clears them, too. A
// WRITE by root leaves them (write(2)).
func TestWriteClearsSetIDs(t *testing.T) {
	needRoot(t)
	e := newSmallExport(t, "size=64k")
	owner, other := e.client(t, auth(t, 1000, 1000)), e.client(t, auth(t, 3000, 3000))
	for _, tt := range []struct {
		name  string
		c     *client
		bytes int
		code  nfs3.Status
		want  nfs3.Mode
	}{
		{"the owner", owner, 1, nfs3.StatusOK, 0o777},
		{"another user", other, 1, nfs3.StatusOK, 0o777},
		{"another user, nothing", other, 0, nfs3.StatusOK, 0o6777},
		{"another user, more than the disk has", other, 1 << 19, nfs3.StatusNospc, 0o777},
	} {
		h := e.file(t, owner, "file", 1000, 1000, 0o6777)
		want(t, "WRITE by "+tt.name, tt.c.write(t, h, 0, make([]byte, tt.bytes), nfs3.StableHowUnstable).Status, tt.code)
		if a, _ := owner.attr(t, h); a.Mode != tt.want {
			t.Errorf("WRITE by %s: mode %04o, expected %04o", tt.name, a.Mode, tt.want)
		}
	}
	h := e.file(t, owner, "file", 1000, 1000, 0o6777)
	want(t, "SETATTR of the size by another user", other.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 1}}), nfs3.StatusOK)
	if a, _ := owner.attr(t, h); a.Mode != 0o777 {
		t.Errorf("SETATTR of the size by another user: mode %04o", a.Mode)
	}
}

// A WRITE and a SETATTR of the size by root leave the set-ID bits, as write(2) and truncate(2) do.
func TestRootWriteKeepsSetIDs(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	root := e.client(t, auth(t, 0, 0))
	h := e.file(t, root, "file", 1000, 1000, 0o6755)
	want(t, "WRITE", root.write(t, h, 0, []byte("x"), nfs3.StableHowUnstable).Status, nfs3.StatusOK)
	want(t, "SETATTR of the size", root.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 1}}), nfs3.StatusOK)
	if a, _ := root.attr(t, h); a.Mode != 0o6755 {
		t.Errorf("mode %04o, expected 6755", a.Mode)
	}
}
