package nfsd

import (
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// openLocks starts the lock manager, unless Config.NoLocks is set.
func (s *Server) openLocks() error {
	if s.cfg.NoLocks {
		return nil
	}
	cfg := nlm.Config{Check: s.lockable, Grace: s.cfg.LockGrace, Logger: s.cfg.Logger}
	if s.own != nil {
		cfg.State = s.cfg.State
	}
	var err error
	s.locks, err = nlm.New(cfg)
	return err
}

// lockServices returns the services of the lock manager.
func (s *Server) lockServices() []*rpc.Service {
	if s.locks == nil {
		return []*rpc.Service{nlm4rpc.NewService(lockServer{})}
	}
	return s.locks.Services()
}

// lockable says whether the caller may lock a file. Any caller that may read it may do so, and one
// that may write it for an exclusive lock, as in Linux.
func (s *Server) lockable(r *rpc.Request, file []byte, exclusive bool) nlm4.Status {
	c, err := s.users.caller(r)
	if err != nil {
		return nlm4.StatusFailed
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&nfs3.Handle{Data: file})
	switch code := status(err); {
	case code == nfs3.StatusBadhandle, code == nfs3.StatusStale:
		return nlm4.StatusStaleFH
	case err != nil, o.attr.Type != nfs3.FileTypeReg:
		return nlm4.StatusFailed
	}
	err = c.needData(&o.attr, mayRead)
	if err != nil && exclusive {
		err = c.needData(&o.attr, mayWrite)
	}
	if err != nil {
		return nlm4.StatusFailed
	}
	return nlm4.StatusGranted
}
