package client

import (
	"io/fs"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Info describes a file. It implements fs.FileInfo.
type Info struct {
	name string
	Attr nfs3.Attr
}

var _ fs.FileInfo = (*Info)(nil)

// Name returns the last element of the file's name, "." for the root.
func (i *Info) Name() string { return i.name }

// Size returns the size in bytes, math.MaxInt64 at most.
func (i *Info) Size() int64 { return int64(min(i.Attr.Size, math.MaxInt64)) }

// ModTime returns the time when the data was last changed.
func (i *Info) ModTime() time.Time { return fromTime(i.Attr.Mtime) }

// IsDir reports whether the file is a directory.
func (i *Info) IsDir() bool { return i.Attr.Type == nfs3.FileTypeDir }

// Sys returns the attributes, a *nfs3.Attr.
func (i *Info) Sys() any { return &i.Attr }

// Mode returns the type and the permissions.
func (i *Info) Mode() fs.FileMode {
	m := fs.FileMode(i.Attr.Mode & 0o777)
	for bit, mode := range map[nfs3.Mode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if i.Attr.Mode&bit != 0 {
			m |= mode
		}
	}
	switch i.Attr.Type {
	case nfs3.FileTypeReg:
		return m
	case nfs3.FileTypeDir:
		return m | fs.ModeDir
	case nfs3.FileTypeLnk:
		return m | fs.ModeSymlink
	case nfs3.FileTypeBlk:
		return m | fs.ModeDevice
	case nfs3.FileTypeChr:
		return m | fs.ModeDevice | fs.ModeCharDevice
	case nfs3.FileTypeSock:
		return m | fs.ModeSocket
	case nfs3.FileTypeFifo:
		return m | fs.ModeNamedPipe
	}
	return m | fs.ModeIrregular
}

func fromTime(t nfs3.Time) time.Time { return time.Unix(int64(t.Seconds), int64(t.Nseconds)) }

// toTime returns t as NFS version 3 has it: from 1970 to 2106.
func toTime(t time.Time) nfs3.Time {
	s := min(max(t.Unix(), 0), math.MaxUint32)
	return nfs3.Time{Seconds: uint32(s), Nseconds: uint32(t.Nanosecond())}
}

// SetMode returns the attributes that set the permissions of a file.
func SetMode(m fs.FileMode) nfs3.SetAttr {
	bits := nfs3.Mode(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: bits}}
}

// SetTimes returns the attributes that set the times of a file. Times before 1970 or after 2106
// become the nearest that NFS version 3 has.
func SetTimes(atime, mtime time.Time) nfs3.SetAttr {
	return nfs3.SetAttr{
		Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: toTime(atime)},
		Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: toTime(mtime)},
	}
}

// SetSize returns the attributes that set the size of a file.
func SetSize(size int64) nfs3.SetAttr {
	return nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(size)}}
}
