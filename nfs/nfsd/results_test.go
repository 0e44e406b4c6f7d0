package nfsd_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// UNCHECKED CREATE of a file that exists sets its size and nothing else, and returns the new
// attributes. GUARDED refuses it, and so does EXCLUSIVE with another verifier (RFC 1813 §3.3.8).
func TestCreateOfExistingFile(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	c.write(t, file, 0, []byte("data"), nfs3.StableHowUnstable)
	set := setTimes(7)
	set.Mode, set.Size = nfs3.SetMode{SetIt: true, Mode: 0o777}, nfs3.SetSize{SetIt: true, Size: 1}
	res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{ObjAttributes: set}})
	check(t, err)
	want(t, "CREATE", res.Status, nfs3.StatusOK)
	a := res.OK.ObjAttributes.Attributes
	if a.Size != 1 || a.Mode != 0o644 || a.Mtime.Seconds == 7 {
		t.Errorf("CREATE: %d bytes, mode %04o, time %v", a.Size, a.Mode, a.Mtime)
	}
	for _, mode := range []nfs3.CreateMode{nfs3.CreateModeGuarded, nfs3.CreateModeExclusive} {
		res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{Mode: mode, ObjAttributes: nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}}})
		check(t, err)
		want(t, fmt.Sprint("CREATE ", mode), res.Status, nfs3.StatusExist)
	}
	if now, _ := c.attr(t, file); now != a || string(res.OK.Obj.Handle.Data) != string(file.Data) {
		t.Errorf("CREATE returned %v, GETATTR %v", a, now)
	}
	for _, name := range []string{"pipe", "link", "dir"} {
		switch name {
		case "link":
			_, _ = c.symlink(t, c.root, name, "file")
		case "dir":
			_, _ = c.mkdir(t, c.root, name)
		case "pipe":
			node, err := c.MkNod(t.Context(), &nfs3.MkNodArgs{Where: c.at(c.root, name), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo}})
			check(t, err)
			if node.Status == nfs3.StatusNotsupp {
				continue // not on this system
			}
		}
		for mode := nfs3.CreateModeUnchecked; mode <= nfs3.CreateModeExclusive; mode++ {
			res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, name), How: nfs3.CreateHow{Mode: mode}})
			check(t, err)
			want(t, fmt.Sprintf("CREATE %v of a %s", mode, name), res.Status, nfs3.StatusExist)
		}
	}
}

// An exclusive CREATE takes a file with its own verifier only: all eight bytes count but the two
// highest bits, which no file system keeps.
func TestExclusiveVerifier(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	create := func(verf nfs3.CreateVerf) nfs3.Status {
		res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive, Verf: verf}})
		check(t, err)
		return res.Status
	}
	verf := nfs3.CreateVerf{1, 2, 3, 4, 5, 6, 7, 8}
	want(t, "CREATE", create(verf), nfs3.StatusOK)
	want(t, "the same CREATE again", create(verf), nfs3.StatusOK)
	for i := range verf {
		other := verf
		other[i] ^= 1
		want(t, fmt.Sprintf("CREATE with another byte %d", i), create(other), nfs3.StatusExist)
	}
	for i := range 2 {
		same := verf
		same[4*i] |= 0x80
		want(t, fmt.Sprintf("CREATE with another highest bit of word %d", i), create(same), nfs3.StatusOK)
	}
}

// A listing has the attributes and the handle of each entry but "..", stays below its limits, and
// shows nothing above the export.
func TestListingLimits(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	sub, _ := c.mkdir(t, c.root, "sub")
	for _, dir := range []nfs3.Handle{c.root, sub} {
		res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 8192, MaxCount: 8192})
		check(t, err)
		self, _ := c.attr(t, dir)
		root, _ := c.attr(t, c.root)
		for _, entry := range res.OK.Reply.Entries {
			up := string(entry.Name) == ".."
			if entry.NameHandle.HandleFollows == up || entry.NameAttributes.AttributesFollow == up {
				t.Errorf("%s: handle %v, attributes %v", entry.Name, entry.NameHandle.HandleFollows, entry.NameAttributes.AttributesFollow)
			}
			if up && entry.FileID != root.FileID || string(entry.Name) == "." && entry.FileID != self.FileID {
				t.Errorf("%s has number %d", entry.Name, entry.FileID)
			}
		}
	}
	for i := range 200 {
		name := strings.Repeat("x", i%7) + fmt.Sprint(i)
		check(t, os.WriteFile(filepath.Join(e.dir, "sub", name), nil, 0o644))
	}
	for count := nfs3.Count(400); count < 3000; count += 37 {
		plus, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: sub, DirCount: count, MaxCount: count})
		check(t, err)
		plain, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: sub, Count: count})
		check(t, err)
		// The counts are for the results without the status (RFC 1813 §3.3.16, §3.3.17).
		if n := plus.OK.XDRSize(); n > int(count) || len(plus.OK.Reply.Entries) == 0 {
			t.Errorf("READDIRPLUS of %d bytes: %d", count, n)
		}
		if n := plain.OK.XDRSize(); n > int(count) || n < int(count)-64 {
			t.Errorf("READDIR of %d bytes: %d", count, n)
		}
	}
}

// A READ returns 1 MiB at most, the rest of the file at its end, and says that it is the end only
// there (RFC 1813 §3.3.6).
func TestReadLimits(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	data := pattern(3, 1<<20+5000)
	check(t, os.WriteFile(filepath.Join(e.dir, "file"), data, 0o644))
	file, _ := c.lookup(t, c.root, "file")
	size := uint64(len(data))
	for _, tt := range []struct {
		offset uint64
		count  uint32
		n      int
		eof    bool
	}{
		{0, 1<<32 - 1, 1 << 20, false},
		{0, 10, 10, false},
		{5000, 1 << 20, 1 << 20, true},
		{4999, 1 << 20, 1 << 20, false},
		{size - 10, 9, 9, false},
		{size - 10, 10, 10, true},
		{size - 10, 11, 10, true},
		{size, 1, 0, true},
		{size + 1, 1, 0, true},
		{1<<64 - 1, 1, 0, true},
		{0, 0, 0, false},
	} {
		res := c.read(t, file, tt.offset, tt.count)
		if res.Status != nfs3.StatusOK || len(res.OK.Data) != tt.n || int(res.OK.Count) != tt.n || res.OK.EOF != tt.eof {
			t.Errorf("READ of %d at %d: %v, %d bytes, end %v, expected %d and %v", tt.count, tt.offset, res.Status, len(res.OK.Data), res.OK.EOF, tt.n, tt.eof)
		} else if tt.n > 0 && string(res.OK.Data) != string(data[tt.offset:][:tt.n]) {
			t.Errorf("READ of %d at %d: other data", tt.count, tt.offset)
		}
	}
}

// The guard of SETATTR is the whole time of the last change, with its nanoseconds (RFC 1813
// §3.3.2).
func TestGuardIsExact(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	a, _ := c.attr(t, file)
	for _, off := range []struct {
		sec, nsec uint32
		code      nfs3.Status
	}{{0, 1, nfs3.StatusNotSync}, {1, 0, nfs3.StatusNotSync}, {0, 0, nfs3.StatusOK}} {
		guard := nfs3.Time{Seconds: a.Ctime.Seconds + off.sec, Nseconds: a.Ctime.Nseconds ^ off.nsec}
		res, err := c.SetAttr(t.Context(), &nfs3.SetAttrArgs{Object: file, NewAttributes: setTimes(9), Guard: nfs3.SetAttrGuard{Check: true, ObjCtime: guard}})
		check(t, err)
		want(t, fmt.Sprintf("SETATTR with a guard that is off by %+v", off), res.Status, off.code)
	}
}

// The list of mounts has each directory of a host once, and no more than 1,024: the oldest goes
// first. A host removes its own alone (RFC 1813 §5.2.3, §5.2.4).
func TestListOfMounts(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	server, err := tcp.Listen(t.Context(), "127.0.0.1:0", e.server.Handler(), nil)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	from := func(host string) *mount3rpc.Client {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
		nc, err := d.DialContext(t.Context(), "tcp", server.Addr())
		if err != nil {
			t.Skipf("an address of this host: %v", err) // not every system has all of 127.0.0.0/8
		}
		conn := tcp.NewConn(nc, nil)
		t.Cleanup(func() { check(t, conn.Close()) })
		return mount3rpc.NewClient(conn, nil)
	}
	one, two := from("127.0.0.1"), from("127.0.0.2")
	mount := func(c *mount3rpc.Client, dir string) {
		res, err := c.Mount(t.Context(), mount3.DirPath(dir))
		check(t, err)
		if res.Status != mount3.StatusOK {
			t.Fatalf("MNT of %s: %v", dir, res.Status)
		}
	}
	list := func() (all []string) {
		mounts, err := two.Dump(t.Context())
		check(t, err)
		for _, m := range mounts {
			all = append(all, string(m.HostName)+" "+string(m.Directory))
		}
		return all
	}
	same := func(want ...string) {
		t.Helper()
		if got := list(); !slices.Equal(got, want) {
			t.Errorf("DUMP: %q, expected %q", got, want)
		}
	}
	check(t, os.Mkdir(filepath.Join(e.dir, "a"), 0o755))
	mount(one, "/export")
	mount(two, "/export")
	mount(one, "/export/a")
	mount(one, "/export/")
	same("127.0.0.2 /export", "127.0.0.1 /export/a", "127.0.0.1 /export")
	check(t, one.Unmount(t.Context(), mount3.DirPath("/export")))
	same("127.0.0.2 /export", "127.0.0.1 /export/a")
	mount(one, "/export")
	check(t, two.UnmountAll(t.Context()))
	same("127.0.0.1 /export/a", "127.0.0.1 /export")
	for i := range 1025 {
		dir := fmt.Sprint("dir", i)
		check(t, os.Mkdir(filepath.Join(e.dir, dir), 0o755))
		mount(two, "/export/"+dir)
	}
	if all := list(); len(all) != 1024 || all[0] != "127.0.0.2 /export/dir1" {
		t.Errorf("%d mounts, the oldest is %s", len(all), all[0])
	}
}

// MOUNT has fewer statuses than NFS: another one is MNT3ERR_SERVERFAULT. UMNT takes a path in any
// form that MOUNT takes.
func TestMountHasItsOwnStatuses(t *testing.T) {
	for code, want := range map[nfs3.Status]mount3.Status{
		nfs3.StatusOK: mount3.StatusOK, nfs3.StatusAcces: mount3.StatusAcces, nfs3.StatusNotdir: mount3.StatusNotdir,
		nfs3.StatusStale: mount3.StatusServerfault, nfs3.StatusJukebox: mount3.StatusServerfault,
	} {
		if got := nfsd.MountStatusOf(code); got != want {
			t.Errorf("%v: %v, expected %v", code, got, want)
		}
	}
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	check(t, c.mount.Unmount(t.Context(), mount3.DirPath("//export/./")))
	list, err := c.mount.Dump(t.Context())
	check(t, err)
	if len(list) != 0 {
		t.Errorf("after UMNT: %v", list)
	}
}

// A path of 1,024 bytes may become longer when a client leaves out its first slash.
func TestLongestMountPath(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	res, err := c.mount.Mount(t.Context(), mount3.DirPath(strings.Repeat("x", mount3.PathSize)))
	check(t, err)
	if res.Status != mount3.StatusNametoolong {
		t.Errorf("MNT: %v", res.Status)
	}
}

// LINK returns the attributes after it, and each name of the file has its handle.
func TestLinkResult(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: c.at(c.root, "link")})
	check(t, err)
	now, _ := c.attr(t, file)
	if want(t, "LINK", res.Status, nfs3.StatusOK); !res.OK.FileAttributes.AttributesFollow || res.OK.FileAttributes.Attributes != now || now.Nlink != 2 {
		t.Errorf("LINK returned %+v, GETATTR %+v", res.OK.FileAttributes, now)
	}
	want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
	if _, code := c.attr(t, file); code != nfs3.StatusOK {
		t.Errorf("GETATTR by the handle of the name that is left: %v", code)
	}
	dir, _ := c.mkdir(t, c.root, "dir")
	res, err = c.Link(t.Context(), &nfs3.LinkArgs{File: dir, Link: c.at(c.root, "other")})
	check(t, err)
	want(t, "LINK of a directory", res.Status, nfs3.StatusIsdir)
}

// NFS has times from 1970 to 2106. Others are zero, not some other time.
func TestTimesOutOfRange(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	for sec, expected := range map[int64]nfs3.Time{
		-1: {}, -1 << 30: {}, 1 << 32: {}, 1<<32 + 5: {}, 0: {Nseconds: 7}, 1<<32 - 1: {Seconds: 1<<32 - 1, Nseconds: 7},
	} {
		at := time.Unix(sec, 7)
		check(t, os.Chtimes(filepath.Join(e.dir, "file"), at, at))
		if local, err := os.Stat(filepath.Join(e.dir, "file")); err != nil || !local.ModTime().Equal(at) {
			continue // the file system does not keep this time
		}
		if a, _ := c.attr(t, file); a.Mtime != expected || a.Atime != expected {
			t.Errorf("time %d: %v and %v, expected %v", sec, a.Atime, a.Mtime, expected)
		}
	}
}

// Objects that are made without a mode have a private one.
func TestDefaultModes(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "file")})
	check(t, err)
	exclusive, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, "exclusive"), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}})
	check(t, err)
	dir, err := c.MkDir(t.Context(), &nfs3.MkDirArgs{Where: c.at(c.root, "dir")})
	check(t, err)
	for name, tt := range map[string]struct{ got, want nfs3.Mode }{
		"CREATE":           {file.OK.ObjAttributes.Attributes.Mode, 0o600},
		"exclusive CREATE": {exclusive.OK.ObjAttributes.Attributes.Mode, 0o600},
		"MKDIR":            {dir.OK.ObjAttributes.Attributes.Mode, 0o700},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: mode %04o, expected %04o", name, tt.got, tt.want)
		}
	}
}

// Results have the attributes that RFC 1813 allows, of refused calls, too, and a server whose
// replies do not wait for the disk answers with the stability that was asked for.
func TestAttributesInResults(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	dir, _ := c.mkdir(t, c.root, "dir")
	now, _ := c.attr(t, file)
	inDir, _ := c.attr(t, dir)
	commit, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: file})
	check(t, err)
	if a := commit.OK.FileWcc.After; !a.AttributesFollow || a.Attributes.FileID != now.FileID {
		t.Errorf("COMMIT: %+v", a)
	}
	lookup, err := c.Lookup(t.Context(), &nfs3.LookupArgs{What: c.at(dir, "none")})
	check(t, err)
	if a := lookup.Fail.DirAttributes; lookup.Status != nfs3.StatusNoent || !a.AttributesFollow || a.Attributes != inDir {
		t.Errorf("LOOKUP of no file: %v, %+v", lookup.Status, a)
	}
	rename, err := c.Rename(t.Context(), &nfs3.RenameArgs{From: c.at(c.root, "file"), To: c.at(dir, "moved")})
	check(t, err)
	inDir, _ = c.attr(t, dir)
	inRoot, _ := c.attr(t, c.root)
	if from, to := rename.OK.FromdirWcc, rename.OK.TodirWcc; !from.Before.AttributesFollow || !to.Before.AttributesFollow || from.After.Attributes != inRoot || to.After.Attributes != inDir {
		t.Errorf("RENAME: %+v, %+v", from, to)
	}
	if list, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: dir, Count: 1}); err != nil || list.Status != nfs3.StatusToosmall || list.Fail.DirAttributes.Attributes != inDir {
		t.Errorf("READDIR of 1 byte: %v, %v", list, err)
	}
	for how := nfs3.StableHowUnstable; how <= nfs3.StableHowFileSync; how++ {
		if res := c.write(t, file, 0, []byte("x"), how); res.OK.Committed != how || res.OK.Count != 1 || !res.OK.FileWcc.After.AttributesFollow {
			t.Errorf("WRITE %v: %+v", how, res.OK)
		}
	}
	now, _ = c.attr(t, file)
	read, err := e.client(t, auth(t, 3000, 3000)).Read(t.Context(), &nfs3.ReadArgs{File: dir, Count: 1})
	check(t, err)
	if a := read.Fail.FileAttributes; read.Status != nfs3.StatusIsdir || !a.AttributesFollow || a.Attributes.FileID != inDir.FileID {
		t.Errorf("READ of a directory: %v, %+v", read.Status, a)
	}
	info, err := c.FSInfo(t.Context(), &nfs3.FSInfoArgs{FSRoot: c.root})
	check(t, err)
	const properties = nfs3.PropertyLink | nfs3.PropertySymLink | nfs3.PropertyHomogeneous | nfs3.PropertyCanSetTime
	if i := info.OK; i.Rtmax != 1<<20 || i.Wtmax != 1<<20 || i.Rtpref > i.Rtmax || i.Wtpref > i.Wtmax || i.Properties != properties || !i.ObjAttributes.AttributesFollow {
		t.Errorf("FSINFO: %+v", i)
	}
	conf, err := c.PathConf(t.Context(), &nfs3.PathConfArgs{Object: file})
	check(t, err)
	if p := conf.OK; !p.NoTrunc || !p.ChownRestricted || !p.CasePreserving || p.CaseInsensitive || p.NameMax != 255 || p.ObjAttributes.Attributes.FileID != now.FileID {
		t.Errorf("PATHCONF: %+v", p)
	}
}

// LOOKUP of ".." is the directory above, also after a move, and never above the export.
func TestLookupOfParent(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	a, _ := c.mkdir(t, c.root, "a")
	b, _ := c.mkdir(t, a, "b")
	parent := func(what string, dir, expected nfs3.Handle) {
		t.Helper()
		res, err := c.Lookup(t.Context(), &nfs3.LookupArgs{What: c.at(dir, "..")})
		check(t, err)
		attr, _ := c.attr(t, expected)
		if res.Status != nfs3.StatusOK || string(res.OK.Object.Data) != string(expected.Data) || res.OK.ObjAttributes.Attributes != attr {
			t.Errorf("%s: %v, or another directory", what, res.Status)
		}
	}
	parent("below a", b, a)
	parent("below the export", a, c.root)
	parent("of the export", c.root, c.root)
	want(t, "RENAME", c.rename(t, a, "b", c.root, "c"), nfs3.StatusOK)
	parent("after RENAME", b, c.root)
	self, code := c.lookup(t, b, ".")
	if want(t, "LOOKUP of .", code, nfs3.StatusOK); string(self.Data) != string(b.Data) {
		t.Error("LOOKUP of . is another directory")
	}
}

// setTimes sets both times to a time of the client.
func setTimes(sec uint32) nfs3.SetAttr {
	at := nfs3.Time{Seconds: sec, Nseconds: 5}
	return nfs3.SetAttr{
		Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: at},
		Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: at},
	}
}
