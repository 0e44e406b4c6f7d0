package nfsd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// export is a directory that is served. Next to it is a canary, which no call may touch.
type export struct {
	dir, outside string
	cfg          nfsd.Config
	server       *nfsd.Server
}

const canary = "canary: outside the export"

func newExport(t testing.TB, cfg nfsd.Config) *export {
	t.Helper()
	base := t.TempDir()
	e := &export{dir: filepath.Join(base, "export"), outside: filepath.Join(base, "outside"), cfg: cfg}
	e.cfg.Dir, e.cfg.State = e.dir, filepath.Join(base, "state")
	for _, dir := range []string{e.dir, e.outside} {
		check(t, os.Mkdir(dir, 0o777))
		check(t, os.Chmod(dir, 0o777))
	}
	check(t, os.WriteFile(filepath.Join(e.outside, "canary"), []byte(canary), 0o644))
	check(t, os.Chmod(filepath.Join(e.outside, "canary"), 0o644))
	e.start(t)
	t.Cleanup(func() {
		check(t, e.server.Close())
		e.unharmed(t)
	})
	return e
}

func (e *export) start(t testing.TB) {
	t.Helper()
	var err error
	e.server, err = nfsd.New(e.cfg)
	check(t, err)
}

func (e *export) restart(t testing.TB) {
	t.Helper()
	check(t, e.server.Close())
	e.start(t)
}

// unharmed checks that nothing outside the export has changed.
func (e *export) unharmed(t testing.TB) {
	t.Helper()
	list, err := os.ReadDir(e.outside)
	check(t, err)
	text, err := os.ReadFile(filepath.Join(e.outside, "canary"))
	if err != nil || len(list) != 1 || string(text) != canary {
		t.Errorf("outside the export: %v, %q, %v", list, text, err)
	}
}

// client calls a server as a user.
type client struct {
	*nfs3rpc.Client
	mount   *mount3rpc.Client
	carrier oncrpc.Carrier
	root    nfs3.Handle
}

func auth(t testing.TB, uid, gid uint32, gids ...uint32) oncrpc.OpaqueAuth {
	t.Helper()
	cred, err := (&oncrpc.AuthSysParms{MachineName: []byte("test"), UID: uid, GID: gid, GIDs: gids}).Auth()
	check(t, err)
	return cred
}

// clientOver returns a client over a carrier, with the export mounted.
func clientOver(t testing.TB, c oncrpc.Carrier, cred oncrpc.OpaqueAuth) *client {
	t.Helper()
	cfg := &rpc.ClientConfig{Cred: cred}
	cl := &client{Client: nfs3rpc.NewClient(c, cfg), mount: mount3rpc.NewClient(c, cfg), carrier: c}
	res, err := cl.mount.Mount(context.Background(), mount3.DirPath("/export"))
	check(t, err)
	if res.Status != mount3.StatusOK {
		t.Fatal(res.Status)
	}
	cl.root = nfs3.Handle{Data: res.OK.Handle}
	return cl
}

// client returns a client within the process.
func (e *export) client(t testing.TB, cred oncrpc.OpaqueAuth) *client {
	t.Helper()
	conn := mem.New(e.server.Handler(), nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	return clientOver(t, conn, cred)
}

// overAll runs a test over each carrier.
func overAll(t *testing.T, cfg nfsd.Config, test func(t *testing.T, e *export, c *client)) {
	ctx := context.Background()
	t.Run("mem", func(t *testing.T) {
		e := newExport(t, cfg)
		test(t, e, e.client(t, auth(t, 1000, 1000)))
	})
	t.Run("tcp", func(t *testing.T) {
		e := newExport(t, cfg)
		server, err := tcp.Listen(ctx, "127.0.0.1:0", e.server.Handler(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		conn, err := tcp.Dial(ctx, server.Addr(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, conn.Close()) })
		test(t, e, clientOver(t, conn, auth(t, 1000, 1000)))
	})
	t.Run("rdmatcp", func(t *testing.T) {
		e := newExport(t, cfg)
		dev, err := rdmatcp.Open(nil)
		check(t, err)
		t.Cleanup(func() { check(t, dev.Close()) })
		server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", e.server.Handler(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		conn, err := rdmaio.NewClient(dev, server.Addr(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, conn.Close()) })
		test(t, e, clientOver(t, conn, auth(t, 1000, 1000)))
	})
}

// The helpers of client return the status and what else the tests look at.

func (c *client) at(dir nfs3.Handle, name string) nfs3.DirOpArgs {
	return nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}
}

func (c *client) lookup(t testing.TB, dir nfs3.Handle, name string) (nfs3.Handle, nfs3.Status) {
	t.Helper()
	res, err := c.Lookup(context.Background(), &nfs3.LookupArgs{What: c.at(dir, name)})
	check(t, err)
	return res.OK.Object, res.Status
}

func (c *client) attr(t testing.TB, h nfs3.Handle) (nfs3.Attr, nfs3.Status) {
	t.Helper()
	res, err := c.GetAttr(context.Background(), &nfs3.GetAttrArgs{Object: h})
	check(t, err)
	return res.OK.ObjAttributes, res.Status
}

func (c *client) create(t testing.TB, dir nfs3.Handle, name string) (nfs3.Handle, nfs3.Status) {
	t.Helper()
	how := nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o644}}}
	res, err := c.Create(context.Background(), &nfs3.CreateArgs{Where: c.at(dir, name), How: how})
	check(t, err)
	return res.OK.Obj.Handle, res.Status
}

func (c *client) mkdir(t testing.TB, dir nfs3.Handle, name string) (nfs3.Handle, nfs3.Status) {
	t.Helper()
	set := nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o755}}
	res, err := c.MkDir(context.Background(), &nfs3.MkDirArgs{Where: c.at(dir, name), Attributes: set})
	check(t, err)
	return res.OK.Obj.Handle, res.Status
}

func (c *client) symlink(t testing.TB, dir nfs3.Handle, name, to string) (nfs3.Handle, nfs3.Status) {
	t.Helper()
	res, err := c.SymLink(context.Background(), &nfs3.SymLinkArgs{Where: c.at(dir, name), SymLink: nfs3.SymLinkData{Path: nfs3.Path(to)}})
	check(t, err)
	return res.OK.Obj.Handle, res.Status
}

func (c *client) remove(t testing.TB, dir nfs3.Handle, name string) nfs3.Status {
	t.Helper()
	res, err := c.Remove(context.Background(), &nfs3.RemoveArgs{Object: c.at(dir, name)})
	check(t, err)
	return res.Status
}

func (c *client) rmdir(t testing.TB, dir nfs3.Handle, name string) nfs3.Status {
	t.Helper()
	res, err := c.RmDir(context.Background(), &nfs3.RmDirArgs{Object: c.at(dir, name)})
	check(t, err)
	return res.Status
}

func (c *client) rename(t testing.TB, from nfs3.Handle, old string, to nfs3.Handle, name string) nfs3.Status {
	t.Helper()
	res, err := c.Rename(context.Background(), &nfs3.RenameArgs{From: c.at(from, old), To: c.at(to, name)})
	check(t, err)
	return res.Status
}

func (c *client) setattr(t testing.TB, h nfs3.Handle, set nfs3.SetAttr) nfs3.Status {
	t.Helper()
	res, err := c.SetAttr(context.Background(), &nfs3.SetAttrArgs{Object: h, NewAttributes: set})
	check(t, err)
	return res.Status
}

func (c *client) write(t testing.TB, h nfs3.Handle, offset uint64, data []byte, how nfs3.StableHow) *nfs3.WriteRes {
	t.Helper()
	res, err := c.Write(context.Background(), &nfs3.WriteArgs{File: h, Offset: nfs3.Offset(offset), Count: nfs3.Count(len(data)), Stable: how, Data: data})
	check(t, err)
	return res
}

func (c *client) read(t testing.TB, h nfs3.Handle, offset uint64, count uint32) *nfs3.ReadRes {
	t.Helper()
	res, err := c.Read(context.Background(), &nfs3.ReadArgs{File: h, Offset: nfs3.Offset(offset), Count: nfs3.Count(count)})
	check(t, err)
	return res
}

// want checks a status.
func want(t testing.TB, what string, got, want nfs3.Status) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

// list returns the names of a directory, in order, by READDIR or READDIRPLUS.
func (c *client) list(t testing.TB, dir nfs3.Handle, plus bool, count uint32, each func()) []string {
	t.Helper()
	var names []string
	var cookie nfs3.Cookie
	var verf nfs3.CookieVerf
	for {
		var entries []nfs3.EntryPlus
		var eof bool
		var size int
		if plus {
			res, err := c.ReadDirPlus(context.Background(), &nfs3.ReadDirPlusArgs{Dir: dir, Cookie: cookie, CookieVerf: verf, DirCount: nfs3.Count(count), MaxCount: nfs3.Count(count)})
			check(t, err)
			want(t, "READDIRPLUS", res.Status, nfs3.StatusOK)
			entries, eof, verf, size = res.OK.Reply.Entries, res.OK.Reply.EOF, res.OK.CookieVerf, res.OK.XDRSize()
		} else {
			res, err := c.ReadDir(context.Background(), &nfs3.ReadDirArgs{Dir: dir, Cookie: cookie, CookieVerf: verf, Count: nfs3.Count(count)})
			check(t, err)
			want(t, "READDIR", res.Status, nfs3.StatusOK)
			for _, e := range res.OK.Reply.Entries {
				entries = append(entries, nfs3.EntryPlus{FileID: e.FileID, Name: e.Name, Cookie: e.Cookie})
			}
			eof, verf, size = res.OK.Reply.EOF, res.OK.CookieVerf, res.OK.XDRSize()
		}
		if size > int(count) {
			t.Fatalf("a listing of %d bytes, count is %d", size, count)
		}
		for _, e := range entries {
			names = append(names, string(e.Name))
			cookie = e.Cookie
		}
		if eof {
			return names
		}
		if len(entries) == 0 {
			t.Fatal("no entries and no end")
		}
		if each != nil {
			each()
		}
	}
}

// pattern returns data that differs from place to place.
func pattern(seed byte, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = seed + byte(i) + byte(i>>8)
	}
	return data
}

// A tree is made, listed, read, renamed and removed over each carrier, as the basic tests of
// Connectathon do (RFC 1813 §3.3).
func TestTree(t *testing.T) {
	overAll(t, nfsd.Config{}, func(t *testing.T, _ *export, c *client) { useTree(t, c) })
}

func useTree(t *testing.T, c *client) {
	t.Helper()
	var dirs []nfs3.Handle
	for _, name := range []string{"a", "b"} {
		dir, code := c.mkdir(t, c.root, name)
		want(t, "MKDIR", code, nfs3.StatusOK)
		dirs = append(dirs, dir)
		for _, name := range []string{"x", "y", "z"} {
			f, code := c.create(t, dir, name)
			want(t, "CREATE", code, nfs3.StatusOK)
			data := pattern(name[0], 300_000)
			res := c.write(t, f, 0, data, nfs3.StableHowFileSync)
			if want(t, "WRITE", res.Status, nfs3.StatusOK); int(res.OK.Count) != len(data) || res.OK.Committed != nfs3.StableHowFileSync {
				t.Errorf("wrote %d, %v", res.OK.Count, res.OK.Committed)
			}
			got := c.read(t, f, 0, 1<<20)
			if want(t, "READ", got.Status, nfs3.StatusOK); !bytes.Equal(got.OK.Data, data) || !got.OK.EOF {
				t.Errorf("read %d bytes, %v", len(got.OK.Data), got.OK.EOF)
			}
		}
	}
	a, b := dirs[0], dirs[1]
	_, code := c.mkdir(t, c.root, "a")
	want(t, "MKDIR of a name that exists", code, nfs3.StatusExist)
	want(t, "RMDIR of a directory with files", c.rmdir(t, c.root, "a"), nfs3.StatusNotempty)
	want(t, "REMOVE of a directory", c.remove(t, c.root, "a"), nfs3.StatusIsdir)
	want(t, "RMDIR of a file", c.rmdir(t, a, "x"), nfs3.StatusNotdir)
	want(t, "REMOVE of a name that does not exist", c.remove(t, a, "w"), nfs3.StatusNoent)

	x, _ := c.lookup(t, a, "x")
	want(t, "RENAME", c.rename(t, a, "x", b, "moved"), nfs3.StatusOK)
	_, code = c.lookup(t, a, "x")
	want(t, "LOOKUP of the old name", code, nfs3.StatusNoent)
	moved, _ := c.lookup(t, b, "moved")
	if !bytes.Equal(moved.Data, x.Data) {
		t.Error("the handle changed with the name")
	}
	want(t, "RENAME onto a file", c.rename(t, b, "y", b, "z"), nfs3.StatusOK)
	want(t, "RENAME of a directory onto a file", c.rename(t, c.root, "a", b, "z"), nfs3.StatusNotdir)
	want(t, "RENAME of a directory into itself", c.rename(t, c.root, "a", a, "below"), nfs3.StatusInval)
	for _, name := range []string{"dir", "full", "empty"} {
		_, code := c.mkdir(t, c.root, name)
		want(t, "MKDIR", code, nfs3.StatusOK)
	}
	full, _ := c.lookup(t, c.root, "full")
	empty, _ := c.lookup(t, c.root, "empty")
	_, code = c.mkdir(t, full, "sub")
	want(t, "MKDIR", code, nfs3.StatusOK)
	want(t, "RENAME of a directory onto one with names", c.rename(t, c.root, "dir", c.root, "full"), nfs3.StatusExist)
	want(t, "RENAME of a directory onto one in itself", c.rename(t, c.root, "full", full, "sub"), nfs3.StatusInval)
	_, code = c.lookup(t, full, "sub")
	want(t, "LOOKUP of the latter", code, nfs3.StatusOK)
	want(t, "RENAME of a directory onto an empty one", c.rename(t, c.root, "full", c.root, "empty"), nfs3.StatusOK)
	_, code = c.attr(t, empty)
	want(t, "GETATTR of the directory that was replaced", code, nfs3.StatusStale)
	_, code = c.lookup(t, full, "sub")
	want(t, "LOOKUP below the renamed one", code, nfs3.StatusOK)
	want(t, "RMDIR", c.rmdir(t, full, "sub"), nfs3.StatusOK)
	want(t, "RMDIR", c.rmdir(t, c.root, "empty"), nfs3.StatusOK)
	want(t, "RMDIR", c.rmdir(t, c.root, "dir"), nfs3.StatusOK)

	link, err := c.Link(context.Background(), &nfs3.LinkArgs{File: x, Link: c.at(a, "link")})
	check(t, err)
	if want(t, "LINK", link.Status, nfs3.StatusOK); link.OK.FileAttributes.Attributes.Nlink != 2 {
		t.Errorf("the link count is %d", link.OK.FileAttributes.Attributes.Nlink)
	}
	sym, code := c.symlink(t, a, "sym", "../b/moved")
	want(t, "SYMLINK", code, nfs3.StatusOK)
	to, err := c.ReadLink(context.Background(), &nfs3.ReadLinkArgs{SymLink: sym})
	check(t, err)
	if want(t, "READLINK", to.Status, nfs3.StatusOK); string(to.OK.Path) != "../b/moved" {
		t.Errorf("the link leads to %q", to.OK.Path)
	}
	if a := to.OK.Attributes; !a.AttributesFollow || a.Attributes.Type != nfs3.FileTypeLnk {
		t.Errorf("the attributes of the link are %+v", a)
	}
	want(t, "READ of a link", c.read(t, sym, 0, 10).Status, nfs3.StatusInval)
	want(t, "READ of a directory", c.read(t, a, 0, 10).Status, nfs3.StatusIsdir)

	for _, plus := range []bool{false, true} {
		if got := c.list(t, a, plus, 8192, nil); len(got) != 2+4 { // y z link sym
			t.Errorf("the directory has %q", got)
		}
	}
	for _, name := range []string{"y", "z", "link", "sym"} {
		want(t, "REMOVE", c.remove(t, a, name), nfs3.StatusOK)
	}
	want(t, "RMDIR", c.rmdir(t, c.root, "a"), nfs3.StatusOK)
	_, code = c.attr(t, a)
	want(t, "GETATTR of a directory that was removed", code, nfs3.StatusStale)
	info, err := c.FSInfo(context.Background(), &nfs3.FSInfoArgs{FSRoot: c.root})
	check(t, err)
	space, err2 := c.FSStat(context.Background(), &nfs3.FSStatArgs{FSRoot: c.root})
	conf, err3 := c.PathConf(context.Background(), &nfs3.PathConfArgs{Object: c.root})
	check(t, errors.Join(err2, err3))
	if info.OK.Rtmax == 0 || space.OK.Tbytes == 0 || space.OK.Tbytes < space.OK.Abytes || conf.OK.NameMax != 255 {
		t.Errorf("%v %v %v", info, space, conf)
	}
}
