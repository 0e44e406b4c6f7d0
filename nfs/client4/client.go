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
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Config configures Dial. A nil *Config has the default in every field.
type Config struct {
	// Session configures the session. Its fields Reclaim and Callbacks are the Client's. If nil,
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

	// Delegations is the largest number of delegations that the Client holds. It returns the one
	// that was not used for the longest time for a further one. If zero, the default is 1000. If
	// negative, it asks for none, and returns those that it gets at once: that is better for
	// programs that open each file once.
	Delegations int

	// Guarded makes os.O_EXCL create files by GUARDED4, which sets all attributes at once. If the
	// reply is lost with its session, the error is nfs4.ErrReplyLost, since the file may have been
	// made. If false, it is EXCLUSIVE4_1, which the server can make twice.
	Guarded bool
}

// overhead is the part of a message that is not the data of a READ or WRITE, in bytes.
const overhead = 1 << 10

// Client is a client of one server. Its methods are safe for concurrent use.
type Client struct {
	s      *nfs4.Session
	cfg    Config
	device func() error // closes the device

	noCommit atomic.Bool // the server lacks COMMIT

	held   delegations
	ctx    context.Context // of what the Client does by itself; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // work

	mu     sync.Mutex
	open   map[*File]struct{}
	lost   []*File // that the last reclaim could not open
	owners uint64  // of opens so far
	ended  bool    // Close was called: no further work begins
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
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.held.c = c
	c.held.init()
	if cfg != nil {
		c.cfg = *cfg
	}
	c.cfg.Depth, c.cfg.MaxIO, c.cfg.Window = cmp.Or(c.cfg.Depth, 8), cmp.Or(c.cfg.MaxIO, 1<<20), cmp.Or(c.cfg.Window, 64<<20)
	c.cfg.Delegations = cmp.Or(c.cfg.Delegations, 1000)
	return c
}

// session returns the configuration of the session.
func (c *Client) session() *nfs4.Config {
	var s nfs4.Config
	if c.cfg.Session != nil {
		s = *c.cfg.Session
	}
	s.MaxIO, s.Callbacks, s.Reclaim = max(s.MaxIO, c.cfg.MaxIO), callbacks{c}, c.reclaim
	s.Reopen = c.reopen
	report := s.Revoked
	s.Revoked = func(flags uint32) {
		c.work(func() { c.held.test(c.ctx) })
		if report != nil {
			report(flags)
		}
	}
	s.Slots = max(cmp.Or(s.Slots, 64), min(c.cfg.Depth, 1024))
	return &s
}

// work runs f on a goroutine that Close waits for, unless Close was called.
func (c *Client) work(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.wg.Go(f)
	}
}

// leaveTimeout is the longest time that Close takes to close files and to return delegations.
const leaveTimeout = 2 * time.Second

// Close closes the files at the server that are open still, without storing their data, and returns
// all delegations. Then it closes the session and the connection. Files must not be used
// afterwards. A server that does not answer delays it by 7 s at most.
func (c *Client) Close() error {
	c.mu.Lock()
	c.ended = true
	files := slices.Collect(maps.Keys(c.open))
	clear(c.open)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, leaveTimeout)
	defer cancel()
	c.held.returnAll(ctx, files)
	err := errors.Join(c.s.Close(), c.device())
	c.cancel()
	c.wg.Wait()
	return err
}

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
