package client_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// lacking is a server without some procedures.
type lacking struct {
	next, without oncrpc.Handler
	procs         []uint32
}

// ServeRPC implements oncrpc.Handler.
func (l *lacking) ServeRPC(r *oncrpc.Request) {
	if prog, _, proc, _ := oncrpc.Procedure(r.Message); prog == nfs3.Program && slices.Contains(l.procs, proc) {
		l.without.ServeRPC(r)
		return
	}
	l.next.ServeRPC(r)
}

// procUnavail answers as a server without the procedures: PROC_UNAVAIL (RFC 5531 §9).
func procUnavail() oncrpc.Handler { return rpc.NewHandler(nil, rpc.NewService(nfs3rpc.Program())) }

// notsupp answers as a server that has the procedures and does not support them.
func notsupp() oncrpc.Handler {
	s := rpc.NewService(nfs3rpc.Program())
	const no = nfs3.StatusNotsupp
	rpc.Handle(s, nfs3.ProcReadDirPlus, func(_ *rpc.Request, _ *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
		res.Status = no
		return nil
	})
	rpc.Handle(s, nfs3.ProcFSInfo, func(_ *rpc.Request, _ *nfs3.FSInfoArgs, res *nfs3.FSInfoRes) error { res.Status = no; return nil })
	rpc.Handle(s, nfs3.ProcCommit, func(_ *rpc.Request, _ *nfs3.CommitArgs, res *nfs3.CommitRes) error { res.Status = no; return nil })
	return rpc.NewHandler(nil, s)
}

// clientOf returns a Client of a handler, whose MOUNT has the root.
func clientOf(t *testing.T, h oncrpc.Handler, cfg *client.Config) (*client.Client, error) {
	t.Helper()
	conn := mem.New(h, nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	res, err := mount3rpc.NewClient(conn, nil).Mount(t.Context(), mount3.DirPath("/export"))
	check(t, err)
	return client.New(t.Context(), conn, nfs3.Handle{Data: res.OK.Handle}, cfg)
}

// A server that lacks a procedure, by RPC's PROC_UNAVAIL or by NFS3ERR_NOTSUPP, serves everything
// that does not need it: listings go on by READDIR, writes without COMMIT reach the disk one by
// one, and without FSINFO transfers are small.
func TestServerLacksProcedures(t *testing.T) {
	optional := map[string]uint32{
		"ACCESS": nfs3.ProcAccess, "READLINK": nfs3.ProcReadLink, "SYMLINK": nfs3.ProcSymLink, "MKNOD": nfs3.ProcMkNod,
		"LINK": nfs3.ProcLink, "READDIRPLUS": nfs3.ProcReadDirPlus, "FSSTAT": nfs3.ProcFSStat, "FSINFO": nfs3.ProcFSInfo,
		"PATHCONF": nfs3.ProcPathConf, "COMMIT": nfs3.ProcCommit,
	}
	all := slices.Sorted(maps.Values(optional))
	for name, proc := range optional {
		t.Run(name, func(t *testing.T) { useWithout(t, procUnavail(), proc) })
	}
	t.Run("all of these", func(t *testing.T) { useWithout(t, procUnavail(), all...) })
	t.Run("NFS3ERR_NOTSUPP", func(t *testing.T) {
		useWithout(t, notsupp(), nfs3.ProcReadDirPlus, nfs3.ProcFSInfo, nfs3.ProcCommit)
	})
}

func useWithout(t *testing.T, without oncrpc.Handler, procs ...uint32) {
	s := serve(t, nfsd.Config{})
	c, err := clientOf(t, &lacking{s.handler, without, procs}, &client.Config{Window: 20_000})
	check(t, err)
	check(t, c.Mkdir(t.Context(), "dir", 0o755))
	data := bytes.Repeat([]byte("0123456789abcdef"), 6_000)
	f, err := c.Create(t.Context(), "dir/file", 0o644)
	check(t, err)
	_, err = f.WriteAt(data, 0)
	check(t, errors.Join(err, f.Sync()))
	check(t, f.CopyFrom(bytes.NewReader(append(data, data...)), int64(len(data)), int64(len(data)), nil))
	check(t, f.Close())
	local, err := os.ReadFile(filepath.Join(s.dir, "dir/file"))
	check(t, err)
	if !bytes.Equal(local, append(data, data...)) {
		t.Errorf("the file has %d bytes, or others than were written", len(local))
	}
	f, err = c.Open(t.Context(), "dir/file")
	check(t, err)
	back := make([]byte, 2*len(data))
	if _, err = f.ReadAt(back, 0); err != nil || !bytes.Equal(back, local) {
		t.Errorf("ReadAt: %v, or other data", err)
	}
	check(t, f.Close())
	check(t, c.Rename(t.Context(), "dir/file", "dir/other"))
	listed := 0
	for info, err := range c.ReadDir(t.Context(), "dir") {
		check(t, err)
		if listed++; info.Name() != "other" || info.Size() != int64(2*len(data)) {
			t.Errorf("listed %s of %d bytes", info.Name(), info.Size())
		}
	}
	if listed != 1 {
		t.Errorf("listed %d files", listed)
	}
	check(t, c.Remove(t.Context(), "dir/other"))
}

// A procedure that the caller asks for, or that everything needs, is an error that names it. So is
// a server without the program.
func TestServerLacksNeededProcedure(t *testing.T) {
	s := serve(t, nfsd.Config{})
	c, err := clientOf(t, &lacking{s.handler, procUnavail(), []uint32{nfs3.ProcSymLink, nfs3.ProcLookup, nfs3.ProcReadDirPlus, nfs3.ProcReadDir}}, nil)
	check(t, err)
	if err := c.Symlink(t.Context(), "to", "link"); !errors.Is(err, oncrpc.ErrProcUnavail) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SYMLINK: %v", err)
	}
	if _, err := c.Stat(t.Context(), "x"); !errors.Is(err, oncrpc.ErrProcUnavail) {
		t.Errorf("LOOKUP: %v", err)
	}
	for _, err := range c.ReadDir(t.Context(), ".") {
		if !errors.Is(err, oncrpc.ErrProcUnavail) {
			t.Errorf("READDIR: %v", err)
		}
	}
	conn := mem.New(rpc.NewHandler(nil), nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	if _, err := client.New(t.Context(), conn, nfs3.Handle{}, nil); !errors.Is(err, oncrpc.ErrProgUnavail) {
		t.Errorf("a server without NFS: %v", err)
	}
}

// uncommitted is a server without COMMIT that notes how the WRITEs are made.
type uncommitted struct {
	*nfsd.Server
	committed nfs3.StableHow // what it answers to FILE_SYNC

	mu    sync.Mutex
	bytes map[nfs3.Offset]nfs3.StableHow // the last WRITE at each offset
}

func (u *uncommitted) Commit(*rpc.Request, *nfs3.CommitArgs, *nfs3.CommitRes) error {
	return rpc.Unimplemented
}

func (u *uncommitted) Write(r *rpc.Request, args *nfs3.WriteArgs, res *nfs3.WriteRes) error {
	err := u.Server.Write(r, args, res)
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range args.Count {
		u.bytes[args.Offset+nfs3.Offset(i)] = args.Stable
	}
	if args.Stable == nfs3.StableHowFileSync {
		res.OK.Committed = u.committed
	}
	return err
}

// Without COMMIT, all data that Sync waits for was written by WRITEs that store it (RFC 1813
// §3.3.7), also the data from before the client noticed. A server that answers that it has not
// stored it is at fault.
func TestWithoutCommitDataIsStored(t *testing.T) {
	for _, committed := range []nfs3.StableHow{nfs3.StableHowFileSync, nfs3.StableHowDataSync, nfs3.StableHowUnstable} {
		base := t.TempDir()
		check(t, os.Mkdir(filepath.Join(base, "dir"), 0o755))
		server, err := nfsd.New(nfsd.Config{Dir: filepath.Join(base, "dir"), State: filepath.Join(base, "state"), Async: true, AllowRoot: true})
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		u := &uncommitted{Server: server, committed: committed, bytes: map[nfs3.Offset]nfs3.StableHow{}}
		h := rpc.NewHandler(nil, nfs3rpc.NewService(u))
		c, err := clientOf(t, &lacking{server.Handler(), h, everything()}, &client.Config{Window: 3_000, MaxIO: 1_000})
		check(t, err)
		f, err := c.Create(t.Context(), "file", 0o644)
		check(t, err)
		const total = 10_000
		for off := int64(0); off < total && err == nil; off += 500 {
			_, err = f.WriteAt(make([]byte, 500), off)
		}
		err = errors.Join(err, f.Sync())
		if committed != nfs3.StableHowFileSync {
			var broken *client.ProtocolError
			if !errors.As(err, &broken) || broken.Op != "WRITE" {
				t.Errorf("a server that answers %v: %v", committed, err)
			}
			_ = f.Close() // the same error
			continue
		}
		check(t, errors.Join(err, f.Close()))
		u.mu.Lock()
		for off := range nfs3.Offset(total) {
			if how, written := u.bytes[off]; !written || how != nfs3.StableHowFileSync {
				t.Fatalf("byte %d: written %v, by %v", off, written, how)
			}
		}
		u.mu.Unlock()
	}
}

// everything returns the numbers of all procedures.
func everything() []uint32 {
	var all []uint32
	for p := uint32(nfs3.ProcNull); p <= nfs3.ProcCommit; p++ {
		all = append(all, p)
	}
	return all
}
