package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// retransmits is the number of times that a call is sent again on a further connection.
const retransmits = 1000

// Dial mounts the export that contains a path. It returns a Client for the export, and the path's
// name below the export's root. The file itself need not exist. target has the form HOST:/PATH,
// with brackets around an IPv6 address. cfg may be nil. ctx bounds the call of Dial. The caller
// must Close the Client.
//
// The export is the longest one in MOUNT's list that is a prefix of the path. If no export in the
// list is, Dial tries the path itself and then the directories above it.
func Dial(ctx context.Context, target string, cfg *Config) (c *Client, name string, err error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, "", err
	}
	host, dir, err := SplitTarget(target)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, full.DialTimeout, &dialTimeout{host, full.DialTimeout})
	defer cancel()
	root, name, err := mount(ctx, host, dir, full)
	if err != nil {
		return nil, "", err
	}
	port := full.nfsPort(ctx, host)
	over, end, err := connect(host, port, full)
	if err != nil {
		return nil, "", err
	}
	c, err = New(ctx, over, root, &full)
	if err != nil {
		return nil, "", errors.Join(full.explain(ctx, port, err), end())
	}
	c.close = end
	return c, name, nil
}

// dialTimeout is the cause when Config.DialTimeout ends Dial. It matches context.DeadlineExceeded.
type dialTimeout struct {
	host  string
	after time.Duration
}

func (d *dialTimeout) Error() string {
	return fmt.Sprintf("no answer of %s within %v", d.host, d.after)
}

// Unwrap returns context.DeadlineExceeded.
func (d *dialTimeout) Unwrap() error { return context.DeadlineExceeded }

// SplitTarget splits Dial's target, HOST:/PATH, into the host and the path.
func SplitTarget(target string) (host, dir string, err error) {
	host, dir, ok := strings.Cut(target, ":/")
	if host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"); !ok || host == "" {
		return "", "", fmt.Errorf("%w: found %.64q, expected HOST:/PATH", ErrName, target)
	}
	return host, path.Clean("/" + dir), nil
}

// explain adds to an error of the first call what to check, unless the server refused the call or
// this process has too few resources.
func (cfg *Config) explain(ctx context.Context, port int, err error) error {
	if refused := (*StatusError)(nil); errors.As(err, &refused) || errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, verbs.ErrProcessLimit) {
		return err
	}
	over := cfg.Transport
	if over == "rdma" {
		over += " with the provider " + cfg.Provider
	}
	return fmt.Errorf("%w: does the server offer NFS over %s at port %d?", errors.Join(context.Cause(ctx), err), over, port)
}

// nfsPort returns the port of NFS.
func (cfg *Config) nfsPort(ctx context.Context, host string) int {
	if cfg.Port != 0 {
		return cfg.Port
	}
	if at, err := rpcbind.Resolve(ctx, host, nfs3.Program, nfs3.Version, cfg.Transport, nil); err == nil {
		return int(at.Port())
	}
	if cfg.Transport == "rdma" {
		return oncrpc.PortNFSRDMA
	}
	return 2049
}

// connect returns a carrier that connects when it is needed, and the function that closes it.
func connect(host string, port int, cfg Config) (oncrpc.Carrier, func() error, error) {
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	if cfg.Transport == "tcp" {
		conn, err := tcp.NewClient(addr, &tcp.ClientConfig{Retransmits: retransmits})
		if err != nil {
			return nil, nil, err
		}
		return conn, conn.Close, nil
	}
	if cfg.Transport != "rdma" {
		return nil, nil, fmt.Errorf("found transport %q, expected rdma or tcp", cfg.Transport)
	}
	dev, err := provider.Open(cfg.Provider)
	if err != nil {
		return nil, nil, err
	}
	conn, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{Retransmits: retransmits})
	if err != nil {
		return nil, nil, errors.Join(err, dev.Close())
	}
	return conn, func() error { return errors.Join(conn.Close(), dev.Close()) }, nil
}

// ErrNoPort is in Dial's error if the server's rpcbind does not return the port of MOUNT.
var ErrNoPort = errors.New("without rpcbind, set the ports of MOUNT and NFS")

// mount returns the handle of the export that has a path, and the rest of the path below it.
func mount(ctx context.Context, host, dir string, cfg Config) (root nfs3.Handle, rest string, err error) {
	port := cfg.MountPort
	if port == 0 {
		at, err := rpcbind.Resolve(ctx, host, mount3.Program, mount3.Version, "tcp", nil)
		if err != nil {
			if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) {
				return root, "", err
			}
			return root, "", fmt.Errorf("the port of MOUNT by rpcbind of %s: %w: %w", host, err, ErrNoPort)
		}
		port = int(at.Port()) // the address may be any: only the port is used
	}
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return root, "", cfg.explainMount(addr, err)
	}
	defer conn.Close()
	cred, err := cfg.Cred.Auth()
	if err != nil {
		return root, "", err
	}
	mounts := mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: cred})
	for at := exported(ctx, mounts, dir); ; at = path.Dir(at) {
		res, err := mounts.Mount(ctx, mount3.DirPath(at))
		if err != nil {
			return root, "", cfg.explainMount(addr, err)
		}
		if res.Status == mount3.StatusOK {
			return nfs3.Handle{Data: res.OK.Handle}, below(at, dir), nil
		}
		if absent := res.Status == mount3.StatusNoent || res.Status == mount3.StatusNotdir || res.Status == mount3.StatusAcces; at == "/" || !absent {
			return root, "", &MountError{Path: dir, Status: res.Status}
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

// processUser returns the credential of the process's user. AUTH_SYS has room for 16 groups.
func processUser() *oncrpc.AuthSysParms {
	host, _ := os.Hostname()
	user := &oncrpc.AuthSysParms{MachineName: []byte(host[:min(len(host), oncrpc.MaxMachineName)]), UID: 65534, GID: 65534}
	if uid := os.Getuid(); uid >= 0 { // not on Windows, which has no user IDs
		user.UID, user.GID = uint32(uid), uint32(os.Getgid())
	}
	groups, _ := os.Getgroups()
	for _, g := range groups[:min(len(groups), oncrpc.MaxGIDs)] {
		user.GIDs = append(user.GIDs, uint32(g))
	}
	return user
}
