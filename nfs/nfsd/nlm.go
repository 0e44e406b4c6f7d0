package nfsd

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// lockServer implements nlm4rpc.Server (RFC 1813 §6) without locks, for Config.NoLocks. It refuses
// each lock, so that a program on a client fails with ENOLCK at once. Without the service, a Linux
// client keeps asking for it, and a program that locks a file cannot be stopped. The server keeps
// nothing of these calls.
type lockServer struct{}

var _ nlm4rpc.Server = lockServer{}

// answer sets a result. The cookie is memory of the call, which ends before the reply is sent.
func answer(res *nlm4.Res, cookie nlm4.Object, status nlm4.Status) error {
	*res = nlm4.Res{Cookie: bytes.Clone(cookie), Stat: nlm4.Stat{Stat: status}}
	return nil
}

// Test implements nlm4rpc.Server.
func (lockServer) Test(_ *rpc.Request, args *nlm4.TestArgs, res *nlm4.TestRes) error {
	*res = nlm4.TestRes{Cookie: bytes.Clone(args.Cookie), Stat: nlm4.TestReply{Stat: nlm4.StatusDeniedNoLocks}}
	return nil
}

// Lock implements nlm4rpc.Server.
func (lockServer) Lock(_ *rpc.Request, args *nlm4.LockArgs, res *nlm4.Res) error {
	return answer(res, args.Cookie, nlm4.StatusDeniedNoLocks)
}

// NMLock implements nlm4rpc.Server.
func (lockServer) NMLock(_ *rpc.Request, args *nlm4.LockArgs, res *nlm4.Res) error {
	return answer(res, args.Cookie, nlm4.StatusDeniedNoLocks)
}

// Cancel implements nlm4rpc.Server. No lock is waited for, so it succeeds, as in Linux's server:
// Linux's client repeats a CANCEL that is refused by NLM4_DENIED_NOLOCKS.
func (lockServer) Cancel(_ *rpc.Request, args *nlm4.CancelArgs, res *nlm4.Res) error {
	return answer(res, args.Cookie, nlm4.StatusGranted)
}

// Unlock implements nlm4rpc.Server. Releasing a lock that does not exist succeeds.
func (lockServer) Unlock(_ *rpc.Request, args *nlm4.UnlockArgs, res *nlm4.Res) error {
	return answer(res, args.Cookie, nlm4.StatusGranted)
}

// Granted implements nlm4rpc.Server. A server calls it at a client that waits for a lock, and this
// server waits for none.
func (lockServer) Granted(_ *rpc.Request, args *nlm4.TestArgs, res *nlm4.Res) error {
	return answer(res, args.Cookie, nlm4.StatusDenied)
}

// Share implements nlm4rpc.Server.
func (lockServer) Share(_ *rpc.Request, args *nlm4.ShareArgs, res *nlm4.ShareRes) error {
	*res = nlm4.ShareRes{Cookie: bytes.Clone(args.Cookie), Stat: nlm4.StatusDeniedNoLocks}
	return nil
}

// Unshare implements nlm4rpc.Server.
func (lockServer) Unshare(_ *rpc.Request, args *nlm4.ShareArgs, res *nlm4.ShareRes) error {
	*res = nlm4.ShareRes{Cookie: bytes.Clone(args.Cookie), Stat: nlm4.StatusGranted}
	return nil
}

// The procedures in _MSG ask for an answer by a call of the procedure in _RES at the client. The
// server makes no such call: it takes the message, with the empty reply that Linux's server gives.
// A client that locks in this way waits until it gives up.

// TestMsg implements nlm4rpc.Server.
func (lockServer) TestMsg(*rpc.Request, *nlm4.TestArgs) error { return nil }

// LockMsg implements nlm4rpc.Server.
func (lockServer) LockMsg(*rpc.Request, *nlm4.LockArgs) error { return nil }

// CancelMsg implements nlm4rpc.Server.
func (lockServer) CancelMsg(*rpc.Request, *nlm4.CancelArgs) error { return nil }

// UnlockMsg implements nlm4rpc.Server.
func (lockServer) UnlockMsg(*rpc.Request, *nlm4.UnlockArgs) error { return nil }

// GrantedMsg implements nlm4rpc.Server.
func (lockServer) GrantedMsg(*rpc.Request, *nlm4.TestArgs) error { return nil }

// TestRes implements nlm4rpc.Server. The server has asked nothing, so it ignores the answers.
func (lockServer) TestRes(*rpc.Request, *nlm4.TestRes) error { return nil }

// LockRes implements nlm4rpc.Server.
func (lockServer) LockRes(*rpc.Request, *nlm4.Res) error { return nil }

// CancelRes implements nlm4rpc.Server.
func (lockServer) CancelRes(*rpc.Request, *nlm4.Res) error { return nil }

// UnlockRes implements nlm4rpc.Server.
func (lockServer) UnlockRes(*rpc.Request, *nlm4.Res) error { return nil }

// GrantedRes implements nlm4rpc.Server.
func (lockServer) GrantedRes(*rpc.Request, *nlm4.Res) error { return nil }

// FreeAll implements nlm4rpc.Server. It releases the locks of a client. No client holds one here.
func (lockServer) FreeAll(*rpc.Request, *nlm4.Notify) error { return nil }
