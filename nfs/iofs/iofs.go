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
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Config configures New.
type Config struct {
	// UID and GID own all files.
	UID, GID uint32

	// Cache is the largest sum in bytes of the data that is kept of files that are not
	// io.ReaderAts, as in a compressed zip file. Of a larger file each ReadAt reads the beginning
	// again. If zero, the default is 256 MiB.
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

// New returns an FS with the files of fsys. It reads the names and attributes of all of them, and
// returns an error if one cannot be read. Names that NFS cannot have are left out: those longer
// than 255 bytes.
func New(fsys fs.FS, cfg Config) (*FS, error) {
	if cfg.Cache == 0 {
		cfg.Cache = 256 << 20
	}
	r := &FS{fsys: fsys, byID: map[vfs.ID]*node{}, cache: cache{most: cfg.Cache}}
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := path.Base(p); len(name) > vfs.MaxName {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return r.add(p, info, cfg)
	})
	if err == nil && r.root == nil {
		err = fmt.Errorf("found no root directory in the fs.FS: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("iofs: %w", err)
	}
	return r, nil
}

// add adds a file, after its directory.
func (r *FS) add(p string, info fs.FileInfo, cfg Config) error {
	sum := sha256.Sum256([]byte(p))
	n := &node{fs: r, path: p, id: vfs.ID(sum[:])}
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
	dir := r.root
	if parent := path.Dir(p); parent != "." {
		sum := sha256.Sum256([]byte(parent))
		dir = r.byID[vfs.ID(sum[:])]
	}
	n.parent = dir
	dir.byName[path.Base(p)] = n
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

// cache has the data of files that can only be read from the beginning, the oldest first.
type cache struct {
	mu    sync.Mutex
	most  int64 // bytes
	bytes int64
	files []cached
}

type cached struct {
	of   *node
	data []byte
}

func (c *cache) get(n *node) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files {
		if f.of == n {
			return f.data, true
		}
	}
	return nil, false
}

// put keeps a file's data, and drops older files to have room.
func (c *cache) put(n *node, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files, c.bytes = append(c.files, cached{n, data}), c.bytes+int64(len(data))
	for c.bytes > c.most {
		c.bytes -= int64(len(c.files[0].data))
		c.files = c.files[1:]
	}
}
