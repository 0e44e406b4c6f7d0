package nfsd

import (
	"errors"
	"io/fs"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

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

// typeOf returns a type as package fs has it.
func typeOf(t nfs3.FileType) fs.FileMode {
	for mode, have := range types {
		if have == t {
			return mode
		}
	}
	return fs.ModeIrregular
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

// attrOf returns attributes as NFS has them.
func attrOf(a *vfs.Attr) nfs3.Attr {
	return nfs3.Attr{
		Type: types[a.Mode.Type()], Mode: modeOf(a.Mode), Nlink: a.Links, UID: nfs3.UID(a.UID), GID: nfs3.GID(a.GID),
		Size: nfs3.Size(a.Size), Used: nfs3.Size(a.Used), Rdev: nfs3.SpecData{Specdata1: a.Major, Specdata2: a.Minor},
		FSID: a.FSID, FileID: nfs3.FileID(a.Ino), Atime: nfsTime(a.Atime), Mtime: nfsTime(a.Mtime), Ctime: nfsTime(a.Ctime),
	}
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
func setAttr(c *caller, o object, a *nfs3.SetAttr) error {
	if err := c.maySet(&o.attr, a); err != nil {
		return err
	}
	if a.Size.SetIt {
		if err := truncate(c, o, a.Size.Size); err != nil {
			return err
		}
	}
	set := vfs.Change{Atime: wanted(a.Atime.SetIt, a.Atime.Atime), Mtime: wanted(a.Mtime.SetIt, a.Mtime.Mtime)}
	if a.UID.SetIt && a.UID.UID != o.attr.UID {
		set.UID = (*uint32)(&a.UID.UID)
	}
	if a.GID.SetIt && a.GID.GID != o.attr.GID {
		set.GID = (*uint32)(&a.GID.GID)
	}
	if mode, change := c.modeFor(&o.attr, a); change {
		set.Mode = new(fileMode(mode))
	}
	if set == (vfs.Change{}) {
		return nil
	}
	return o.node.SetAttr(set)
}

// truncate changes the size of a file. New bytes are zero.
func truncate(c *caller, o object, size nfs3.Size) error {
	if size > maxFile {
		return failed(nfs3.StatusFbig)
	}
	f, err := o.open(vfs.Write | vfs.Force)
	if err != nil {
		return err
	}
	if err = c.clearSetID(f, &o.attr); err == nil {
		err = f.Truncate(int64(size))
	}
	return errors.Join(err, f.Close())
}

// created gives a new object of a directory its owner and attributes. It ignores IDs in the
// attributes unless the caller is root: other callers cannot give files away, but some clients send
// the directory's group, by the rules of BSD. It also ignores attributes that the object's type
// does not have, for example the size of a directory.
func (u *users) created(c *caller, dir object, o *object, a *nfs3.SetAttr, mode nfs3.Mode) error {
	if !u.single {
		gid := c.gid
		if dir.attr.Mode&setGID != 0 {
			gid = uint32(dir.attr.GID)
		}
		if o.attr.UID != nfs3.UID(c.uid) || o.attr.GID != nfs3.GID(gid) {
			if err := o.node.SetAttr(vfs.Change{UID: &c.uid, GID: &gid}); err != nil {
				return err
			}
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
	if err := setAttr(c, *o, &set); err != nil {
		return err
	}
	if o.isDir() && dir.attr.Mode&setGID != 0 {
		// A directory inherits the bit, even if the caller is outside the group.
		if err := o.node.SetAttr(vfs.Change{Mode: new(fileMode(set.Mode.Mode&0o7777 | setGID))}); err != nil {
			return err
		}
	}
	return o.refresh()
}
