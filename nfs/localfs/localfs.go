package localfs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Config configures Open.
type Config struct {
	// Dir is the directory to serve.
	Dir string

	// State is the directory of the FS's own files: the key and the table of IDs. It is made if it
	// does not exist, and must not be below Dir. One FS uses it at a time.
	State string

	// Logger receives an error when the table cannot be written, because the disk of State is
	// full, and a line when it can be again. If nil, the default is slog.Default.
	Logger *slog.Logger
}

// FS is a directory of the operating system. It implements vfs.FS.
type FS struct {
	root  *os.Root
	dir   *os.File // the same directory
	below beneath  // it
	dev   uint64   // its device
	owner uint32   // the user of the process
	table *table
}

var _ vfs.FS = (*FS)(nil)

// Open returns an FS. The caller must Close it, after the server that uses it.
func Open(cfg Config) (_ *FS, err error) {
	l := &FS{owner: uint32(max(os.Geteuid(), 0))}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if info, err := os.Stat(cfg.Dir); err != nil { // before the state directory is made
		return nil, fmt.Errorf("localfs: the directory to serve: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("localfs: found the file %s, expected a directory to serve", cfg.Dir)
	}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return nil, err
	}
	if err := outside(cfg.State, cfg.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.root, err = os.OpenRoot(cfg.Dir); err != nil {
		return nil, err
	}
	if l.dir, err = l.root.Open("."); err != nil {
		return nil, err
	}
	l.below = newBeneath(l.dir)
	st, err := l.lstat(".")
	if err != nil {
		return nil, err
	}
	l.dev = st.dev
	if l.table, err = openTable(cfg.State, st.Ino, l.generation("."), cfg.Logger); err != nil {
		return nil, err
	}
	return l, nil
}

// outside returns an error if the state directory is in the exported one, where clients could read
// the key.
func outside(state, dir string) error {
	state, err := filepath.EvalSymlinks(state)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if state, err = filepath.Abs(state); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, state)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("localfs: the state directory %s is below the exported %s, where clients could read its key: choose another", state, dir)
	}
	return nil
}

// Close closes the files of the FS. No other method may be in progress.
func (l *FS) Close() error {
	var errs []error
	if l.table != nil {
		errs = append(errs, l.table.close())
	}
	if l.dir != nil {
		errs = append(errs, l.dir.Close())
	}
	if l.root != nil {
		errs = append(errs, l.root.Close())
	}
	return errors.Join(errs...)
}

// Key returns the key for nfsd.Config.Key: it is kept with the table, so that neither can be lost
// alone. The caller does not change it.
func (l *FS) Key() []byte { return l.table.key }

// Info implements vfs.FS. A process that is not root cannot give files to others.
func (l *FS) Info() vfs.Info {
	if l.owner == 0 {
		return vfs.Info{}
	}
	return vfs.Info{Single: true, UID: l.owner, GID: uint32(os.Getegid())}
}

// Root implements vfs.FS.
func (l *FS) Root() (vfs.Node, vfs.Attr, error) {
	return l.resolve(l.table.root, l.table.generation(l.table.root))
}

// Space implements vfs.FS.
func (l *FS) Space() (vfs.Space, error) { return l.space() }

// errSystem is the error of Open on systems whose files have no inode numbers, or for which the
// package was not written yet.
var errSystem = errors.New("localfs: no inode numbers here: serve on Linux, macOS or FreeBSD")

// stat holds the attributes of an object, and its device.
type stat struct {
	vfs.Attr
	dev     uint64
	mounted bool // over the name by which it was found
}

// lstat returns the attributes of an object. It does not follow a symbolic link at the end of the
// path, or one that leads out of the directory.
func (l *FS) lstat(path string) (stat, error) {
	if st, done, err := l.below.lstat(path); done {
		return st, err
	}
	fi, err := l.root.Lstat(path)
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
