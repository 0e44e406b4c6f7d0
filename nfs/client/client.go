package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Config configures New and Dial. A nil *Config has the default in every field.
type Config struct {
	// Cred is the user of all calls. If nil, the default is the user of the process, with up to 16
	// of its groups.
	Cred *oncrpc.AuthSysParms

	// Depth is the number of READ or WRITE calls of a File that are in flight. If zero, the default
	// is 8.
	Depth int

	// MaxIO is the largest READ or WRITE in bytes. If zero, the default is 1 MiB. The server's
	// FSINFO may reduce it.
	MaxIO int

	// Window is the number of bytes that a File writes between two COMMITs. If zero, the default is
	// 64 MiB. WriteAt keeps a copy of these bytes, because it writes them again if the server
	// restarts.
	Window int

	// MaxEntries is the largest number of entries in a directory. If zero, the default is 10
	// million. If negative, there is no limit.
	MaxEntries int

	// RetryPause is the first pause before a call that was answered with NFS3ERR_JUKEBOX is made
	// again. If zero, the default is 100 ms. It doubles each time up to 64 times as much.
	RetryPause time.Duration

	// Transport is "rdma" or "tcp". If empty, the default is "rdma". Only Dial uses it and the
	// fields below.
	Transport string

	// Provider is the provider of verbs for "rdma": "iwarp" or "rdmatcp". If empty, the default is
	// "iwarp".
	Provider string

	// Port and MountPort are the NFS and MOUNT ports. MOUNT is over TCP. If zero, Dial asks the
	// host's rpcbind. If that has no answer, the port of NFS is 20049 for "rdma" and 2049 for
	// "tcp".
	Port, MountPort int

	// DialTimeout is the longest time that Dial may take. If zero, the default is 10 s. If the host
	// refuses a port, Dial fails at once.
	DialTimeout time.Duration
}

// withDefaults returns cfg with the default of each field that is zero.
func (cfg *Config) withDefaults() (Config, error) {
	var c Config
	if cfg != nil {
		c = *cfg
	}
	c.Depth, c.MaxIO, c.Window = cmp.Or(c.Depth, 8), cmp.Or(c.MaxIO, 1<<20), cmp.Or(c.Window, 64<<20)
	c.MaxEntries = cmp.Or(c.MaxEntries, 10_000_000)
	c.RetryPause, c.DialTimeout = cmp.Or(c.RetryPause, 100*time.Millisecond), cmp.Or(c.DialTimeout, 10*time.Second)
	c.Transport, c.Provider = cmp.Or(c.Transport, "rdma"), cmp.Or(c.Provider, "iwarp")
	if c.Cred == nil {
		c.Cred = processUser()
	}
	if c.Depth < 0 || c.MaxIO < 0 || c.Window < 0 || c.RetryPause < 0 || c.DialTimeout < 0 {
		return c, fmt.Errorf("client: Depth is %d, MaxIO %d, Window %d, RetryPause %v, DialTimeout %v: none may be negative",
			c.Depth, c.MaxIO, c.Window, c.RetryPause, c.DialTimeout)
	}
	return c, nil
}

// Client is a client of one export. All methods are safe for concurrent use.
type Client struct {
	cfg                Config
	nfs                *nfs3rpc.Client
	root               nfs3.Handle
	rsize, wsize, dirs int         // bytes of a READ, a WRITE and a READDIRPLUS
	noCommit           atomic.Bool // the server lacks COMMIT
	noPlus             atomic.Bool // the server lacks READDIRPLUS
	replies            replies
	close              func() error
}

// New returns a Client over a carrier, which it does not close. root is the handle of its root.
// cfg may be nil. New calls FSINFO. From a server that lacks it, READs and WRITEs have 4 KiB.
func New(ctx context.Context, over oncrpc.Carrier, root nfs3.Handle, cfg *Config) (*Client, error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cred, err := full.Cred.Auth()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: full, nfs: nfs3rpc.NewClient(over, &rpc.ClientConfig{Cred: cred}), root: root, close: func() error { return nil }}
	switch over.(type) {
	case *tcp.Client, *tcp.Conn:
		c.replies.use = true
	}
	var info nfs3.FSInfoRes
	if err := c.do(ctx, "FSINFO", ".", &info.Status, func() error {
		return c.nfs.FSInfoInto(ctx, &nfs3.FSInfoArgs{FSRoot: root}, &info, nil)
	}); err != nil && !unsupported(err) {
		return nil, err
	}
	c.rsize = size(info.OK.Rtpref, info.OK.Rtmax, full.MaxIO)
	c.wsize = size(info.OK.Wtpref, info.OK.Wtmax, full.MaxIO)
	c.dirs = max(size(info.OK.Dtpref, 64<<10, 64<<10), 4096)
	return c, nil
}

// size returns the size of a transfer: the preferred one, but no more than the server or Config
// allows. If the server names no size, it is 4 KiB.
func size(pref, most uint32, limit int) int {
	return int(min(uint64(cmp.Or(pref, most, 4096)), uint64(cmp.Or(most, pref, 4096)), uint64(limit)))
}

// Close closes the connection of a Client that Dial returned, and then calls UMNT, for which it
// waits a second at most. All Files of the Client must be closed first.
func (c *Client) Close() error { return c.close() }

// do makes a call, which sets status, and repeats it while status is NFS3ERR_JUKEBOX, until ctx is
// done.
func (c *Client) do(ctx context.Context, op, name string, status *nfs3.Status, call func() error) error {
	for pause := c.cfg.RetryPause; ; pause = min(2*pause, 64*c.cfg.RetryPause) {
		err := call()
		if err = c.judge(op, name, *status, err); !refused(err, nfs3.StatusJukebox) {
			return err
		}
		if err = later(ctx, pause, err); err != nil {
			return err
		}
	}
}

// judge returns the error of a call that has ended with err, or else with a status.
func (c *Client) judge(op, name string, status nfs3.Status, err error) error {
	if err != nil {
		if errors.Is(err, oncrpc.ErrProcUnavail) {
			err = missing{err}
		}
		return fmt.Errorf("%s %q: %w", op, name, err)
	}
	if status == nfs3.StatusOK {
		return nil
	}
	return &StatusError{Op: op, Name: name, Status: status}
}

// later waits before a call is made again, with another XID (RFC 1813 §2.6). If ctx is done before,
// the error has its cause and the refusal.
func later(ctx context.Context, pause time.Duration, refusal error) error {
	select {
	case <-ctx.Done():
		return errors.Join(refusal, context.Cause(ctx))
	case <-time.After(pause):
		return nil
	}
}
