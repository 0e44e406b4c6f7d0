package client_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// ganeshaConn connects to a program of NFS-Ganesha.
func ganeshaConn(t *testing.T, addr string) *tcp.Conn {
	t.Helper()
	conn, err := tcp.Dial(t.Context(), addr, nil)
	check(t, err)
	t.Cleanup(func() { check(t, conn.Close()) })
	return conn
}

// ganeshaProcedures calls each procedure of MOUNT and NFS by the stubs (RFC 1813 §3.3, §5.2).
func ganeshaProcedures(t *testing.T) {
	ctx := t.Context()
	cred, err := (&oncrpc.AuthSysParms{MachineName: []byte("test")}).Auth()
	check(t, err)
	cfg := &rpc.ClientConfig{Cred: cred}
	m := mount3rpc.NewClient(ganeshaConn(t, "127.0.0.1:12048"), cfg)
	check(t, m.Null(ctx))
	exports, err := m.Export(ctx)
	check(t, err)
	if !slices.ContainsFunc(exports, func(e mount3.Export) bool { return string(e.Dir) == "/export" }) {
		t.Errorf("EXPORT: %v, expected /export", exports)
	}
	absent, err := m.Mount(ctx, mount3.DirPath("/absent"))
	check(t, err)
	if absent.Status == mount3.StatusOK {
		t.Error("MNT of /absent succeeds")
	}
	mounted, err := m.Mount(ctx, mount3.DirPath("/export"))
	check(t, err)
	if mounted.Status != mount3.StatusOK {
		t.Fatalf("MNT: %v", mounted.Status)
	}
	_, err = m.Dump(ctx)
	check(t, err)
	defer func() {
		check(t, m.Unmount(ctx, mount3.DirPath("/export")))
		check(t, m.UnmountAll(ctx))
	}()

	g := ganeshaCalls{t, nfs3rpc.NewClient(ganeshaConn(t, "127.0.0.1:12049"), cfg)}
	check(t, g.c.Null(ctx))
	root := nfs3.Handle{Data: mounted.OK.Handle}
	dir := g.makes(root)
	file := g.writes(dir)
	g.describes(dir, file)
	g.refuses(dir, file)
	g.lists(dir)
	g.removes(root, dir)
}

// ganeshaCalls makes calls, and fails the test if a status is not the expected one.
type ganeshaCalls struct {
	t *testing.T
	c *nfs3rpc.Client
}

func (g ganeshaCalls) want(what string, err error, got, want nfs3.Status) {
	g.t.Helper()
	check(g.t, err)
	if got != want {
		g.t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

func at(dir nfs3.Handle, name string) nfs3.DirOpArgs {
	return nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}
}

// mode sets a mode.
func mode(m nfs3.Mode) nfs3.SetAttr {
	return nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: m}}
}

// makes makes a directory with a file, a link and a named pipe.
func (g ganeshaCalls) makes(root nfs3.Handle) (dir nfs3.Handle) {
	g.t.Helper()
	ctx := g.t.Context()
	d, err := g.c.MkDir(ctx, &nfs3.MkDirArgs{Where: at(root, "calls"), Attributes: mode(0o755)})
	g.want("MKDIR", err, d.Status, nfs3.StatusOK)
	dir = d.OK.Obj.Handle
	verf := nfs3.CreateVerf{1, 2, 3, 4, 5, 6, 7, 8}
	exclusive := nfs3.CreateArgs{Where: at(dir, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive, Verf: verf}}
	first, err := g.c.Create(ctx, &exclusive)
	g.want("CREATE", err, first.Status, nfs3.StatusOK)
	again, err := g.c.Create(ctx, &exclusive)
	g.want("CREATE again", err, again.Status, nfs3.StatusOK)
	if !bytes.Equal(first.OK.Obj.Handle.Data, again.OK.Obj.Handle.Data) {
		g.t.Error("CREATE again: another handle")
	}
	exclusive.How.Verf[0]++
	other, err := g.c.Create(ctx, &exclusive)
	g.want("CREATE with another verifier", err, other.Status, nfs3.StatusExist)
	set, err := g.c.SetAttr(ctx, &nfs3.SetAttrArgs{Object: first.OK.Obj.Handle, NewAttributes: mode(0o640)})
	g.want("SETATTR", err, set.Status, nfs3.StatusOK)

	link, err := g.c.SymLink(ctx, &nfs3.SymLinkArgs{Where: at(dir, "link"), SymLink: nfs3.SymLinkData{Path: nfs3.Path("to/file")}})
	g.want("SYMLINK", err, link.Status, nfs3.StatusOK)
	to, err := g.c.ReadLink(ctx, &nfs3.ReadLinkArgs{SymLink: link.OK.Obj.Handle})
	if g.want("READLINK", err, to.Status, nfs3.StatusOK); string(to.OK.Path) != "to/file" {
		g.t.Errorf("READLINK: %q", to.OK.Path)
	}
	pipe, err := g.c.MkNod(ctx, &nfs3.MkNodArgs{Where: at(dir, "pipe"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo, PipeAttributes: mode(0o600)}})
	g.want("MKNOD", err, pipe.Status, nfs3.StatusOK)
	return dir
}

// writes writes and reads the file in pieces of 1 MiB.
func (g ganeshaCalls) writes(dir nfs3.Handle) nfs3.Handle {
	g.t.Helper()
	ctx := g.t.Context()
	found, err := g.c.Lookup(ctx, &nfs3.LookupArgs{What: at(dir, "file")})
	g.want("LOOKUP", err, found.Status, nfs3.StatusOK)
	file, data := found.OK.Object, random(3, 2<<20)
	const piece = 1 << 20
	for i, how := range []nfs3.StableHow{nfs3.StableHowUnstable, nfs3.StableHowFileSync} {
		part := data[i*piece:][:piece]
		res, err := g.c.Write(ctx, &nfs3.WriteArgs{File: file, Offset: nfs3.Offset(i * piece), Count: piece, Stable: how, Data: part})
		if g.want("WRITE", err, res.Status, nfs3.StatusOK); res.OK.Count != piece || res.OK.Committed < how {
			g.t.Errorf("WRITE: %d bytes, %v", res.OK.Count, res.OK.Committed)
		}
	}
	commit, err := g.c.Commit(ctx, &nfs3.CommitArgs{File: file})
	g.want("COMMIT", err, commit.Status, nfs3.StatusOK)
	for i := range 2 {
		res, err := g.c.Read(ctx, &nfs3.ReadArgs{File: file, Offset: nfs3.Offset(i * piece), Count: piece})
		if g.want("READ", err, res.Status, nfs3.StatusOK); !bytes.Equal(res.OK.Data, data[i*piece:][:piece]) {
			g.t.Errorf("READ: %d bytes, which differ", len(res.OK.Data))
		}
	}
	return file
}

// describes asks for the attributes of the file and the file system.
func (g ganeshaCalls) describes(dir, file nfs3.Handle) {
	g.t.Helper()
	ctx := g.t.Context()
	attr, err := g.c.GetAttr(ctx, &nfs3.GetAttrArgs{Object: file})
	g.want("GETATTR", err, attr.Status, nfs3.StatusOK)
	if a := attr.OK.ObjAttributes; a.Type != nfs3.FileTypeReg || a.Mode != 0o640 || a.Size != 2<<20 || a.Nlink != 1 {
		g.t.Errorf("GETATTR: %+v", a)
	}
	access, err := g.c.Access(ctx, &nfs3.AccessArgs{Object: file, Access: nfs3.AccessRead | nfs3.AccessModify | nfs3.AccessLookup})
	if g.want("ACCESS", err, access.Status, nfs3.StatusOK); access.OK.Access != nfs3.AccessRead|nfs3.AccessModify {
		g.t.Errorf("ACCESS: %#x", access.OK.Access)
	}
	space, err := g.c.FSStat(ctx, &nfs3.FSStatArgs{FSRoot: dir})
	g.want("FSSTAT", err, space.Status, nfs3.StatusOK)
	info, err := g.c.FSInfo(ctx, &nfs3.FSInfoArgs{FSRoot: dir})
	if g.want("FSINFO", err, info.Status, nfs3.StatusOK); info.OK.Rtmax < 1<<20 || info.OK.Wtmax < 1<<20 {
		g.t.Errorf("FSINFO: %+v", info.OK)
	}
	conf, err := g.c.PathConf(ctx, &nfs3.PathConfArgs{Object: dir})
	if g.want("PATHCONF", err, conf.Status, nfs3.StatusOK); conf.OK.NameMax < 255 {
		g.t.Errorf("PATHCONF: %+v", conf.OK)
	}
}

// refuses makes calls that fail.
func (g ganeshaCalls) refuses(dir, file nfs3.Handle) {
	g.t.Helper()
	ctx := g.t.Context()
	none, err := g.c.Lookup(ctx, &nfs3.LookupArgs{What: at(dir, "none")})
	g.want("LOOKUP of a name that does not exist", err, none.Status, nfs3.StatusNoent)
	notDir, err := g.c.Lookup(ctx, &nfs3.LookupArgs{What: at(file, "x")})
	g.want("LOOKUP in a file", err, notDir.Status, nfs3.StatusNotdir)
	exists, err := g.c.MkDir(ctx, &nfs3.MkDirArgs{Where: at(dir, "file")})
	g.want("MKDIR of a name that exists", err, exists.Status, nfs3.StatusExist)
	isDir, err := g.c.Read(ctx, &nfs3.ReadArgs{File: dir, Count: 10})
	g.want("READ of a directory", err, isDir.Status, nfs3.StatusIsdir)
	bad, err := g.c.GetAttr(ctx, &nfs3.GetAttrArgs{Object: nfs3.Handle{Data: []byte("no handle of this server")}})
	if check(g.t, err); bad.Status != nfs3.StatusBadhandle && bad.Status != nfs3.StatusStale {
		g.t.Errorf("GETATTR of a forged handle: %v", bad.Status)
	}
}

// lists lists the directory by READDIR and READDIRPLUS.
func (g ganeshaCalls) lists(dir nfs3.Handle) {
	g.t.Helper()
	var plain, plus []string
	list, err := g.c.ReadDir(g.t.Context(), &nfs3.ReadDirArgs{Dir: dir, Count: 8192})
	g.want("READDIR", err, list.Status, nfs3.StatusOK)
	for _, e := range list.OK.Reply.Entries {
		plain = append(plain, string(e.Name))
	}
	more, err := g.c.ReadDirPlus(g.t.Context(), &nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 8192, MaxCount: 8192})
	g.want("READDIRPLUS", err, more.Status, nfs3.StatusOK)
	for _, e := range more.OK.Reply.Entries {
		plus = append(plus, string(e.Name))
	}
	slices.Sort(plain)
	slices.Sort(plus)
	if want := []string{".", "..", "file", "link", "pipe"}; !slices.Equal(plain, want) || !slices.Equal(plus, want) {
		g.t.Errorf("READDIR %q, READDIRPLUS %q, expected %q", plain, plus, want)
	}
}

// removes gives the file another name and a second one, and removes all.
func (g ganeshaCalls) removes(root, dir nfs3.Handle) {
	g.t.Helper()
	ctx := g.t.Context()
	full, err := g.c.RmDir(ctx, &nfs3.RmDirArgs{Object: at(root, "calls")})
	g.want("RMDIR of a directory with files", err, full.Status, nfs3.StatusNotempty)
	moved, err := g.c.Rename(ctx, &nfs3.RenameArgs{From: at(dir, "file"), To: at(dir, "moved")})
	g.want("RENAME", err, moved.Status, nfs3.StatusOK)
	found, err := g.c.Lookup(ctx, &nfs3.LookupArgs{What: at(dir, "moved")})
	g.want("LOOKUP of the new name", err, found.Status, nfs3.StatusOK)
	link, err := g.c.Link(ctx, &nfs3.LinkArgs{File: found.OK.Object, Link: at(dir, "second")})
	g.want("LINK", err, link.Status, nfs3.StatusOK)
	for _, name := range []string{"moved", "second", "link", "pipe"} {
		res, err := g.c.Remove(ctx, &nfs3.RemoveArgs{Object: at(dir, name)})
		g.want("REMOVE of "+name, err, res.Status, nfs3.StatusOK)
	}
	gone, err := g.c.RmDir(ctx, &nfs3.RmDirArgs{Object: at(root, "calls")})
	g.want("RMDIR", err, gone.Status, nfs3.StatusOK)
}
