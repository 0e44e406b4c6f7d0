// Package memfs is a file system in memory for package nfsd. It is empty when it is made, and gone
// with the process. It has files, directories, symbolic and hard links, pipes, sockets and devices,
// with owners and modes, whoever runs the process.
package memfs

import (
	"crypto/rand"
	"encoding/binary"
	"io/fs"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Config configures New.
type Config struct {
	// Size is the memory in bytes for data, names and targets of links, with 256 bytes for each
	// object, 96 for each name, and 128 for each 64 KiB of a file that has data.
	// If zero, the default is 1 GiB. A change that needs more fails with vfs.ErrNoSpace.
	Size int64

	// Mode has the permissions of the root. If zero, the default is 0o1777, as for /tmp.
	Mode fs.FileMode
}

// The memory in bytes that an object counts for without data and names, and a name without its
// bytes.
const perObject, perName = 256, 96

// sizeOf returns the memory that a name counts for.
func sizeOf(name string) int64 { return perName + int64(len(name)) }

// FS is a file system in memory. It implements vfs.FS.
type FS struct {
	size     int64
	instance uint64 // in all IDs, so that the IDs of another FS are stale

	mu    sync.RWMutex // guards all below and all inodes
	root  *inode
	byIno map[uint64]*inode // with names, or the root
	next  uint64            // inode number; none is used again
	used  int64
	last  time.Time // of a change: each has a later time than all before
}

var _ vfs.FS = (*FS)(nil)

// inode is an object. A directory has entries, a file pages.
type inode struct {
	attr   vfs.Attr
	target string
	data   data
	dir    *directory
	opens  int // Files; without names, the last one frees the data
}

// New returns an empty FS.
func New(cfg Config) *FS {
	if cfg.Size == 0 {
		cfg.Size = 1 << 30
	}
	if cfg.Mode == 0 {
		cfg.Mode = fs.ModeSticky | 0o777
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	m := &FS{size: cfg.Size, instance: binary.BigEndian.Uint64(b[:]), byIno: map[uint64]*inode{}}
	m.root = m.add(vfs.New{Mode: fs.ModeDir | cfg.Mode})
	m.root.dir.parent = m.root
	return m
}

// Info implements vfs.FS.
func (m *FS) Info() vfs.Info { return vfs.Info{} }

// Root implements vfs.FS.
func (m *FS) Root() (vfs.Node, vfs.Attr, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &node{m, m.root}, m.root.attr, nil
}

// Resolve implements vfs.FS.
func (m *FS) Resolve(id vfs.ID) (vfs.Node, vfs.Attr, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i := m.byIno[binary.BigEndian.Uint64(id[:8])]
	if i == nil || binary.BigEndian.Uint64(id[8:]) != m.instance {
		return nil, vfs.Attr{}, vfs.ErrStale
	}
	return &node{m, i}, i.attr, nil
}

// Space implements vfs.FS.
func (m *FS) Space() (vfs.Space, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	free := uint64(m.size - m.used)
	return vfs.Space{
		Bytes: uint64(m.size), FreeBytes: free, AvailBytes: free,
		Files: uint64(len(m.byIno)) + free/perObject, FreeFiles: free / perObject,
	}, nil
}

// add makes an object without a name. The caller holds mu and has taken the memory.
func (m *FS) add(what vfs.New) *inode {
	m.next++
	i := &inode{target: what.Target}
	now := m.now()
	i.attr = vfs.Attr{
		Mode: what.Mode, Major: what.Major, Minor: what.Minor, FSID: m.instance, Ino: m.next, Size: uint64(len(what.Target)),
		Atime: now, Mtime: now, Ctime: now,
	}
	if what.Mode.IsDir() {
		i.dir = &directory{byName: map[string]*entry{}}
		i.attr.Links = 2 // its name and "."
	}
	m.byIno[i.attr.Ino] = i
	return i
}

// now returns the time of a change.
func (m *FS) now() time.Time {
	now := time.Now()
	if !now.After(m.last) {
		now = m.last.Add(1)
	}
	m.last = now
	return now
}

// take takes memory, or gives it back if n is negative. The caller holds mu.
func (m *FS) take(n int64) error {
	if n > m.size-m.used {
		return vfs.ErrNoSpace
	}
	m.used += n
	return nil
}

// release frees an object without names and Files.
func (m *FS) release(i *inode) {
	if i.opens == 0 && i.attr.Links == 0 {
		_ = m.take(-(perObject + int64(len(i.target)) + i.data.truncate(0))) // never fails
	}
}
