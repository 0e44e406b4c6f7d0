package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
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
	m, err := mount(ctx, host, dir, full)
	if err != nil {
		return nil, "", err
	}
	port := full.nfsPort(ctx, host)
	over, end, err := connect(host, port, full)
	if err != nil {
		m.unmount()
		return nil, "", err
	}
	end = m.unmountAfter(end)
	c, err = New(ctx, over, m.root, &full)
	if err != nil {
		return nil, "", errors.Join(full.explain(ctx, port, err), end())
	}
	c.close = end
	return c, m.rest, nil
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
