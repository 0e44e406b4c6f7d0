package nfsd_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// SETATTR sets the times of a symbolic link itself, by its owner only. The mode of a link cannot be
// changed.
func TestLinkTimes(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{})
	c, other := e.client(t, auth(t, 1000, 1000)), e.client(t, auth(t, 2000, 2000))
	canary := filepath.Join(e.outside, "canary")
	before, err := os.Stat(canary)
	check(t, err)
	dir, _ := c.mkdir(t, c.root, "dir")
	link, _ := c.symlink(t, dir, "link", canary)
	want(t, "SETATTR", c.setattr(t, link, setTimes(1_000_000)), nfs3.StatusOK)
	if a, _ := c.attr(t, link); a.Mtime != (nfs3.Time{Seconds: 1_000_000, Nseconds: 5}) || a.Atime != a.Mtime {
		t.Errorf("the times are %v and %v", a.Atime, a.Mtime)
	}
	only := nfs3.SetAttr{Mtime: setTimes(2_000_000).Mtime}
	want(t, "SETATTR of mtime", c.setattr(t, link, only), nfs3.StatusOK)
	if a, _ := c.attr(t, link); a.Mtime.Seconds != 2_000_000 || a.Mtime == a.Atime {
		t.Errorf("the times are %v and %v", a.Atime, a.Mtime)
	}
	now := nfs3.SetAttr{Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime}}
	want(t, "SETATTR to the server's time", c.setattr(t, link, now), nfs3.StatusOK)
	if a, _ := c.attr(t, link); a.Mtime.Seconds <= 2_000_000 {
		t.Errorf("the time is %v", a.Mtime)
	}
	want(t, "SETATTR by others", other.setattr(t, link, setTimes(3_000_000)), nfs3.StatusPerm)
	chmod := nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o777}}
	want(t, "SETATTR of the mode", c.setattr(t, link, chmod), nfs3.StatusNotsupp)
	if after, err := os.Stat(canary); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file outside has time %v, it had %v: %v", after.ModTime(), before.ModTime(), err)
	}
}

// Devices are for root, if the export allows it (RFC 1813 §3.3.11).
func TestDevices(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{AllowRoot: true})
	root, user := e.client(t, auth(t, 0, 0)), e.client(t, auth(t, 1000, 1000))
	mknod := func(c *client, name string, kind nfs3.FileType, major, minor uint32) (*nfs3.MkNodRes, nfs3.Status) {
		device := nfs3.DeviceData{Spec: nfs3.SpecData{Specdata1: major, Specdata2: minor}}
		device.DevAttributes.Mode = nfs3.SetMode{SetIt: true, Mode: 0o640}
		res, err := c.MkNod(t.Context(), &nfs3.MkNodArgs{Where: c.at(c.root, name), What: nfs3.MkNodData{Type: kind, Device: device}})
		check(t, err)
		return res, res.Status
	}
	for _, kind := range []nfs3.FileType{nfs3.FileTypeChr, nfs3.FileTypeBlk} {
		_, code := mknod(user, "user", kind, 1, 3)
		want(t, "MKNOD by a user", code, nfs3.StatusPerm)
		_, code = mknod(root, "large", kind, 1<<12, 3)
		want(t, "MKNOD of a major number of 13 bits", code, nfs3.StatusInval)
		_, code = mknod(root, "large", kind, 1, 1<<20)
		want(t, "MKNOD of a minor number of 21 bits", code, nfs3.StatusInval)
		name := kind.String()
		res, code := mknod(root, name, kind, 0x123, 0x45678)
		want(t, "MKNOD", code, nfs3.StatusOK)
		a := res.OK.ObjAttributes.Attributes
		if a.Type != kind || a.Mode != 0o640 || a.Rdev != (nfs3.SpecData{Specdata1: 0x123, Specdata2: 0x45678}) {
			t.Errorf("MKNOD: %+v", a)
		}
		var st syscall.Stat_t
		if check(t, syscall.Lstat(filepath.Join(e.dir, name), &st)); st.Rdev != 0x45612378 {
			t.Errorf("the device is %#x", st.Rdev)
		}
		want(t, "READ of a device", root.read(t, res.OK.Obj.Handle, 0, 1).Status, nfs3.StatusInval)
		want(t, "WRITE to a device", root.write(t, res.OK.Obj.Handle, 0, []byte("x"), 0).Status, nfs3.StatusInval)
		want(t, "REMOVE", root.remove(t, root.root, name), nfs3.StatusOK)
	}
}
