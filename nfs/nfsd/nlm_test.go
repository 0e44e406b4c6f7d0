package nfsd_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// locking is a client of the lock manager, with the arguments of a call.
type locking struct {
	*nlm4rpc.Client
	ctx    context.Context
	cookie nlm4.Object
	lock   nlm4.Lock
}

// lockCall calls a procedure of the lock manager. It returns the status and the cookie of the
// result, if it has one.
type lockCall struct {
	name string
	call func(c locking) (nlm4.Status, nlm4.Object, error)
	want nlm4.Status
	void bool // there are no results
}

// result returns the parts of a nlm4_res.
func result(res *nlm4.Res, err error) (nlm4.Status, nlm4.Object, error) {
	if err != nil {
		return 0, nil, err
	}
	return res.Stat.Stat, res.Cookie, nil
}

// sharing returns the parts of a nlm4_shareres.
func sharing(res *nlm4.ShareRes, err error) (nlm4.Status, nlm4.Object, error) {
	if err != nil {
		return 0, nil, err
	}
	return res.Stat, res.Cookie, nil
}

// share returns the arguments of SHARE and UNSHARE.
func share(cookie nlm4.Object, l nlm4.Lock) *nlm4.ShareArgs {
	return &nlm4.ShareArgs{Cookie: cookie, Share: nlm4.Share{CallerName: l.CallerName, FH: l.FH, Owner: l.Owner, Mode: nlm4.DenyWrite, Access: nlm4.AccessRead}}
}

// lockCalls has all procedures of RFC 1813 §6.2 but NULL.
var lockCalls = []lockCall{
	{"TEST", func(c locking) (nlm4.Status, nlm4.Object, error) {
		res, err := c.Test(c.ctx, &nlm4.TestArgs{Cookie: c.cookie, Lock: c.lock})
		if err != nil {
			return 0, nil, err
		}
		return res.Stat.Stat, res.Cookie, nil
	}, nlm4.StatusDeniedNoLocks, false},
	{"LOCK", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Lock(c.ctx, &nlm4.LockArgs{Cookie: c.cookie, Lock: c.lock, Exclusive: true}))
	}, nlm4.StatusDeniedNoLocks, false},
	{"LOCK that waits", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Lock(c.ctx, &nlm4.LockArgs{Cookie: c.cookie, Lock: c.lock, Block: true}))
	}, nlm4.StatusDeniedNoLocks, false},
	{"LOCK after a restart", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Lock(c.ctx, &nlm4.LockArgs{Cookie: c.cookie, Lock: c.lock, Reclaim: true}))
	}, nlm4.StatusDeniedNoLocks, false},
	{"NM_LOCK", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.NMLock(c.ctx, &nlm4.LockArgs{Cookie: c.cookie, Lock: c.lock}))
	}, nlm4.StatusDeniedNoLocks, false},
	{"CANCEL", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Cancel(c.ctx, &nlm4.CancelArgs{Cookie: c.cookie, Lock: c.lock}))
	}, nlm4.StatusGranted, false},
	{"UNLOCK", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Unlock(c.ctx, &nlm4.UnlockArgs{Cookie: c.cookie, Lock: c.lock}))
	}, nlm4.StatusGranted, false},
	{"GRANTED", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return result(c.Granted(c.ctx, &nlm4.TestArgs{Cookie: c.cookie, Lock: c.lock}))
	}, nlm4.StatusDenied, false},
	{"SHARE", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return sharing(c.Share(c.ctx, share(c.cookie, c.lock)))
	}, nlm4.StatusDeniedNoLocks, false},
	{"UNSHARE", func(c locking) (nlm4.Status, nlm4.Object, error) {
		return sharing(c.Unshare(c.ctx, share(c.cookie, c.lock)))
	}, nlm4.StatusGranted, false},
	{"messages and notifications", func(c locking) (nlm4.Status, nlm4.Object, error) {
		test, res := &nlm4.TestArgs{Cookie: c.cookie, Lock: c.lock}, &nlm4.Res{Cookie: c.cookie}
		return 0, nil, errors.Join(
			c.TestMsg(c.ctx, test), c.LockMsg(c.ctx, &nlm4.LockArgs{Cookie: c.cookie, Lock: c.lock}),
			c.CancelMsg(c.ctx, &nlm4.CancelArgs{Cookie: c.cookie, Lock: c.lock}), c.UnlockMsg(c.ctx, &nlm4.UnlockArgs{Cookie: c.cookie, Lock: c.lock}),
			c.GrantedMsg(c.ctx, test), c.TestRes(c.ctx, &nlm4.TestRes{Cookie: c.cookie}), c.LockRes(c.ctx, res), c.CancelRes(c.ctx, res),
			c.UnlockRes(c.ctx, res), c.GrantedRes(c.ctx, res), c.FreeAll(c.ctx, &nlm4.Notify{Name: c.lock.CallerName, State: 3}),
		)
	}, 0, true},
}

// Each procedure of the lock manager is answered at once, over each carrier: a lock is refused by
// NLM4_DENIED_NOLOCKS, which clients give to their programs as ENOLCK, and calls that release a
// lock succeed. The result has the cookie of the call (RFC 1813 §6).
func TestLocksAreRefusedAtOnce(t *testing.T) {
	overAll(t, nfsd.Config{Async: true, NoLocks: true}, func(t *testing.T, e *export, c *client) {
		file, code := c.create(t, c.root, "file")
		want(t, "CREATE", code, nfs3.StatusOK)
		locks(t, nlm4rpc.NewClient(c.carrier, nil), file.Data)
	})
	t.Run("udp", func(t *testing.T) {
		e := newExport(t, nfsd.Config{Async: true, NoLocks: true})
		server, err := udp.Listen(t.Context(), "127.0.0.1:0", e.server.UDPHandler(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		conn, err := udp.Dial(t.Context(), server.Addr(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, conn.Close()) })
		locks(t, nlm4rpc.NewClient(conn, nil), []byte("a handle"))
		// MOUNT is there, too; NFS is not.
		check(t, mount3rpc.NewClient(conn, nil).Null(t.Context()))
		if err := nfs3rpc.NewClient(conn, nil).Null(t.Context()); !errors.Is(err, oncrpc.ErrProgUnavail) {
			t.Errorf("NFS over UDP: %v", err)
		}
	})
}

// locks calls all procedures.
func locks(t *testing.T, c *nlm4rpc.Client, fh []byte) {
	t.Helper()
	check(t, c.Null(t.Context()))
	for i, tt := range lockCalls {
		for _, cookie := range []nlm4.Object{nil, {byte(i), 1, 2}, bytes.Repeat([]byte{byte(i)}, nlm4.ObjectSize)} {
			l := nlm4.Lock{CallerName: []byte("host"), FH: fh, Owner: nlm4.Object("1@host"), SVID: 1, Len: 1}
			status, back, err := tt.call(locking{c, t.Context(), cookie, l})
			check(t, err)
			if status != tt.want || !tt.void && !bytes.Equal(back, cookie) {
				t.Errorf("%s: %v, cookie of %d bytes, expected %v and one of %d", tt.name, status, len(back), tt.want, len(cookie))
			}
		}
	}
}

// Arguments beyond the protocol's limits are refused, and the service still answers.
func TestLongLockArguments(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true, NoLocks: true})
	conn := mem.New(e.server.Handler(), nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	c := nlm4rpc.NewClient(conn, nil)
	most, name := make(nlm4.Object, nlm4.ObjectSize), make([]byte, nlm4.StringSize)
	res, err := c.Lock(t.Context(), &nlm4.LockArgs{Cookie: most, Lock: nlm4.Lock{CallerName: name, FH: most, Owner: most}})
	check(t, err)
	if res.Stat.Stat != nlm4.StatusDeniedNoLocks || len(res.Cookie) != nlm4.ObjectSize {
		t.Errorf("LOCK with the longest arguments: %v", res)
	}
	// The encoder of nlm4 refuses longer ones; a path of NFS has the same form, and no limit.
	raw := rpc.NewClient(conn, nlm4rpc.Program(), nil)
	long, huge := nfs3.Path(make([]byte, nlm4.ObjectSize+1)), oncrpc.Uint32(1<<32-1)
	for name, args := range map[string]xdr.Value{"a long cookie": &long, "the length of a cookie of 4 GiB": &huge, "no arguments": nil} {
		for proc := uint32(nlm4.ProcTest); proc <= nlm4.ProcFreeAll; proc++ {
			code := oncrpc.ErrGarbageArgs
			if nlm4rpc.Program().Procedures[proc] == "" {
				code = oncrpc.ErrProcUnavail
			}
			if err := raw.Call(t.Context(), proc, args, nil, nil); !errors.Is(err, code) {
				t.Errorf("procedure %d with %s: %v, expected %v", proc, name, err, code)
			}
		}
	}
	check(t, c.Null(t.Context()))
}

// A server has the limits of its carrier for the lock manager, too: a Call with too many
// bytes is refused, and its connection and others stay up.
func TestLockServiceObeysCarrierLimits(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true, NoLocks: true})
	server, err := tcp.Listen(t.Context(), "127.0.0.1:0", e.server.Handler(), &tcp.Config{MaxRecord: 8 << 10})
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	dial := func() oncrpc.Carrier {
		conn, err := tcp.Dial(t.Context(), server.Addr(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, conn.Close()) })
		return conn
	}
	bystander, hostile := nlm4rpc.NewClient(dial(), nil), rpc.NewClient(dial(), nlm4rpc.Program(), nil)
	check(t, bystander.Null(t.Context()))
	long := nfs3.Path(make([]byte, 64<<10))
	if err := hostile.Call(t.Context(), nlm4.ProcLock, &long, nil, nil); !errors.Is(err, oncrpc.ErrGarbageArgs) {
		t.Errorf("a LOCK of 64 KiB: %v", err)
	}
	check(t, hostile.Call(t.Context(), nlm4.ProcNull, nil, nil, nil))
	check(t, bystander.Null(t.Context()))
}

// The cookie of a result is a copy: the memory of the arguments is used again before the reply is
// sent.
func TestCookiesAreCopied(t *testing.T) {
	cookie := nlm4.Object("cookie")
	var res [5]nlm4.Res
	var test nlm4.TestRes
	var share, unshare nlm4.ShareRes
	locks := nfsd.Locks
	check(t, errors.Join(
		locks.Test(nil, &nlm4.TestArgs{Cookie: cookie}, &test),
		locks.Lock(nil, &nlm4.LockArgs{Cookie: cookie}, &res[0]),
		locks.NMLock(nil, &nlm4.LockArgs{Cookie: cookie}, &res[1]),
		locks.Cancel(nil, &nlm4.CancelArgs{Cookie: cookie}, &res[2]),
		locks.Unlock(nil, &nlm4.UnlockArgs{Cookie: cookie}, &res[3]),
		locks.Granted(nil, &nlm4.TestArgs{Cookie: cookie}, &res[4]),
		locks.Share(nil, &nlm4.ShareArgs{Cookie: cookie}, &share),
		locks.Unshare(nil, &nlm4.ShareArgs{Cookie: cookie}, &unshare),
	))
	clear(cookie)
	for i, got := range []nlm4.Object{test.Cookie, res[0].Cookie, res[1].Cookie, res[2].Cookie, res[3].Cookie, res[4].Cookie, share.Cookie, unshare.Cookie} {
		if string(got) != "cookie" {
			t.Errorf("result %d has the cookie %q", i, got)
		}
	}
}
