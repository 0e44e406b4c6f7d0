package nfsd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Config configures New.
type Config struct {
	// Dir is the directory to serve.
	Dir string

	// State is the directory of the server's own files: the key and the table of handles. It is
	// made if it does not exist, and must not be below Dir. One server uses it at a time.
	State string

	// Export is the path that clients mount. If empty, the default is "/export". Directories below
	// it can be mounted, too.
	Export string

	// ReadOnly refuses all changes with NFS3ERR_ROFS.
	ReadOnly bool

	// AllowRoot lets user 0 of clients act as root. By default it acts as AnonUID. It has no effect
	// if the server does not run as root.
	AllowRoot bool

	// AnonUID and AnonGID are the user and the group of callers without AUTH_SYS, and of user 0. If
	// zero, the default is 65534.
	AnonUID, AnonGID uint32

	// Async replies before changes are on the disk. A crash of the system, though not one of the
	// server, can then lose them.
	Async bool

	// StrictCookies refuses to continue a listing with NFS3ERR_BAD_COOKIE if the directory has
	// changed since the listing began. By default the listing continues: entries that stay are
	// listed once.
	StrictCookies bool

	// Logger receives an error when the table of handles cannot be written, because the disk of
	// State is full, and a line when it can be again. If nil, the default is slog.Default.
	Logger *slog.Logger
}

// Server is an NFS server of one directory. It implements nfs3rpc.Server. All methods are safe for
// concurrent use.
type Server struct {
	cfg   Config
	root  *os.Root
	dir   *os.File // the same directory
	dev   uint64   // its device
	owner uint32   // the user of the process
	table *table
	verf  atomic.Pointer[nfs3.WriteVerf]
	sync  func(*os.File) error // (*os.File).Sync, except in tests

	// tree is locked for writing while names change, and for reading by all other calls, except
	// while they wait for a disk to read or store data. So a path stays valid during a call, and
	// the attributes before and after a change of a directory have nothing between them.
	tree sync.RWMutex
	// inodes are locks, picked by inode number: a holder excludes other changes of that file, so
	// that the attributes before and after a change have nothing between them.
	inodes [64]sync.Mutex
	// stores serializes store for a file, by inode number: the system reports a failure only to
	// those that have the file open. A COMMIT that opens it later must see the changed verifier.
	stores [64]sync.Mutex

	buffers sync.Pool // of *[]byte, for READ
	mounts  mounts
}

var _ nfs3rpc.Server = (*Server)(nil)

// New returns a Server. The caller must Close it, after the carriers that call it.
func New(cfg Config) (_ *Server, err error) {
	s := &Server{cfg: cfg, sync: (*os.File).Sync}
	if s.cfg.Export == "" {
		s.cfg.Export = "/export"
	}
	if s.cfg.Logger == nil {
		s.cfg.Logger = slog.Default()
	}
	if s.cfg.Export[0] != '/' {
		return nil, fmt.Errorf("nfsd: found export %.64q, expected a path that begins with /", s.cfg.Export)
	}
	if s.cfg.AnonUID == 0 {
		s.cfg.AnonUID = 65534
	}
	if s.cfg.AnonGID == 0 {
		s.cfg.AnonGID = 65534
	}
	if uid := os.Geteuid(); uid != 0 {
		s.owner, s.cfg.AllowRoot = uint32(uid), false
		s.cfg.AnonUID, s.cfg.AnonGID = uint32(uid), uint32(os.Getegid())
	}
	if info, err := os.Stat(cfg.Dir); err != nil { // before the state directory is made
		return nil, fmt.Errorf("nfsd: the directory to serve: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("nfsd: found the file %s, expected a directory to serve", cfg.Dir)
	}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return nil, err
	}
	if err := outside(cfg.State, cfg.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.root, err = os.OpenRoot(cfg.Dir); err != nil {
		return nil, err
	}
	if s.dir, err = s.root.Open("."); err != nil {
		return nil, err
	}
	st, err := s.lstat(".")
	if err != nil {
		return nil, err
	}
	s.dev = st.dev
	if s.table, err = openTable(cfg.State, st.ino(), s.generation("."), s.cfg.Logger); err != nil {
		return nil, err
	}
	s.newVerf()
	return s, nil
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
		return fmt.Errorf("nfsd: the state directory %s is below the exported %s, where clients could read its key: choose another", state, dir)
	}
	return nil
}

// Close closes the files of the Server. No call may be in progress.
func (s *Server) Close() error {
	var errs []error
	if s.table != nil {
		errs = append(errs, s.table.close())
	}
	if s.dir != nil {
		errs = append(errs, s.dir.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	return errors.Join(errs...)
}

// Handler returns the handler of NFS, MOUNT and NLM, for one or several carriers. A call that a
// client sends again is not executed again, even if it comes on another connection or carrier.
func (s *Server) Handler() oncrpc.Handler {
	files := nfs3rpc.NewService(s)
	files.MaxReply(maxReply)
	return replycache.New(rpc.NewHandler(nil, files, mount3rpc.NewService(mountServer{s}), nlm4rpc.NewService(lockServer{})), nil)
}

// UDPHandler returns the handler of MOUNT and NLM, for UDP, over which this server has no NFS.
// Their calls may be executed twice, so there is no reply cache.
func (s *Server) UDPHandler() oncrpc.Handler {
	return rpc.NewHandler(nil, mount3rpc.NewService(mountServer{s}), nlm4rpc.NewService(lockServer{}))
}

// newVerf changes the write verifier. Clients then send again all data that is not committed
// (RFC 1813 §3.3.7).
func (s *Server) newVerf() {
	var verf nfs3.WriteVerf
	_, _ = rand.Read(verf[:]) // never fails
	s.verf.Store(&verf)
}

// store waits until a file or directory is on the disk. After a failure the system may have
// discarded data of UNSTABLE WRITEs, so the verifier changes.
func (s *Server) store(f *os.File) error {
	st, err := fstat(f)
	if err != nil {
		return err
	}
	lock := &s.stores[st.ino()%uint64(len(s.stores))]
	lock.Lock()
	defer lock.Unlock()
	if err = s.sync(f); err != nil {
		s.newVerf()
	}
	return err
}

// inode returns the lock of a file's data and attributes.
func (s *Server) inode(ino uint64) *sync.Mutex { return &s.inodes[ino%uint64(len(s.inodes))] }
