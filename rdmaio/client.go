package rdmaio

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// ClientConfig configures NewClient. nil is fine: a zero field is the default named
// with it, a negative one switches the thing off.
type ClientConfig struct {
	// Conn is for each connection.
	Conn *Config

	// Connected runs on each new connection before any other Call: to agree on
	// something, or to take up a session again, with an XID of Conn.XID. If it fails the connection is
	// closed, which counts as a failure to dial. The context is that of the Dial.
	Connected func(ctx context.Context, c *Conn) error

	// DialTimeout bounds one try to connect, Connected included. Default 10 s.
	DialTimeout time.Duration

	// MinBackoff and MaxBackoff bound the pause after a failure to connect, or after a connection
	// that was lost before it brought a Reply. It doubles each time, and up to half of it is
	// left off by chance, lest many clients come back at once. Default 100 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration

	// DialFailures is how many failures to connect a Call sits through. Default: as
	// many as happen until its context ends. Negative: none, it fails with the first, and
	// at once while a pause lasts.
	DialFailures int

	// Retransmits is how often a Call that was sent is sent again after its
	// connection was lost. Default 4; negative: never. The server may have executed it
	// each time, unless it has a cache of replies.
	Retransmits int

	// StuckTimeout is the time after which a useless connection is replaced by another one. It is useless
	// while a Call whose context ended has no Reply, and either such Calls hold all credits or nothing
	// at all comes from the server. It has to be longer than the server may take for any Call, as a
	// Call that is still waited for is sent again. If zero, the default is 10 s. If negative, there is no limit.
	StuckTimeout time.Duration

	// IdleTimeout is how long a connection stays without Calls. Default 5 min. With a
	// Conn.ReverseHandler it stays, and is made anew when lost, since the server may call (RFC 8167 §5.4).
	IdleTimeout time.Duration
}

// settled returns the configuration with its defaults.
func (cfg *ClientConfig) settled() (ClientConfig, error) {
	var c ClientConfig
	if cfg != nil {
		c = *cfg
	}
	duration := func(f *time.Duration, def time.Duration) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = 0
		}
	}
	count := func(f *int, def int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = 0
		}
	}
	duration(&c.DialTimeout, 10*time.Second)
	duration(&c.MinBackoff, 100*time.Millisecond)
	duration(&c.MaxBackoff, 30*time.Second)
	duration(&c.StuckTimeout, 10*time.Second)
	duration(&c.IdleTimeout, 5*time.Minute)
	count(&c.DialFailures, int(^uint(0)>>1))
	count(&c.Retransmits, 4)
	if c.MaxBackoff < c.MinBackoff {
		return c, fmt.Errorf("rdmaio: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v: %w", c.MaxBackoff, c.MinBackoff, verbs.ErrInvalidValue)
	}
	return c, nil
}

// Client makes Calls to a server over one connection at a time, which it makes when a
// Call needs one, makes anew when it is lost, and closes when nobody calls.
// It is for concurrent use.
//
// A Call that was in progress when the connection went is sent again on the
// next one, with the same XID: so a server that keeps a cache of replies executes
// it once. What it offered before has been invalidated by then, and it offers new keys.
//
// A Call that the server never answers keeps its credit, also when its context ends (see Conn.Call; the first of a
// connection has the only one). ClientConfig.StuckTimeout ends a connection that is of no use because of that. A
// Call whose context has no end waits until the server answers, the connection is lost, or it is given up because of
// another Call: the provider has to notice that the server is gone (rdmatcp.Config.PeerTimeout).
type Client struct {
	dev    verbs.Device
	addr   string
	cfg    ClientConfig
	xids   xids
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // run, and the closing of each connection that it gave up

	mu      sync.Mutex
	conn    *Conn         // for Calls
	users   int           // Calls on it
	used    time.Time     // when users became 0
	waiting int           // Calls that wait for a connection
	running bool          // run is
	changed chan struct{} // closed, and another one made, with news for those who wait
	failed  error         // of the last try to connect
	stats   ClientStats
	next    time.Time // of the next try, if there was a failure

	pause time.Duration // before it; run's
	again atomic.Uint64

	closing  sync.Once
	closeErr error // of connections' Close
}

// ClientStats counts what a Client did.
type ClientStats struct {
	Connects        uint64 // connections made
	DialFailures    uint64 // tries that made none
	Lost            uint64 // connections that ended by themselves
	Stuck           uint64 // connections given up after ClientConfig.StuckTimeout
	IdleCloses      uint64 // closed since nobody used them
	Retransmissions uint64 // Calls sent again, on a further connection
}

// NewClient makes a Client of a server's address, as the provider of dev wants it. Nothing is
// sent before the first Call. cfg may be nil.
func NewClient(dev verbs.Device, addr string, cfg *ClientConfig) (*Client, error) {
	set, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	attrs := dev.Attributes()
	if _, err := set.Conn.settings(&attrs); err != nil {
		return nil, err
	}
	c := &Client{dev: dev, addr: addr, cfg: set, changed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.xids.seed()
	return c, nil
}

// XID is one that no other Call of this Client has had lately.
func (c *Client) XID() uint32 { return c.xids.next() }

// Call makes an RPC as Conn.Call does, and waits for a connection where there is none. The
// error is a *CallError; one for want of a connection also tells why the last try to make one failed.
func (c *Client) Call(ctx context.Context, call *Call) (*Reply, error) {
	return retry(ctx, call, c, c.cfg.Retransmits, &c.again, c.events())
}

// events is Config.Events.
func (c *Client) events() func(Event) {
	if c.cfg.Conn == nil {
		return nil
	}
	return c.cfg.Conn.Events
}

// Stats returns the counts.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Retransmissions = c.again.Load()
	return s
}

// Close ends the connection as Conn.Close does, whose rules hold, and with it all Calls. Idempotent.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.cancel()
		c.mu.Lock()
		c.news()
		c.mu.Unlock()
	})
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closeErr
}
