package nfsd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// An exclusive CREATE that comes again, also after a restart, finds its file; another verifier does
// not (RFC 1813 §3.3.8).
func TestExclusiveCreate(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	create := func(verf nfs3.CreateVerf) (nfs3.Handle, nfs3.Status) {
		conn := mem.New(e.server.Handler(), nil)
		defer conn.Close()
		c := clientOver(t, conn, auth(t, 1000, 1000))
		res, err := c.Create(context.Background(), &nfs3.CreateArgs{Where: c.at(c.root, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive, Verf: verf}})
		check(t, err)
		return res.OK.Obj.Handle, res.Status
	}
	verf := nfs3.CreateVerf{0x81, 2, 3, 4, 0xf5, 6, 7, 8}
	first, code := create(verf)
	want(t, "CREATE", code, nfs3.StatusOK)
	e.restart(t)
	again, code := create(verf)
	if want(t, "CREATE again", code, nfs3.StatusOK); !bytes.Equal(first.Data, again.Data) {
		t.Error("another handle")
	}
	verf[0]++
	_, code = create(verf)
	want(t, "CREATE with another verifier", code, nfs3.StatusExist)
}

// UNSTABLE WRITE and COMMIT return one verifier until the server restarts (RFC 1813 §3.3.7,
// §3.3.21).
func TestWriteVerifier(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	var file nfs3.Handle
	verifier := func() (verf nfs3.WriteVerf) {
		conn := mem.New(e.server.Handler(), nil)
		defer conn.Close()
		c := clientOver(t, conn, auth(t, 1000, 1000))
		if file.Data == nil {
			file, _ = c.create(t, c.root, "file")
		}
		res := c.write(t, file, 0, []byte("data"), nfs3.StableHowUnstable)
		commit, err := c.Commit(context.Background(), &nfs3.CommitArgs{File: file})
		check(t, err)
		if res.OK.Verf != commit.OK.Verf || res.OK.Committed != nfs3.StableHowUnstable {
			t.Errorf("WRITE %v, COMMIT %v, %v", res.OK.Verf, commit.OK.Verf, res.OK.Committed)
		}
		return commit.OK.Verf
	}
	first := verifier()
	if verifier() != first {
		t.Error("the verifier changed without a restart")
	}
	e.restart(t)
	if verifier() == first {
		t.Error("the verifier is the same after a restart")
	}
}

// The attributes before and after a change have no other change between them: each change begins
// where another one ended (RFC 1813 §2.6, wcc_data). The sizes of a file that clients extend by
// different lengths show it, and so do the times of a directory.
func TestWeakCacheConsistency(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := map[nfs3.Size]nfs3.Size{} // size before: size after
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				res, err := c.SetAttr(context.Background(), &nfs3.SetAttrArgs{Object: file, NewAttributes: nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(1 + i*50 + j)}}})
				if err != nil || res.Status != nfs3.StatusOK {
					t.Error(res, err)
					return
				}
				mu.Lock()
				before, after := res.OK.ObjWcc.Before.Attributes.Size, res.OK.ObjWcc.After.Attributes.Size
				if _, twice := next[before]; twice || after != nfs3.Size(1+i*50+j) {
					t.Errorf("from %d to %d: another change was between them", before, after)
				}
				next[before] = after
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	size, steps := nfs3.Size(0), 0
	for ; ; steps++ {
		after, ok := next[size]
		if !ok {
			break
		}
		size = after
	}
	if steps != 200 {
		t.Errorf("the changes make a chain of %d, expected 200", steps)
	}
}

// A SETATTR whose guard is another time changes nothing (RFC 1813 §3.3.2).
func TestGuard(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	attr, _ := c.attr(t, file)
	args := nfs3.SetAttrArgs{Object: file, Guard: nfs3.SetAttrGuard{Check: true, ObjCtime: nfs3.Time{Seconds: 1}}}
	args.NewAttributes.Size = nfs3.SetSize{SetIt: true, Size: 10}
	for _, tt := range []struct {
		ctime nfs3.Time
		want  nfs3.Status
	}{{nfs3.Time{Seconds: 1}, nfs3.StatusNotSync}, {attr.Ctime, nfs3.StatusOK}} {
		args.Guard.ObjCtime = tt.ctime
		res, err := c.SetAttr(context.Background(), &args)
		check(t, err)
		want(t, "SETATTR", res.Status, tt.want)
	}
}

// A read-only export refuses each change, and serves all else.
func TestReadOnly(t *testing.T) {
	e := newExport(t, nfsd.Config{ReadOnly: true})
	check(t, os.WriteFile(filepath.Join(e.dir, "file"), []byte("data"), 0o666))
	c := e.client(t, auth(t, 1000, 1000))
	file, code := c.lookup(t, c.root, "file")
	want(t, "LOOKUP", code, nfs3.StatusOK)
	if got := c.read(t, file, 0, 10); string(got.OK.Data) != "data" {
		t.Errorf("READ: %v", got)
	}
	_, code = c.create(t, c.root, "new")
	want(t, "CREATE", code, nfs3.StatusRofs)
	_, code = c.mkdir(t, c.root, "new")
	want(t, "MKDIR", code, nfs3.StatusRofs)
	_, code = c.symlink(t, c.root, "new", "to")
	want(t, "SYMLINK", code, nfs3.StatusRofs)
	want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusRofs)
	want(t, "RMDIR", c.rmdir(t, c.root, "file"), nfs3.StatusRofs)
	want(t, "RENAME", c.rename(t, c.root, "file", c.root, "new"), nfs3.StatusRofs)
	want(t, "WRITE", c.write(t, file, 0, []byte("harm"), nfs3.StableHowUnstable).Status, nfs3.StatusRofs)
	want(t, "SETATTR", c.setattr(t, file, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}), nfs3.StatusRofs)
	access, err := c.Access(context.Background(), &nfs3.AccessArgs{Object: c.root, Access: 0x3f})
	check(t, err)
	if access.OK.Access&(nfs3.AccessModify|nfs3.AccessExtend|nfs3.AccessDelete) != 0 {
		t.Errorf("ACCESS grants %#x", access.OK.Access)
	}
}

// A call that is sent again with its XID on another connection is executed once (R288).
func TestSentAgain(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	server, err := tcp.Listen(t.Context(), "127.0.0.1:0", e.server.Handler(), nil)
	check(t, err)
	defer server.Close()
	dial := func() *tcp.Conn {
		conn, err := tcp.Dial(t.Context(), server.Addr(), nil)
		check(t, err)
		return conn
	}
	conn := dial()
	c := clientOver(t, conn, auth(t, 1000, 1000))
	_, code := c.create(t, c.root, "file")
	want(t, "CREATE", code, nfs3.StatusOK)
	fixed := &fixedXID{conn, 0xabcd}
	remove := nfs3.RemoveArgs{Object: c.at(c.root, "file")}
	res, err := nfs3rpc.NewClient(fixed, &rpc.ClientConfig{Cred: auth(t, 1000, 1000)}).Remove(t.Context(), &remove)
	check(t, err)
	want(t, "REMOVE", res.Status, nfs3.StatusOK)
	check(t, conn.Close())

	fixed.Carrier = dial()
	defer fixed.Carrier.(*tcp.Conn).Close()
	again := nfs3rpc.NewClient(fixed, &rpc.ClientConfig{Cred: auth(t, 1000, 1000)})
	res, err = again.Remove(t.Context(), &remove)
	check(t, err)
	want(t, "REMOVE again", res.Status, nfs3.StatusOK)
	fixed.xid++
	res, err = again.Remove(t.Context(), &remove)
	check(t, err)
	want(t, "another REMOVE", res.Status, nfs3.StatusNoent)
}

// fixedXID is a Carrier whose calls have one XID.
type fixedXID struct {
	oncrpc.Carrier
	xid uint32
}

func (f *fixedXID) XID() uint32 { return f.xid }

// MOUNT: the export and directories below it, the list of mounts, and nothing else (RFC 1813 §5).
func TestMount(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	check(t, os.MkdirAll(filepath.Join(e.dir, "a/b"), 0o755))
	check(t, os.Mkdir(filepath.Join(e.dir, "ed"), 0o755)) // "/exported" does not lead there
	check(t, os.WriteFile(filepath.Join(e.dir, "file"), nil, 0o644))
	check(t, os.Symlink("a", filepath.Join(e.dir, "link")))
	conn := mem.New(e.server.Handler(), nil)
	defer conn.Close()
	m := mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: auth(t, 1000, 1000)})
	for _, tt := range []struct {
		path string
		want mount3.Status
	}{
		{"/export", mount3.StatusOK},
		{"/export/", mount3.StatusOK},
		{"/export/a/b", mount3.StatusOK},
		{"/export/../export/a", mount3.StatusOK},
		{"/export/../../outside", mount3.StatusNoent},
		{"/export/a/../..", mount3.StatusNoent},
		{"/exported", mount3.StatusNoent},
		{"/", mount3.StatusNoent},
		{"", mount3.StatusNoent},
		{e.dir, mount3.StatusNoent},
		{"/export/none", mount3.StatusNoent},
		{"/export/file", mount3.StatusNotdir},
		{"/export/link", mount3.StatusNotdir},
		{"/export/link/b", mount3.StatusNotdir},
	} {
		res, err := m.Mount(t.Context(), mount3.DirPath(tt.path))
		check(t, err)
		if res.Status != tt.want {
			t.Errorf("MNT of %q: %v, expected %v", tt.path, res.Status, tt.want)
		}
	}
	count := func() int {
		list, err := m.Dump(t.Context())
		check(t, err)
		return len(list)
	}
	if n := count(); n != 3 {
		t.Errorf("%d mounts, expected /export, /export/a and /export/a/b", n)
	}
	check(t, m.Unmount(t.Context(), mount3.DirPath("/export/a")))
	if n := count(); n != 2 {
		t.Errorf("%d mounts after UMNT, expected 2", n)
	}
	check(t, m.UnmountAll(t.Context()))
	if n := count(); n != 0 {
		t.Errorf("%d mounts after UMNTALL, expected none", n)
	}
	exports, err := m.Export(t.Context())
	check(t, err)
	if len(exports) != 1 || string(exports[0].Dir) != "/export" {
		t.Errorf("EXPORT: %v", exports)
	}
}

// Version 4 of NFS and other programs are refused as RFC 5531 §9 has it, so that clients fall back.
func TestOtherPrograms(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	conn := mem.New(e.server.Handler(), nil)
	defer conn.Close()
	for _, tt := range []struct {
		program oncrpc.Program
		want    oncrpc.AcceptStat
	}{
		{oncrpc.Program{Number: nfs3.Program, Version: 4}, oncrpc.ProgMismatch},
		{oncrpc.Program{Number: nfs3.Program, Version: 2}, oncrpc.ProgMismatch},
		{oncrpc.Program{Number: 100227, Version: 3}, oncrpc.ProgUnavail}, // NFSACL
	} {
		err := rpc.NewClient(conn, tt.program, nil).Call(t.Context(), 0, nil, nil, nil)
		if got := oncrpc.Refusal(err); got == nil || got.Accept != tt.want {
			t.Errorf("%+v: %v, expected %v", tt.program, err, tt.want)
		}
	}
}
