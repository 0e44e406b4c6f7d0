package client4

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Config configures Dial. A nil *Config has the default in every field.
type Config struct {
	// Session configures the session. Its fields Reclaim and Callbacks are the client's. If nil,
	// the defaults are nfs4's.
	Session *nfs4.Config

	// TCP configures the connections. If nil, the defaults are package tcp's.
	TCP *tcp.ClientConfig

	// Provider is the verbs provider for RDMA, such as iwarp. If empty, the client uses TCP.
	Provider string

	// Port is the port of the server. If zero, the default is 2049, and 20049 over RDMA.
	Port int

	// Depth is the number of calls in flight with which a File reads or writes. If zero, the
	// default is 8. The session has that many slots, 64 at least, if the server allows them.
	Depth int

	// MaxIO is the size in bytes of the largest READ or WRITE. If zero, the default is 1 MiB. The
	// server may allow less.
	MaxIO int

	// Window is the number of written bytes that a File keeps until COMMIT. If zero, the default is
	// 64 MiB.
	Window int
}

// overhead is the part of a message that is not the data of a READ or WRITE, in bytes.
const overhead = 1 << 10

// Client is a client of one server. Its methods are safe for concurrent use.
type Client struct {
	s      *nfs4.Session
	cfg    Config
	device func() error // closes the device

	noCommit atomic.Bool // the server lacks COMMIT

	mu     sync.Mutex
	open   map[*File]struct{}
	lost   []*File // that the last reclaim could not open
	owners uint64  // of opens so far
}

// Dial makes a session with the server of target, HOST:/PATH, over TCP or RDMA. It returns the name
// of PATH for the methods of the Client. ctx bounds the call. The caller must Close the Client.
func Dial(ctx context.Context, target string, cfg *Config) (*Client, string, error) {
	host, name, ok := strings.Cut(target, ":/")
	if host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"); !ok || host == "" {
		return nil, "", fmt.Errorf("found target %.64q, expected HOST:/PATH", target)
	}
	c := newClient(cfg)
	if c.cfg.Depth < 0 || c.cfg.MaxIO < 0 || c.cfg.Window < 0 {
		return nil, "", fmt.Errorf("client4: Config has Depth %d, MaxIO %d, Window %d: none may be negative", c.cfg.Depth, c.cfg.MaxIO, c.cfg.Window)
	}
	var err error
	if c.cfg.Provider != "" {
		err = c.dialRDMA(ctx, net.JoinHostPort(host, fmt.Sprint(cmp.Or(c.cfg.Port, oncrpc.PortNFSRDMA))))
	} else {
		c.s, err = nfs4.DialTCP(ctx, net.JoinHostPort(host, fmt.Sprint(cmp.Or(c.cfg.Port, 2049))), c.session(), c.cfg.TCP)
	}
	if err != nil {
		return nil, "", err
	}
	return c, cmp.Or(strings.Trim(name, "/"), "."), nil
}

// dialRDMA makes the session over RDMA, with a device that Close closes.
func (c *Client) dialRDMA(ctx context.Context, addr string) error {
	dev, err := provider.Open(c.cfg.Provider)
	if err != nil {
		return err
	}
	if c.s, err = nfs4.DialRDMA(ctx, dev, addr, c.session(), nil); err != nil {
		return errors.Join(err, dev.Close())
	}
	c.device = dev.Close
	return nil
}

func newClient(cfg *Config) *Client {
	c := &Client{open: map[*File]struct{}{}, device: func() error { return nil }}
	if cfg != nil {
		c.cfg = *cfg
	}
	c.cfg.Depth, c.cfg.MaxIO, c.cfg.Window = cmp.Or(c.cfg.Depth, 8), cmp.Or(c.cfg.MaxIO, 1<<20), cmp.Or(c.cfg.Window, 64<<20)
	return c
}

// session returns the configuration of the session.
func (c *Client) session() *nfs4.Config {
	var s nfs4.Config
	if c.cfg.Session != nil {
		s = *c.cfg.Session
	}
	s.MaxIO, s.Callbacks, s.Reclaim = max(s.MaxIO, c.cfg.MaxIO), nil, c.reclaim
	s.Reopen = c.reopen
	s.Slots = max(cmp.Or(s.Slots, 64), min(c.cfg.Depth, 1024))
	return &s
}

// Close closes the session and the connection. Files must not be used afterwards.
func (c *Client) Close() error { return errors.Join(c.s.Close(), c.device()) }

// sizes returns the size of a READ or WRITE in bytes, and how many are in flight.
func (c *Client) sizes() (size, depth int) {
	l := c.s.Limits()
	return max(min(c.cfg.MaxIO, l.MaxRequest-overhead, l.MaxResponse-overhead), 512), max(min(c.cfg.Depth, l.Slots), 1)
}

// owner returns the owner of a further open.
func (c *Client) owner() nfs42.OpenOwner {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owners++
	return nfs42.OpenOwner{Owner: binary.BigEndian.AppendUint64(nil, c.owners)}
}

// opened adds a file to those that are reclaimed, and closed removes it.
func (c *Client) opened(f *File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[f] = struct{}{}
}

func (c *Client) closed(f *File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, f)
}

// reclaim opens all files again after the server has lost the client's state (RFC 8881 §8.4.2.1).
// A file that the server refuses keeps its old state ID, and its calls fail.
func (c *Client) reclaim(ctx context.Context, do nfs4.Doer) error {
	c.mu.Lock()
	files := slices.Collect(maps.Keys(c.open))
	c.lost = nil
	c.mu.Unlock()
	for _, f := range files {
		if err := f.reclaim(ctx, do, nfs42.OpenClaimTypePrevious); err != nil {
			return err
		}
	}
	return nil
}

// reopen opens the files that were not reclaimed, because the server has no grace period: the lease
// has expired, or this client came back too late. RECLAIM_COMPLETE was made before (RFC 8881
// §18.51.3).
func (c *Client) reopen(ctx context.Context, do nfs4.Doer) error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	for _, f := range lost {
		if err := f.reclaim(ctx, do, nfs42.OpenClaimTypeFH); err != nil {
			return err
		}
	}
	return nil
}
