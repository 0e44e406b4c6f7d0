package tcp

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// ClientConfig configures NewClient. A nil *ClientConfig has the default in every field.
type ClientConfig struct {
	// Conn is the Config of each connection. If nil, it has the default of every field.
	Conn *Config

	// Dial makes each connection. If nil, the default connects over TCP.
	Dial func(ctx context.Context, addr string, cfg *Config) (*Conn, error)

	// Connected is called on each new connection before any other Call, for example to resume a
	// session. If nil, nothing is called. ctx ends with DialTimeout. Calls in it must have an XID
	// of Conn.XID. If it returns an error, the connection is closed and counts as a failure to
	// connect.
	Connected func(ctx context.Context, c *Conn) error

	// DialTimeout is the longest time that one attempt to connect may take, Connected included. If
	// zero, the default is 10 s. If negative, there is no limit.
	DialTimeout time.Duration

	// MinBackoff is the first pause after a failure to connect, and after a connection that was
	// lost before it brought a reply. If zero, the default is 100 ms. If negative, there are no
	// pauses. The pause doubles each time up to MaxBackoff, whose default is 30 s. Each is
	// shortened by up to half at random, so that many clients do not come back at once.
	MinBackoff, MaxBackoff time.Duration

	// DialFailures is the number of failures to connect through which a Call waits. If zero, a Call
	// waits through no failure before the first connection, unless WaitForServer is set; once a
	// connection was made, only the context of the Call limits the wait. If negative, a Call fails
	// with the first failure, and at once during a pause.
	DialFailures int

	// WaitForServer makes Calls wait for the first connection as they do for later ones, for
	// example when client and server start together. By default the first failure to connect fails
	// the Calls that wait: the address may be wrong. Pauses then do not grow, so that each Call
	// finds out about the server. Once a connection was made, a failure means that the server
	// restarts, and Calls wait in any case.
	WaitForServer bool

	// Retransmits is the number of times that a Call is sent again after its connection was lost,
	// with the same XID. If zero, the default is 4. If negative, a Call is sent once. The server
	// may execute the Call each time, unless it has a reply cache (package replycache).
	Retransmits int

	// IdleTimeout is the time after which a connection without Calls is closed. If zero, the
	// default is 5 min. If negative, there is no limit. With a Conn.ReverseHandler the connection
	// is never idle, and is replaced at once when it is lost, because the server may call (RFC 8167
	// §5.4 has the rule for RDMA).
	IdleTimeout time.Duration
}

// settled returns the configuration with its defaults. Times that are off are zero.
func (cfg *ClientConfig) settled() (ClientConfig, error) {
	var c ClientConfig
	if cfg != nil {
		c = *cfg
	}
	c.keepSessions()
	if c.Dial == nil {
		c.Dial = Dial
	}
	duration := func(f *time.Duration, def time.Duration) {
		if *f == 0 {
			*f = def
		}
		*f = max(*f, 0)
	}
	duration(&c.DialTimeout, 10*time.Second)
	duration(&c.MinBackoff, 100*time.Millisecond)
	duration(&c.MaxBackoff, 30*time.Second)
	duration(&c.IdleTimeout, 5*time.Minute)
	if c.Retransmits == 0 {
		c.Retransmits = 4
	}
	c.Retransmits = max(c.Retransmits, 0)
	if c.MaxBackoff < c.MinBackoff {
		return c, fmt.Errorf("tcp: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v", c.MaxBackoff, c.MinBackoff)
	}
	return c, nil
}

// Client makes Calls to a server over one connection at a time. It connects when a Call needs a
// connection, and replaces a lost one. All methods are safe for concurrent use.
//
//	          a Call waits             Dial and Connected succeed
//	idle ----------------> connecting -----------------------------> connected
//	 ^                       |    ^                                    |   |
//	 |               failed  |    | pause is over                      |   |
//	 |                       v    |                                    |   |
//	 |                      pausing <----------------------------------+   |
//	 |                                  ended without a reply              |
//	 +---------------------------------------------------------------------+
//	                        ended after a reply
//
// A connection is closed when it is lost, and after IdleTimeout. With a ReverseHandler, and while
// Calls wait, an idle Client connects again at once. If no Call waits when an attempt has failed,
// the Client is idle, and the pause delays the next Call. Close closes the Client in every state.
type Client struct {
	addr   string
	cfg    ClientConfig
	log    *slog.Logger
	xids   oncrpc.XIDs
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // run, and the closing of each connection
	again  atomic.Uint64

	mu      sync.Mutex
	probe   [2]uint32     // program and version of the last Call, for the probe for TLS
	conn    *Conn         // the one for Calls, or nil
	users   int           // Calls on it
	used    time.Time     // when users became 0
	waiting int           // Calls that wait for a connection
	running bool          // run is running
	served  bool          // a connection to an RPC server was made, and has ended
	changed chan struct{} // closed and replaced when something changes for waiting Calls
	failed  error         // of the last attempt to connect
	next    time.Time     // of the next attempt, after a failure
	stats   ClientStats

	// Only run uses these.
	pause   time.Duration // the last pause
	failing int           // failures to connect in a row
}

// ClientStats holds the counts of a Client. They only grow.
type ClientStats struct {
	Connects        uint64 // connections made
	DialFailures    uint64 // attempts to connect that failed
	Lost            uint64 // connections that this Client did not close
	IdleCloses      uint64 // connections closed after ClientConfig.IdleTimeout
	Retransmissions uint64 // Calls sent again on a further connection
}

// NewClient returns a Client for a server at an address of the form that net.Dial has for "tcp". It
// does not connect before the first Call. cfg may be nil. The caller must Close the Client. An
// address without a port is an error, unless ClientConfig.Dial has another form.
func NewClient(addr string, cfg *ClientConfig) (*Client, error) {
	set, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	if cfg == nil || cfg.Dial == nil {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("tcp: the address of a Client must be host:port: %w", err)
		}
	}
	c := &Client{addr: addr, cfg: set, changed: make(chan struct{}), log: set.Conn.settle().Logger.With("server", addr)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.xids.Seed()
	return c, nil
}

// XID implements oncrpc.Carrier.
func (c *Client) XID() uint32 { return c.xids.Next() }

// Call implements oncrpc.Carrier. It waits for a connection if there is none. If there was none in
// time, the error contains that of the last attempt to connect. Before the first connection the
// error of one attempt ends the Call, unless ClientConfig.WaitForServer is set. A Call that was
// sent on a lost connection is sent again on the next one, and the error says whether the server
// may have executed it on any of them.
func (c *Client) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	c.noteProgram(call)
	return retry(ctx, call, c, c.cfg.Retransmits, &c.again)
}

// Stats returns the counts.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Retransmissions = c.again.Load()
	return s
}

// Close closes the connection as Conn.Close does and fails all Calls. The rules of Conn.Close
// apply.
func (c *Client) Close() error {
	c.mu.Lock()
	c.cancel()
	c.news()
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}
