package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// ErrNoPort is in Dial's error if the server's rpcbind does not return the port of MOUNT.
var ErrNoPort = errors.New("without rpcbind, set the ports of MOUNT and NFS")

// unmountTime is the longest time that a Client waits for the answer to UMNT.
const unmountTime = time.Second

// mounted is an export that MOUNT has returned.
type mounted struct {
	root nfs3.Handle
	rest string // the path below the export
	addr string // of MOUNT
	path mount3.DirPath
	cred oncrpc.OpaqueAuth
}

// unmountAfter returns a function that runs another one and then calls UMNT.
func (m *mounted) unmountAfter(end func() error) func() error {
	return func() error {
		err := end()
		m.unmount()
		return err
	}
}

// unmount calls UMNT (RFC 1813 §5.2.3), which shortens the server's list of mounts. The list is for
// people, and no call depends on it, so a failure is not reported.
func (m *mounted) unmount() {
	ctx, cancel := context.WithTimeout(context.Background(), unmountTime)
	defer cancel()
	conn, err := tcp.Dial(ctx, m.addr, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: m.cred}).Unmount(ctx, m.path)
}

// mount returns the export that has a path.
func mount(ctx context.Context, host, dir string, cfg Config) (*mounted, error) {
	port := cfg.MountPort
	if port == 0 {
		at, err := rpcbind.Resolve(ctx, host, mount3.Program, mount3.Version, "tcp", nil)
		if err != nil {
			if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) {
				return nil, err
			}
			return nil, fmt.Errorf("the port of MOUNT by rpcbind of %s: %w: %w", host, err, ErrNoPort)
		}
		port = int(at.Port()) // the address may be any: only the port is used
	}
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return nil, cfg.explainMount(addr, err)
	}
	defer conn.Close()
	cred, err := cfg.Cred.Auth()
	if err != nil {
		return nil, err
	}
	mounts := mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: cred})
	for at := exported(ctx, mounts, dir); ; at = path.Dir(at) {
		res, err := mounts.Mount(ctx, mount3.DirPath(at))
		if err != nil {
			return nil, cfg.explainMount(addr, err)
		}
		if res.Status == mount3.StatusOK {
			return &mounted{nfs3.Handle{Data: res.OK.Handle}, below(at, dir), addr, mount3.DirPath(at), cred}, nil
		}
		if absent := res.Status == mount3.StatusNoent || res.Status == mount3.StatusNotdir || res.Status == mount3.StatusAcces; at == "/" || !absent {
			return nil, &MountError{Path: dir, Status: res.Status}
		}
	}
}

// explainMount adds to an error of MOUNT where it was asked, and what to check.
func (cfg *Config) explainMount(addr string, err error) error {
	check := "the server's rpcbind names this port: does MOUNT run there, and does a firewall let it through?"
	if cfg.MountPort != 0 {
		check = "is this the port of MOUNT? 0 asks the server's rpcbind"
	}
	return fmt.Errorf("MOUNT over tcp at %s: %w: %s", addr, err, check)
}

// exported returns the longest export that is a prefix of dir, or else dir itself.
func exported(ctx context.Context, mounts *mount3rpc.Client, dir string) (best string) {
	list, err := mounts.Export(ctx)
	if err != nil {
		return dir // a server may have no list
	}
	for _, e := range list {
		if at := path.Clean("/" + string(e.Dir)); len(at) > len(best) && (at == "/" || (dir + "/")[:min(len(at)+1, len(dir)+1)] == at+"/") {
			best = at
		}
	}
	if best == "" {
		return dir
	}
	return best
}

// below returns the part of dir below an export, "." for the export itself.
func below(export, dir string) string {
	if rest := strings.TrimPrefix(strings.TrimPrefix(dir, export), "/"); rest != "" {
		return rest
	}
	return "."
}

// MountError is the refusal of MOUNT. It matches fs.ErrNotExist and fs.ErrPermission by errors.Is.
type MountError struct {
	Path   string
	Status mount3.Status
}

// Error returns the path, the status and what to try.
func (e *MountError) Error() string {
	return fmt.Sprintf("MOUNT %q: %v: the server exports no directory of this path to this host; see its list of exports, and the option insecure for ports above 1023", e.Path, e.Status)
}

// Is reports whether the status means the same as target, an error of package fs.
func (e *MountError) Is(target error) bool {
	return target == fs.ErrNotExist && e.Status == mount3.StatusNoent ||
		target == fs.ErrPermission && (e.Status == mount3.StatusAcces || e.Status == mount3.StatusPerm)
}
