package nlm

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// result returns a result. The cookie is memory of the call, which may be over before the result is
// encoded.
func result(cookie nlm4.Object, status nlm4.Status) nlm4.Res {
	return nlm4.Res{Cookie: bytes.Clone(cookie), Stat: nlm4.Stat{Stat: status}}
}

func testResult(cookie nlm4.Object, reply nlm4.TestReply) nlm4.TestRes {
	return nlm4.TestRes{Cookie: bytes.Clone(cookie), Stat: reply}
}

// Test implements nlm4rpc.Server.
func (s *Server) Test(r *rpc.Request, args *nlm4.TestArgs, res *nlm4.TestRes) error {
	*res = testResult(args.Cookie, s.test(r, args))
	return nil
}

// Lock implements nlm4rpc.Server.
func (s *Server) Lock(r *rpc.Request, args *nlm4.LockArgs, res *nlm4.Res) error {
	*res = result(args.Cookie, s.lock(r, args, true))
	return nil
}

// NMLock implements nlm4rpc.Server. The client does not look for restarts of the server.
func (s *Server) NMLock(r *rpc.Request, args *nlm4.LockArgs, res *nlm4.Res) error {
	*res = result(args.Cookie, s.lock(r, args, false))
	return nil
}

// Cancel implements nlm4rpc.Server.
func (s *Server) Cancel(r *rpc.Request, args *nlm4.CancelArgs, res *nlm4.Res) error {
	*res = result(args.Cookie, s.cancel(r, args))
	return nil
}

// Unlock implements nlm4rpc.Server.
func (s *Server) Unlock(r *rpc.Request, args *nlm4.UnlockArgs, res *nlm4.Res) error {
	*res = result(args.Cookie, s.unlock(r, args))
	return nil
}

// Granted implements nlm4rpc.Server. A server calls it at a client that waits for a lock, and this
// server waits for none.
func (s *Server) Granted(_ *rpc.Request, args *nlm4.TestArgs, res *nlm4.Res) error {
	*res = result(args.Cookie, nlm4.StatusDenied)
	return nil
}

// Share implements nlm4rpc.Server. There are no shares: only DOS has them.
func (s *Server) Share(_ *rpc.Request, args *nlm4.ShareArgs, res *nlm4.ShareRes) error {
	*res = nlm4.ShareRes{Cookie: bytes.Clone(args.Cookie), Stat: nlm4.StatusDeniedNoLocks}
	return nil
}

// Unshare implements nlm4rpc.Server.
func (s *Server) Unshare(_ *rpc.Request, args *nlm4.ShareArgs, res *nlm4.ShareRes) error {
	*res = nlm4.ShareRes{Cookie: bytes.Clone(args.Cookie), Stat: nlm4.StatusGranted}
	return nil
}

// FreeAll implements nlm4rpc.Server. A client that has started again sends it, and releases what it
// had locked.
func (s *Server) FreeAll(r *rpc.Request, args *nlm4.Notify) error {
	s.free(r, args, 0)
	return nil
}

// The procedures in _MSG have an empty reply, and their result is a call of the procedure in _RES
// at the client.

// TestMsg implements nlm4rpc.Server.
func (s *Server) TestMsg(r *rpc.Request, args *nlm4.TestArgs) error {
	res := testResult(args.Cookie, s.test(r, args))
	s.calls.answer(address(r), nlm4.ProcTestRes, &res)
	return nil
}

// LockMsg implements nlm4rpc.Server.
func (s *Server) LockMsg(r *rpc.Request, args *nlm4.LockArgs) error {
	res := result(args.Cookie, s.lock(r, args, true))
	s.calls.answer(address(r), nlm4.ProcLockRes, &res)
	return nil
}

// CancelMsg implements nlm4rpc.Server.
func (s *Server) CancelMsg(r *rpc.Request, args *nlm4.CancelArgs) error {
	res := result(args.Cookie, s.cancel(r, args))
	s.calls.answer(address(r), nlm4.ProcCancelRes, &res)
	return nil
}

// UnlockMsg implements nlm4rpc.Server.
func (s *Server) UnlockMsg(r *rpc.Request, args *nlm4.UnlockArgs) error {
	res := result(args.Cookie, s.unlock(r, args))
	s.calls.answer(address(r), nlm4.ProcUnlockRes, &res)
	return nil
}

// GrantedMsg implements nlm4rpc.Server.
func (s *Server) GrantedMsg(*rpc.Request, *nlm4.TestArgs) error { return nil }

// TestRes implements nlm4rpc.Server. The server calls no procedure in _MSG, so it ignores the
// results.
func (s *Server) TestRes(*rpc.Request, *nlm4.TestRes) error { return nil }

// LockRes implements nlm4rpc.Server.
func (s *Server) LockRes(*rpc.Request, *nlm4.Res) error { return nil }

// CancelRes implements nlm4rpc.Server.
func (s *Server) CancelRes(*rpc.Request, *nlm4.Res) error { return nil }

// UnlockRes implements nlm4rpc.Server.
func (s *Server) UnlockRes(*rpc.Request, *nlm4.Res) error { return nil }

// GrantedRes implements nlm4rpc.Server.
func (s *Server) GrantedRes(*rpc.Request, *nlm4.Res) error { return nil }
