package nfsd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// procedure is a call of a procedure with a handle for each of its handles.
type procedure struct {
	name   string
	adds   bool // adds a name to a directory
	writes bool // changes something
	call   func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status
}

// calling returns a call by a method of the stubs.
func calling[A any, R xdr.Value](args func(c *client, h nfs3.Handle) A, call func(c *client, t *testing.T, a *A) (R, error), status func(R) nfs3.Status) func(*testing.T, *client, nfs3.Handle) nfs3.Status {
	return func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status {
		t.Helper()
		a := args(c, h)
		res, err := call(c, t, &a)
		check(t, err)
		return status(res)
	}
}

// procedures are all that have a handle.
var procedures = []procedure{
	{"GETATTR", false, false, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { _, code := c.attr(t, h); return code }},
	{"SETATTR", false, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { return c.setattr(t, h, setTimes(1)) }},
	{"LOOKUP", false, false, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { _, code := c.lookup(t, h, "."); return code }},
	{"ACCESS", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.AccessArgs { return nfs3.AccessArgs{Object: h, Access: 1} },
		func(c *client, t *testing.T, a *nfs3.AccessArgs) (*nfs3.AccessRes, error) {
			return c.Access(t.Context(), a)
		},
		func(r *nfs3.AccessRes) nfs3.Status { return r.Status })},
	{"READLINK", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.ReadLinkArgs { return nfs3.ReadLinkArgs{SymLink: h} },
		func(c *client, t *testing.T, a *nfs3.ReadLinkArgs) (*nfs3.ReadLinkRes, error) {
			return c.ReadLink(t.Context(), a)
		},
		func(r *nfs3.ReadLinkRes) nfs3.Status { return r.Status })},
	{"READ", false, false, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { return c.read(t, h, 0, 1).Status }},
	{"WRITE", false, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status {
		return c.write(t, h, 0, []byte("x"), 0).Status
	}},
	{"CREATE", true, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status {
		_, code := c.create(t, h, "create")
		return code
	}},
	{"MKDIR", true, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status {
		_, code := c.mkdir(t, h, "mkdir")
		return code
	}},
	{"SYMLINK", true, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status {
		_, code := c.symlink(t, h, "symlink", "to")
		return code
	}},
	{"MKNOD", true, true, calling(
		func(c *client, h nfs3.Handle) nfs3.MkNodArgs {
			return nfs3.MkNodArgs{Where: c.at(h, "mknod"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo}}
		},
		func(c *client, t *testing.T, a *nfs3.MkNodArgs) (*nfs3.MkNodRes, error) {
			return c.MkNod(t.Context(), a)
		},
		func(r *nfs3.MkNodRes) nfs3.Status { return r.Status })},
	{"REMOVE", false, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { return c.remove(t, h, "none") }},
	{"RMDIR", false, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { return c.rmdir(t, h, "none") }},
	{"RENAME", false, true, func(t *testing.T, c *client, h nfs3.Handle) nfs3.Status { return c.rename(t, h, "none", h, "new") }},
	{"LINK", false, true, calling(
		func(c *client, h nfs3.Handle) nfs3.LinkArgs { return nfs3.LinkArgs{File: h, Link: c.at(h, "link")} },
		func(c *client, t *testing.T, a *nfs3.LinkArgs) (*nfs3.LinkRes, error) { return c.Link(t.Context(), a) },
		func(r *nfs3.LinkRes) nfs3.Status { return r.Status })},
	{"READDIR", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.ReadDirArgs { return nfs3.ReadDirArgs{Dir: h, Count: 8192} },
		func(c *client, t *testing.T, a *nfs3.ReadDirArgs) (*nfs3.ReadDirRes, error) {
			return c.ReadDir(t.Context(), a)
		},
		func(r *nfs3.ReadDirRes) nfs3.Status { return r.Status })},
	{"READDIRPLUS", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.ReadDirPlusArgs {
			return nfs3.ReadDirPlusArgs{Dir: h, DirCount: 8192, MaxCount: 8192}
		},
		func(c *client, t *testing.T, a *nfs3.ReadDirPlusArgs) (*nfs3.ReadDirPlusRes, error) {
			return c.ReadDirPlus(t.Context(), a)
		},
		func(r *nfs3.ReadDirPlusRes) nfs3.Status { return r.Status })},
	{"FSSTAT", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.FSStatArgs { return nfs3.FSStatArgs{FSRoot: h} },
		func(c *client, t *testing.T, a *nfs3.FSStatArgs) (*nfs3.FSStatRes, error) {
			return c.FSStat(t.Context(), a)
		},
		func(r *nfs3.FSStatRes) nfs3.Status { return r.Status })},
	{"FSINFO", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.FSInfoArgs { return nfs3.FSInfoArgs{FSRoot: h} },
		func(c *client, t *testing.T, a *nfs3.FSInfoArgs) (*nfs3.FSInfoRes, error) {
			return c.FSInfo(t.Context(), a)
		},
		func(r *nfs3.FSInfoRes) nfs3.Status { return r.Status })},
	{"PATHCONF", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.PathConfArgs { return nfs3.PathConfArgs{Object: h} },
		func(c *client, t *testing.T, a *nfs3.PathConfArgs) (*nfs3.PathConfRes, error) {
			return c.PathConf(t.Context(), a)
		},
		func(r *nfs3.PathConfRes) nfs3.Status { return r.Status })},
	{"COMMIT", false, false, calling(
		func(_ *client, h nfs3.Handle) nfs3.CommitArgs { return nfs3.CommitArgs{File: h} },
		func(c *client, t *testing.T, a *nfs3.CommitArgs) (*nfs3.CommitRes, error) {
			return c.Commit(t.Context(), a)
		},
		func(r *nfs3.CommitRes) nfs3.Status { return r.Status })},
}

// Each procedure refuses a forged handle, a stale one, and a change of a read-only export.
func TestEachProcedure(t *testing.T) {
	if len(procedures) != 21 {
		t.Fatalf("%d procedures, RFC 1813 has 21 with a handle", len(procedures))
	}
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	gone, _ := c.mkdir(t, c.root, "gone")
	want(t, "RMDIR", c.rmdir(t, c.root, "gone"), nfs3.StatusOK)
	forged := slices.Clone(c.root.Data)
	forged[len(forged)-1] ^= 1
	readOnly := newExport(t, nfsd.Config{ReadOnly: true}).client(t, auth(t, 1000, 1000))
	for _, p := range procedures {
		for _, h := range [][]byte{nil, forged, make([]byte, 64)} {
			want(t, p.name+" of a forged handle", p.call(t, c, nfs3.Handle{Data: h}), nfs3.StatusBadhandle)
		}
		want(t, p.name+" of a stale handle", p.call(t, c, gone), nfs3.StatusStale)
		if code := p.call(t, readOnly, readOnly.root); p.writes != (code == nfs3.StatusRofs) {
			t.Errorf("%s of a read-only export: %v", p.name, code)
		}
	}
}

// If a file system has no space for another name, each procedure that adds one returns
// NFS3ERR_NOSPC. The other procedures still work.
func TestNoInodes(t *testing.T) {
	e := newSmallExport(t, "nr_inodes=2")
	c := e.client(t, auth(t, 1000, 1000))
	_, code := c.create(t, c.root, "last")
	want(t, "CREATE", code, nfs3.StatusOK)
	for _, p := range procedures {
		if p.adds {
			want(t, p.name, p.call(t, c, c.root), nfs3.StatusNospc)
		}
	}
	if names := c.list(t, c.root, true, 8192, nil); !slices.Equal(slices.Sorted(slices.Values(names)), []string{".", "..", "last"}) {
		t.Errorf("the directory has %q", names)
	}
	want(t, "REMOVE", c.remove(t, c.root, "last"), nfs3.StatusOK)
	_, code = c.mkdir(t, c.root, "next")
	want(t, "MKDIR", code, nfs3.StatusOK)
}

// MNT of a path longer than RFC 1813 §5 has is refused: the call does not decode.
func TestMountOfLongPath(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	res, err := c.mount.Mount(t.Context(), mount3.DirPath("/export/"+strings.Repeat("x/", (mount3.PathSize-8)/2)))
	check(t, err)
	if res.Status != mount3.StatusNoent {
		t.Errorf("MNT of %d bytes: %v", mount3.PathSize, res.Status)
	}
	if _, err = c.mount.Mount(t.Context(), mount3.DirPath(strings.Repeat("x", mount3.PathSize+1))); err == nil {
		t.Error("MNT of a longer path: no error")
	}
}
