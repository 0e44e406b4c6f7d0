package nfsd

import (
	"io/fs"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Opens reports whether a handle is of the server.
func (s *Server) Opens(handle []byte) bool {
	_, ok := s.tree.handles.open(handle)
	return ok
}

// OSFile is a file of package localfs.
type OSFile interface {
	vfs.File
	Name() string
	Fd() uintptr
	Stat() (fs.FileInfo, error)
}

// SetSync makes the server call sync for its files, of package localfs, instead of Sync. No
// call may be in progress.
func (s *Server) SetSync(sync func(OSFile) error) {
	s.stored.sync = func(f vfs.File) error { return sync(f.(OSFile)) }
}

// FileMode returns a mode as package os has it.
var FileMode = fileMode

// MountStatusOf returns the status of MOUNT for one of NFS.
var MountStatusOf = mountStatus

// StatusOf returns the status for a system error.
var StatusOf = status

// Locks is the lock manager.
var Locks = lockServer{}

// OpenReplaced opens the file of a handle to read it, after replace was called.
func (s *Server) OpenReplaced(h nfs3.Handle, replace func()) error {
	o, err := s.tree.object(&h)
	if err != nil {
		return err
	}
	replace()
	f, err := o.open(vfs.Read)
	if err != nil {
		return err
	}
	return f.Close()
}

// ChangeOf returns what a reply says about a change of the object that a handle names.
func (s *Server) ChangeOf(h nfs3.Handle, change func()) (wcc nfs3.WccData, err error) {
	o, err := s.tree.object(&h)
	if err != nil {
		return wcc, err
	}
	after := o.wcc(&wcc)
	change()
	after()
	return wcc, nil
}
