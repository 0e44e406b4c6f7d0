package localfs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// An ID has the inode number and the generation.
func idOf(ino, gen uint64) (id vfs.ID) {
	binary.BigEndian.PutUint64(id[:8], ino)
	binary.BigEndian.PutUint64(id[8:], gen)
	return id
}

// Resolve implements vfs.FS.
func (l *FS) Resolve(id vfs.ID) (vfs.Node, vfs.Attr, error) {
	return l.resolve(binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]))
}

// resolve finds a file by its paths in the table.
func (l *FS) resolve(ino, gen uint64) (vfs.Node, vfs.Attr, error) {
	paths, confirmed := l.table.paths(ino, gen)
	for _, path := range paths {
		st, err := l.lstat(path)
		switch {
		case gone(err):
			continue
		case err != nil:
			return nil, vfs.Attr{}, err
		}
		same := !confirmed.IsZero() && confirmed.Equal(st.Ctime)
		if st.dev == l.dev && !st.mounted && st.Ino == ino && (same || l.confirm(path, gen, &st)) {
			return &node{fs: l, path: path, stat: st, gen: gen}, st.Attr, nil
		}
	}
	return nil, vfs.Attr{}, vfs.ErrStale
}

// confirm reports whether a file has a generation, and notes the time of the file's last change if
// that is in the past. A later file with the inode number has a later time, so a file with the time
// noted is the same one, and needs no further system call.
func (l *FS) confirm(path string, gen uint64, st *stat) bool {
	now := l.generation(path)
	if now != 0 && now != gen {
		return false
	}
	if settled(st.Ctime, time.Now()) {
		l.table.confirm(st.Ino, gen, st.Ctime)
	}
	return true
}

// settled reports whether a change is so long ago that a later one has a later time, although file
// systems count in ticks of milliseconds, some in seconds.
func settled(change, now time.Time) bool { return change.Unix()+1 < now.Unix() }

// child finds an object in a directory. It never goes through a symbolic link.
func (l *FS) child(dir *node, name string) (*node, error) {
	p, err := dir.join(name)
	if err != nil {
		return nil, err
	}
	st, err := dir.lstat(name)
	if err == nil && (st.dev != l.dev || st.mounted) {
		err = fs.ErrPermission // another file system, or a part of this one, is mounted there
	}
	if err != nil {
		return nil, err
	}
	return &node{fs: l, path: p, stat: st, dir: dir, name: name, listed: dir.listing}, nil
}

// gone reports whether an error means that a path does not lead to a file any more. An error
// without a number is os.Root's: a symbolic link that leads out of the export is in place of a
// directory.
func gone(err error) bool {
	if err == nil {
		return false
	}
	var errno syscall.Errno
	return (!errors.As(err, &errno) || errors.Is(err, fs.ErrNotExist) ||
		errno == syscall.ENOTDIR || errno == syscall.ELOOP)
}
