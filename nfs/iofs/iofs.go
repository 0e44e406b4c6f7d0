// Package iofs serves an fs.FS, such as a zip file or embedded files, by package nfsd. It is
// read-only.
//
// The names are read once, by New: the fs.FS must not change. The ID of a file depends on its path
// alone, so it stays the same when the program starts again.
package iofs

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Config configures New.
type Config struct {
	// UID and GID own all files.
	UID, GID uint32

	// Cache is the largest sum in bytes of the data that is kept, or being read, of files that are
	// not io.ReaderAts, as in a compressed zip file. A ReadAt waits while others use all of it. Of
	// a larger file each ReadAt reads the beginning again. If zero, the default is 256 MiB.
	Cache int64
}

// FS is an fs.FS. It implements vfs.FS.
type FS struct {
	fsys  fs.FS
	root  *node
	byID  map[vfs.ID]*node
	bytes uint64 // of all files
	cache cache
}

var _ vfs.FS = (*FS)(nil)

// maxPath is the longest path of a file in bytes, as in Linux.
const maxPath = 4096

// New returns an FS that serves fsys. It reads all names and attributes, and fails if one cannot be
// read. Names that NFS cannot have are left out, with all below
// them: names longer than 255 bytes or with a slash or NUL, "." and "..", and the last name of a
// path longer than 4,096 bytes.
func New(fsys fs.FS, cfg Config) (*FS, error) {
	if cfg.Cache == 0 {
		cfg.Cache = 256 << 20
	}
	r := &FS{fsys: fsys, byID: map[vfs.ID]*node{}}
	r.cache.init(cfg.Cache)
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if r.root != nil && (!isName(entry.Name()) || len(p) > maxPath) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := r.add(p, info, cfg); err != nil {
			return &fs.PathError{Op: "list", Path: p, Err: err}
		}
		return nil
	})
	if err == nil && r.root == nil {
		err = fmt.Errorf("found no root directory in the fs.FS: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("iofs: %w", err)
	}
	return r, nil
}

// isName reports whether NFS can have a name of a listing.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= vfs.MaxName && !strings.ContainsAny(name, "/\x00")
}

// idOf returns the ID of a path.
func idOf(p string) vfs.ID {
	sum := sha256.Sum256([]byte(p))
	return vfs.ID(sum[:])
}

// add adds a file, after its directory.
func (r *FS) add(p string, info fs.FileInfo, cfg Config) error {
	n := &node{fs: r, name: strings.Clone(path.Base(p)), id: idOf(p)} // it does not keep the path
	if r.byID[n.id] != nil {
		return fs.ErrExist
	}
	n.attr = vfs.Attr{
		Mode: info.Mode(), Links: 1, UID: cfg.UID, GID: cfg.GID, Size: uint64(max(info.Size(), 0)), FSID: 1, Ino: uint64(len(r.byID) + 1),
		Atime: info.ModTime(), Mtime: info.ModTime(), Ctime: info.ModTime(),
	}
	n.attr.Used = n.attr.Size
	r.byID[n.id] = n
	if info.IsDir() {
		n.attr.Links, n.byName = 2, map[string]*node{}
	}
	if p == "." {
		if !info.IsDir() {
			return vfs.ErrNotDir
		}
		r.root, n.parent = n, n
		return nil
	}
	dir := r.byID[idOf(path.Dir(p))]
	if dir == nil || dir.byName == nil { // its attributes are not a directory's
		return vfs.ErrNotDir
	}
	n.parent = dir
	dir.byName[n.name] = n
	dir.order = append(dir.order, n)
	if info.IsDir() {
		dir.attr.Links++
	}
	r.bytes += n.attr.Size
	return nil
}

// Info implements vfs.FS.
func (r *FS) Info() vfs.Info { return vfs.Info{ReadOnly: true} }

// Root implements vfs.FS.
func (r *FS) Root() (vfs.Node, vfs.Attr, error) { return r.root, r.root.attr, nil }

// Resolve implements vfs.FS.
func (r *FS) Resolve(id vfs.ID) (vfs.Node, vfs.Attr, error) {
	n := r.byID[id]
	if n == nil {
		return nil, vfs.Attr{}, vfs.ErrStale
	}
	return n, n.attr, nil
}

// Space implements vfs.FS.
func (r *FS) Space() (vfs.Space, error) {
	return vfs.Space{Bytes: r.bytes, Files: uint64(len(r.byID))}, nil
}
