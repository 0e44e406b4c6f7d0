package nfsd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/nfs/localfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Config configures New.
type Config struct {
	// FS is the file system to serve. If nil, it is the directory Dir of the operating system, by
	// package localfs.
	FS vfs.FS

	// Key is the secret from which the MACs of handles are made. Handles are valid for servers
	// that have the same key and the same FS. If nil, the default is the key of the state
	// directory, or with FS a random one.
	Key []byte

	// Dir is the directory to serve, if FS is nil.
	Dir string

	// State is the directory of the server's own files, if FS is nil: the key, the table of
	// handles, and the list of clients that have locks. It is made if it does not exist, and must
	// not be below Dir. One server uses it at a time.
	State string

	// Export is the path that clients mount. If empty, the default is "/export". Directories below
	// it can be mounted, too.
	Export string

	// ReadOnly refuses all changes with NFS3ERR_ROFS. It is set for an FS that takes none.
	ReadOnly bool

	// AllowRoot lets user 0 of clients act as root. By default it acts as AnonUID. It has no effect
	// for an FS of a single user, as a directory is if the server does not run as root.
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

	// NoLocks refuses each lock at once: programs on a client get ENOLCK. By default locks are kept
	// in memory, and clients that had some before a restart reclaim them.
	NoLocks bool

	// LockGrace is the time after a restart for which only locks that clients had before are
	// granted. If zero, the default is 45 s.
	LockGrace time.Duration

	// Logger receives an error when the table of handles cannot be written, because the disk of
	// State is full, and a line when it can be again, and warnings about locks. If nil, the default
	// is slog.Default.
	Logger *slog.Logger
}

// Server is an NFS server of one file system. It implements nfs3rpc.Server. All methods are safe
// for concurrent use.
type Server struct {
	cfg     Config
	own     io.Closer // the file system, if the Server opened it
	users   users
	tree    tree
	stored  storage
	buffers buffers
	mounts  mounts
	locks   *nlm.Server // nil with Config.NoLocks
}

var _ nfs3rpc.Server = (*Server)(nil)

// New returns a Server. The caller must Close it, after the carriers that call it.
func New(cfg Config) (*Server, error) {
	if cfg.Export == "" {
		cfg.Export = "/export"
	}
	if cfg.Export[0] != '/' {
		return nil, fmt.Errorf("nfsd: found export %.64q, expected a path that begins with /", cfg.Export)
	}
	s := &Server{}
	if cfg.FS == nil {
		dir, err := localfs.Open(localfs.Config{Dir: cfg.Dir, State: cfg.State, Logger: cfg.Logger})
		if err != nil {
			return nil, err
		}
		cfg.FS, s.own = dir, dir
		if cfg.Key == nil {
			cfg.Key = dir.Key()
		}
	}
	if cfg.Key == nil {
		cfg.Key = make([]byte, 32)
		_, _ = rand.Read(cfg.Key) // never fails
	}
	info := cfg.FS.Info()
	cfg.ReadOnly = cfg.ReadOnly || info.ReadOnly
	s.cfg, s.users = cfg, newUsers(&cfg, info)
	s.tree.fs, s.tree.handles.key = cfg.FS, cfg.Key
	s.stored.async, s.stored.sync = cfg.Async, vfs.File.Sync
	s.stored.newVerf()
	if err := s.openLocks(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the files of the Server, and notes which clients have locks. The caller closes
// Config.FS, if that was set. No call may be in progress.
func (s *Server) Close() error {
	var errs []error
	if s.locks != nil {
		errs = append(errs, s.locks.Close())
	}
	if s.own != nil {
		errs = append(errs, s.own.Close())
	}
	return errors.Join(errs...)
}

// Handler returns the handler of NFS, MOUNT and NLM, with the notifications of clients that have
// started again, for one or several carriers. A call that a client sends again is not executed
// again, even if it comes on another connection or carrier. The first call of Handler or UDPHandler
// starts the grace period of locks.
func (s *Server) Handler() oncrpc.Handler {
	files := nfs3rpc.NewService(s)
	files.MaxReply(maxReply)
	services := append(s.lockServices(), files, mount3rpc.NewService(mountServer{s}))
	return replycache.New(rpc.NewHandler(nil, services...), nil)
}

// UDPHandler returns the handler of the same services without NFS, for UDP.
func (s *Server) UDPHandler() oncrpc.Handler {
	services := append(s.lockServices(), mount3rpc.NewService(mountServer{s}))
	return replycache.New(rpc.NewHandler(nil, services...), nil)
}
