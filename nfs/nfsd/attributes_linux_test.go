package nfsd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A caller without AUTH_SYS, and user 0, have the user and the group of the configuration.
func TestAnonymousHasItsOwnGroup(t *testing.T) {
	needRoot(t)
	const unset = 65534 // the default
	for _, tt := range []struct{ uid, gid, wantUID, wantGID uint32 }{
		{1001, 2002, 1001, 2002}, {1001, 0, 1001, unset}, {0, 2002, unset, 2002},
	} {
		e := newExport(t, nfsd.Config{Async: true, AnonUID: tt.uid, AnonGID: tt.gid})
		for name, cred := range map[string]oncrpc.OpaqueAuth{"none": {}, "root": auth(t, 0, 0)} {
			c := e.client(t, cred)
			h, code := c.create(t, c.root, name)
			want(t, "CREATE", code, nfs3.StatusOK)
			if a, _ := c.attr(t, h); a.UID != nfs3.UID(tt.wantUID) || a.GID != nfs3.GID(tt.wantGID) {
				t.Errorf("%s: the file is of %d:%d, expected %d:%d", name, a.UID, a.GID, tt.wantUID, tt.wantGID)
			}
		}
	}
}

// Root may use a directory whatever its mode.
func TestRootUsesDirectoryOfMode0(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true, AllowRoot: true})
	s := e.directory(t, e.client(t, auth(t, 0, 0)), 0)
	for _, op := range operations[:6] { // the last one adds a name
		want(t, op.name, op.call(s), nfs3.StatusOK)
	}
}

// A caller that may write a file sets its times to now. Only the owner sets one of them to another
// time (RFC 1813 §3.3.2). A caller that may not write changes neither.
func TestEachTimeNeedsItsRight(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	other := e.client(t, auth(t, 3000, 3000))
	at := nfs3.Time{Seconds: 5}
	for _, tt := range []struct {
		name         string
		set          nfs3.SetAttr
		write, other nfs3.Status // with and without the right to write
	}{
		{"atime", nfs3.SetAttr{Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: at}}, nfs3.StatusPerm, nfs3.StatusPerm},
		{"mtime", nfs3.SetAttr{Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: at}}, nfs3.StatusPerm, nfs3.StatusPerm},
		{"atime to now", nfs3.SetAttr{Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToServerTime}}, nfs3.StatusOK, nfs3.StatusAcces},
		{"mtime to now", nfs3.SetAttr{Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime}}, nfs3.StatusOK, nfs3.StatusAcces},
	} {
		want(t, tt.name+" of a file that may be written", other.setattr(t, e.file(t, other, "file", 1000, 1000, 0o666), tt.set), tt.write)
		want(t, tt.name+" of another file", other.setattr(t, e.file(t, other, "file", 1000, 1000, 0o644), tt.set), tt.other)
	}
}

// A SETATTR of the mode that a file already has counts as a change: it updates the file's ctime, as
// chmod(2) does. A SETATTR of the times alone leaves the mode.
func TestTheSameModeIsAChange(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	h, _ := c.create(t, c.root, "file")
	before, _ := c.attr(t, h)
	// The clock of the file system has ticks.
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		want(t, "SETATTR", c.setattr(t, h, setMode(before.Mode)), nfs3.StatusOK)
		if after, _ := c.attr(t, h); after.Ctime != before.Ctime {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the time of the last change stays")
		}
	}
}

// The attributes before a change have the file's ctime, which differs from its mtime.
func TestAttributesBeforeAChange(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	h, _ := c.create(t, c.root, "file")
	want(t, "SETATTR", c.setattr(t, h, setTimes(1000)), nfs3.StatusOK)
	a, _ := c.attr(t, h)
	res, err := c.SetAttr(t.Context(), &nfs3.SetAttrArgs{Object: h, NewAttributes: setMode(0o600)})
	check(t, err)
	if got := (nfs3.WccAttr{Size: a.Size, Mtime: a.Mtime, Ctime: a.Ctime}); res.OK.ObjWcc.Before.Attributes != got || a.Mtime == a.Ctime {
		t.Errorf("before SETATTR: %+v, expected %+v", res.OK.ObjWcc.Before.Attributes, got)
	}
}

// A directory in one with the set-group-ID bit has this bit and all that the caller asked for.
func TestInheritedBitLeavesTheOthers(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	check(t, os.Chmod(e.dir, 0o777|os.ModeSetgid))
	res, err := c.MkDir(t.Context(), &nfs3.MkDirArgs{Where: c.at(c.root, "dir"), Attributes: setMode(0o1750)})
	check(t, err)
	if a := res.OK.ObjAttributes.Attributes; a.Mode != 0o3750 {
		t.Errorf("mode %04o, expected 3750", a.Mode)
	}
}

// Calls that fail return the attributes that their results have room for (RFC 1813 §2.6).
func TestFailedCallsReturnAttributes(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	owner, c := e.client(t, auth(t, 1000, 1000)), e.client(t, auth(t, 3000, 3000))
	h := e.file(t, owner, "file", 1000, 1000, 0o600)
	a, _ := c.attr(t, h)
	inRoot, _ := c.attr(t, c.root)
	follows := func(what string, got nfs3.PostOpAttr, want nfs3.Attr) {
		t.Helper()
		if !got.AttributesFollow || got.Attributes.FileID != want.FileID || got.Attributes.Mode != want.Mode {
			t.Errorf("%s: attributes %+v, expected %+v", what, got, want)
		}
	}
	create, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeGuarded}})
	check(t, err)
	want(t, "CREATE", create.Status, nfs3.StatusExist)
	follows("CREATE", create.Fail.DirWcc.After, inRoot)
	set, err := owner.SetAttr(t.Context(), &nfs3.SetAttrArgs{Object: h, Guard: nfs3.SetAttrGuard{Check: true}})
	check(t, err)
	want(t, "SETATTR", set.Status, nfs3.StatusNotSync)
	follows("SETATTR", set.Fail.ObjWcc.After, a)
	link, err := c.ReadLink(t.Context(), &nfs3.ReadLinkArgs{SymLink: h})
	check(t, err)
	want(t, "READLINK", link.Status, nfs3.StatusInval)
	follows("READLINK", link.Fail.Attributes, a)
	write := c.write(t, h, 0, []byte("x"), nfs3.StableHowUnstable)
	want(t, "WRITE", write.Status, nfs3.StatusAcces)
	follows("WRITE", write.Fail.FileWcc.After, a)
}

// A listing takes all of the size that the client gives: one with exactly the size of the whole
// directory returns the whole.
func TestListingFillsItsSize(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	for _, name := range []string{"a", "bc", "def", "ghij"} {
		_, code := c.create(t, c.root, name)
		want(t, "CREATE", code, nfs3.StatusOK)
	}
	read := func(count int) (entries int, size int) {
		res, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: nfs3.Count(count)})
		check(t, err)
		want(t, "READDIR", res.Status, nfs3.StatusOK)
		return len(res.OK.Reply.Entries), res.OK.XDRSize()
	}
	all, size := read(8192)
	if n, _ := read(size); n != all {
		t.Errorf("%d bytes, the size of %d entries: %d", size, all, n)
	}
	if n, _ := read(size - 4); n != all-1 {
		t.Errorf("%d bytes less: %d entries, expected %d", 4, n, all-1)
	}
}

// Strict cookies notice a change whose time has the nanoseconds of the one before.
func TestStrictCookiesHaveSeconds(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true, StrictCookies: true})
	c := e.client(t, auth(t, 1000, 1000))
	at := time.Unix(1_000_000, 7)
	check(t, os.Chtimes(e.dir, at, at))
	first, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 300})
	check(t, err)
	at = at.Add(time.Second)
	check(t, os.Chtimes(e.dir, at, at))
	res, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 300, Cookie: first.OK.Reply.Entries[0].Cookie, CookieVerf: first.OK.CookieVerf})
	check(t, err)
	want(t, "READDIR after a change", res.Status, nfs3.StatusBadCookie)
}

// COMMIT closes the file that it stores.
func TestCommitLeavesNoFileOpen(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	h, _ := c.create(t, c.root, "file")
	at := filepath.Join(e.dir, "file")
	for range 3 {
		res, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: h})
		check(t, err)
		want(t, "COMMIT", res.Status, nfs3.StatusOK)
	}
	open, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	for _, fd := range open {
		if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); name == at {
			t.Errorf("descriptor %s is %s", fd.Name(), name)
		}
	}
}
