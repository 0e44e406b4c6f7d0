package nfsd

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// stat holds the attributes of an object.
type stat struct {
	attr nfs3.Attr
	dev  uint64
}

func (st *stat) ino() uint64 { return uint64(st.attr.FileID) }

func (st *stat) after() nfs3.PostOpAttr {
	return nfs3.PostOpAttr{AttributesFollow: true, Attributes: st.attr}
}

func (st *stat) before() nfs3.PreOpAttr {
	a := &st.attr
	return nfs3.PreOpAttr{AttributesFollow: true, Attributes: nfs3.WccAttr{Size: a.Size, Mtime: a.Mtime, Ctime: a.Ctime}}
}

// lstat returns the attributes of an object. It does not follow a symbolic link at the end of the
// path, or one that leads out of the export.
func (s *Server) lstat(path string) (stat, error) {
	fi, err := s.root.Lstat(path)
	if err != nil {
		return stat{}, err
	}
	return statOf(fi)
}

// fstat returns the attributes of an open file.
func fstat(f *os.File) (stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return statOf(fi)
}

// types are the types of objects by their mode (RFC 1813 §2.6).
var types = map[fs.FileMode]nfs3.FileType{
	0:                                 nfs3.FileTypeReg,
	fs.ModeDir:                        nfs3.FileTypeDir,
	fs.ModeSymlink:                    nfs3.FileTypeLnk,
	fs.ModeNamedPipe:                  nfs3.FileTypeFifo,
	fs.ModeSocket:                     nfs3.FileTypeSock,
	fs.ModeDevice:                     nfs3.FileTypeBlk,
	fs.ModeDevice | fs.ModeCharDevice: nfs3.FileTypeChr,
}

// The bits of mode3 that fs.FileMode has elsewhere.
const setUID, setGID, sticky = 0o4000, 0o2000, 0o1000

// modeOf returns a mode as NFS has it.
func modeOf(m fs.FileMode) nfs3.Mode {
	mode := nfs3.Mode(m.Perm())
	for bit, flag := range map[nfs3.Mode]fs.FileMode{setUID: fs.ModeSetuid, setGID: fs.ModeSetgid, sticky: fs.ModeSticky} {
		if m&flag != 0 {
			mode |= bit
		}
	}
	return mode
}

// fileMode returns a mode as package os has it.
func fileMode(m nfs3.Mode) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for bit, flag := range map[nfs3.Mode]fs.FileMode{setUID: fs.ModeSetuid, setGID: fs.ModeSetgid, sticky: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// nfsTime returns a time as NFS has it: since 1970, for 136 years.
func nfsTime(t time.Time) nfs3.Time {
	sec := t.Unix()
	if sec < 0 || sec > 1<<32-1 {
		return nfs3.Time{}
	}
	return nfs3.Time{Seconds: uint32(sec), Nseconds: uint32(t.Nanosecond())}
}

// wanted returns the time to set, or the zero time for no change.
func wanted(how nfs3.TimeHow, t nfs3.Time) time.Time {
	switch how {
	case nfs3.TimeHowSetToServerTime:
		return time.Now()
	case nfs3.TimeHowSetToClientTime:
		return time.Unix(int64(t.Seconds), int64(t.Nseconds))
	}
	return time.Time{}
}

// setAttr changes attributes for a caller. All rights are checked before the first change.
func (s *Server) setAttr(c *caller, o object, a *nfs3.SetAttr) error {
	if err := c.maySet(&o.attr, a); err != nil {
		return err
	}
	if a.Size.SetIt {
		if err := s.truncate(c, o, a.Size.Size); err != nil {
			return err
		}
	}
	if a.UID.SetIt || a.GID.SetIt {
		uid, gid := int64(-1), int64(-1)
		if a.UID.SetIt && a.UID.UID != o.attr.UID {
			uid = int64(a.UID.UID)
		}
		if a.GID.SetIt && a.GID.GID != o.attr.GID {
			gid = int64(a.GID.GID)
		}
		if uid >= 0 || gid >= 0 {
			if err := s.root.Lchown(o.path, int(uid), int(gid)); err != nil {
				return err
			}
		}
	}
	if mode, change := c.modeFor(&o.attr, a); change {
		if err := s.root.Chmod(o.path, fileMode(mode)); err != nil {
			return err
		}
	}
	atime, mtime := wanted(a.Atime.SetIt, a.Atime.Atime), wanted(a.Mtime.SetIt, a.Mtime.Mtime)
	if atime.IsZero() && mtime.IsZero() {
		return nil
	}
	if o.attr.Type == nfs3.FileTypeLnk {
		return s.within(o.path, func(dir *os.File, name string) error { return linkTimes(dir, name, atime, mtime) })
	}
	return s.root.Chtimes(o.path, atime, mtime)
}

// within calls f with the open directory of a path and the last component, for calls of the system
// that package os does not have.
func (s *Server) within(p string, f func(dir *os.File, name string) error) error {
	dir, err := s.root.Open(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir, path.Base(p))
}

// truncate changes the size of a file. New bytes are zero.
func (s *Server) truncate(c *caller, o object, size nfs3.Size) error {
	if size > maxFile {
		return failed(nfs3.StatusFbig)
	}
	f, err := s.open(o, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := c.clearSetID(f, &o.attr); err != nil {
		return err
	}
	err = f.Truncate(int64(size))
	if errors.Is(err, syscall.EINVAL) { // of systems with a limit below the file system's
		err = failed(nfs3.StatusFbig)
	}
	return err
}

// open opens a regular file for a caller whose rights are checked already: see needData. The caller
// holds the file's lock: a server that is not root gives itself the mode bits that it lacks, and
// takes them away again.
func (s *Server) open(o object, flag int) (*os.File, error) {
	f, err := s.openAsIs(o, flag)
	if s.owner == 0 || uint32(o.attr.UID) != s.owner || !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	if err := s.root.Chmod(o.path, fileMode(o.attr.Mode|0o600)); err != nil {
		return nil, err
	}
	f, err = s.openAsIs(o, flag)
	if failure := s.root.Chmod(o.path, fileMode(o.attr.Mode)); failure != nil && err == nil {
		return nil, errors.Join(failure, f.Close())
	}
	return f, err
}

// openAsIs opens a regular file whose mode allows it. It never blocks and never opens anything
// else, which could have effects.
func (s *Server) openAsIs(o object, flag int) (*os.File, error) {
	switch o.attr.Type {
	case nfs3.FileTypeReg:
	case nfs3.FileTypeDir:
		return nil, failed(nfs3.StatusIsdir)
	default:
		return nil, failed(nfs3.StatusInval)
	}
	f, err := s.root.OpenFile(o.path, flag|openFlags, 0)
	if err != nil {
		return nil, err
	}
	return f, s.same(f, o)
}

// same returns an error, and closes f, if f is another file than o, because a local program has put
// it there.
func (s *Server) same(f *os.File, o object) error {
	st, err := fstat(f)
	if err == nil && (st.ino() != o.ino() || st.dev != o.dev) {
		err = failed(nfs3.StatusStale)
	}
	if err != nil {
		_ = f.Close() // nothing was written
	}
	return err
}

// created gives a new object of a directory its owner and attributes, and returns it. It ignores
// IDs in the attributes unless the caller is root: other callers cannot give files away, but some
// clients send the directory's group, by the rules of BSD. It also ignores attributes that the
// object's type does not have, for example the size of a directory.
func (s *Server) created(c *caller, dir object, name string, a *nfs3.SetAttr, mode nfs3.Mode) (object, error) {
	o, err := s.child(dir, name)
	if err != nil {
		return o, err
	}
	if s.owner == 0 {
		gid := c.gid
		if dir.attr.Mode&setGID != 0 {
			gid = uint32(dir.attr.GID)
		}
		if err := s.root.Lchown(o.path, int(c.uid), int(gid)); err != nil {
			return o, err
		}
		o.attr.UID, o.attr.GID = nfs3.UID(c.uid), nfs3.GID(gid)
	}
	set := *a
	if !c.root {
		set.UID, set.GID = nfs3.SetUID{}, nfs3.SetGID{}
	}
	if !set.Mode.SetIt {
		set.Mode = nfs3.SetMode{SetIt: true, Mode: mode}
	}
	if o.attr.Type != nfs3.FileTypeReg {
		set.Size = nfs3.SetSize{}
	}
	if o.attr.Type == nfs3.FileTypeLnk {
		set = nfs3.SetAttr{UID: set.UID, GID: set.GID}
	}
	if err := s.setAttr(c, o, &set); err != nil {
		return o, err
	}
	if o.attr.Type == nfs3.FileTypeDir && dir.attr.Mode&setGID != 0 {
		// A directory inherits the bit, even if the caller is outside the group.
		if err := s.root.Chmod(o.path, fileMode(set.Mode.Mode&0o7777|setGID)); err != nil {
			return o, err
		}
	}
	st, err := s.lstat(path.Join(dir.path, name))
	return object{o.path, st}, err
}
