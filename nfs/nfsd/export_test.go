package nfsd

import (
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Settled reports whether a change is long enough ago to be noted.
var Settled = settled

// StatOf returns the attributes of a file.
func StatOf(fi fs.FileInfo) (nfs3.Attr, error) {
	st, err := statOf(fi)
	return st.attr, err
}

// Opens reports whether a handle is of the server.
func (s *Server) Opens(handle []byte) bool {
	_, _, ok := s.table.open(handle)
	return ok
}

// Confirmed reports whether the server noted that the file of a handle has its generation.
func (s *Server) Confirmed(handle []byte) bool {
	ino, gen, _ := s.table.open(handle)
	_, confirmed := s.table.paths(ino, gen)
	return confirmed != nfs3.Time{}
}

// SetSync makes the server call sync instead of (*os.File).Sync. No call may be in progress.
func (s *Server) SetSync(sync func(*os.File) error) { s.sync = sync }

// FileMode returns a mode as package os has it.
var FileMode = fileMode

// SetDevice makes the server take its directory for one of another device, and returns the device
// that it had. No call may be in progress.
func (s *Server) SetDevice(dev uint64) (old uint64) {
	old, s.dev = s.dev, dev
	return old
}

// MountStatusOf returns the status of MOUNT for one of NFS.
var MountStatusOf = mountStatus

// StatusOf returns the status for a system error.
var StatusOf = status

// Locks is the lock manager.
var Locks = lockServer{}

// OpenReplaced opens the file of a handle to read it, after replace was called.
func (s *Server) OpenReplaced(h nfs3.Handle, replace func()) error {
	o, err := s.object(&h)
	if err != nil {
		return err
	}
	replace()
	f, err := s.openAsIs(o, os.O_RDONLY)
	if err != nil {
		return err
	}
	return f.Close()
}

// ChangeOf returns what a reply says about a change of the object that a handle names.
func (s *Server) ChangeOf(h nfs3.Handle, change func()) (wcc nfs3.WccData, err error) {
	o, err := s.object(&h)
	if err != nil {
		return wcc, err
	}
	after := s.wcc(o, &wcc)
	change()
	after()
	return wcc, nil
}
