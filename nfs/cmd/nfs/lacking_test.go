package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// lacking is a server that answers some procedures with PROC_UNAVAIL (RFC 5531 §9).
type lacking struct {
	next, without oncrpc.Handler
	procs         []uint32
	refused       atomic.Int64
}

// ServeRPC implements oncrpc.Handler.
func (l *lacking) ServeRPC(r *oncrpc.Request) {
	if prog, _, proc, _ := oncrpc.Procedure(r.Message); prog == nfs3.Program && slices.Contains(l.procs, proc) {
		l.refused.Add(1)
		l.without.ServeRPC(r)
		return
	}
	l.next.ServeRPC(r)
}

// Trees are listed and copied with a server that lacks READDIRPLUS, ACCESS, PATHCONF, FSINFO and
// COMMIT. That READDIRPLUS is missing is learnt once, not for each directory.
func TestTreesOfServerThatLacksProcedures(t *testing.T) {
	f := serve(t, "tcp")
	s, err := nfsd.New(nfsd.Config{Dir: f.dir, State: filepath.Join(f.base, "second"), AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	without := rpc.NewHandler(nil, rpc.NewService(nfs3rpc.Program()))
	f.listen(t, "tcp", &lacking{next: s.Handler(), without: without, procs: []uint32{
		nfs3.ProcReadDirPlus, nfs3.ProcAccess, nfs3.ProcPathConf, nfs3.ProcFSInfo, nfs3.ProcCommit,
	}})
	source, back := filepath.Join(f.base, "source"), filepath.Join(f.base, "back")
	check(t, os.MkdirAll(filepath.Join(source, "sub", "deep"), 0o755))
	data := write(t, filepath.Join(source, "sub", "deep", "file"), 100_000)
	f.done(t, "put", "-r", source, target+"/copy")
	same(t, filepath.Join(f.dir, "copy", "sub", "deep", "file"), data)
	f.done(t, "get", "-r", target+"/copy", back)
	same(t, filepath.Join(back, "sub", "deep", "file"), data)
	l := &lacking{next: s.Handler(), without: without, procs: []uint32{nfs3.ProcReadDirPlus}}
	f.listen(t, "tcp", l)
	if out := f.done(t, "ls", "-R", target+"/copy"); out != "sub\nsub/deep\nsub/deep/file\n" {
		t.Errorf("the list is %q", out)
	}
	if n := l.refused.Load(); n != 1 {
		t.Errorf("READDIRPLUS was called %d times for three directories, expected 1", n)
	}
}
