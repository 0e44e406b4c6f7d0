package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/internal/resend"
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
	// with the first failure, and at once during a pause. A Call that is sent again waits through
	// the pause that the loss of its connection began (Retransmits).
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
	// default is 5 min. If negative, there is no limit. With a Conn.ReverseHandler a connection is
	// never idle, and the last one is replaced at once when it is lost, because the server may call
	// (RFC 8167 §5.4 has the rule for RDMA).
	IdleTimeout time.Duration

	// StuckTimeout is the time after which a useless connection is replaced. A connection is
	// useless while a cancelled Call that was sent has no reply, and nothing at all arrives from
	// the server. It is replaced within 1.5 times StuckTimeout. If zero, the default is 1 min. If
	// negative, there is no limit. It must be longer than the server takes for any Call: Calls in
	// progress on the connection are sent again.
	//
	// A server that is gone is noticed earlier, by Conn.PeerTimeout. This limit is for one that
	// still acknowledges data but no longer answers, for example because the process hangs.
	StuckTimeout time.Duration

	// Connections is the largest number of connections to the server at a time. If zero or
	// negative, the default is 1. A Call that finds others in progress on all connections makes the
	// Client connect once more, and does not wait for that. Up to Connections times Conn.MaxCalls
	// Calls can be in progress. StuckTimeout and IdleTimeout hold for each connection by itself,
	// and Connected is called on each. See "Several connections" in the documentation of the
	// package.
	Connections int
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
	duration(&c.StuckTimeout, time.Minute)
	c.Connections = max(c.Connections, 1)
	if c.Retransmits == 0 {
		c.Retransmits = 4
	}
	c.Retransmits = max(c.Retransmits, 0)
	if c.MaxBackoff < c.MinBackoff {
		return c, fmt.Errorf("tcp: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v", c.MaxBackoff, c.MinBackoff)
	}
	return c, nil
}

// rules returns what the settled configuration says about connections.
func (cfg *ClientConfig) rules() machine.Rules[*Conn] {
	r := machine.Rules[*Conn]{
		Connections: cfg.Connections, MinBackoff: cfg.MinBackoff, MaxBackoff: cfg.MaxBackoff,
		DialFailures: max(cfg.DialFailures, 0), WaitForServer: cfg.WaitForServer,
		IdleTimeout: cfg.IdleTimeout, StuckTimeout: cfg.StuckTimeout,
		Keeps: cfg.Conn != nil && cfg.Conn.ReverseHandler != nil, // RFC 8167 §5.4; R279, R292
		Room:  func(c *Conn) int { return c.set.MaxCalls }, Full: "one of Config.MaxCalls Calls",
		Vitals:  (*Conn).vitals,
		Lasting: func(err error) bool { return errors.Is(err, ErrTLS) },
		Closed:  oncrpc.ErrClosed,
	}
	if cfg.DialFailures == 0 {
		r.DialFailures = -1 // no limit
	}
	return r
}

// Client makes Calls to a server over one connection at a time, or over several
// (ClientConfig.Connections). It connects when a Call needs a connection, and replaces lost ones.
// All methods are safe for concurrent use. These are the states of a Client with one connection:
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
// A connection is closed when it is lost, and by IdleTimeout or StuckTimeout. With a
// ReverseHandler, and while Calls wait, an idle Client connects again at once. If no Call waits
// when an attempt has failed, the Client is idle, and the pause delays the next Call. Close closes
// the Client in every state. Package internal/reconnect has the rules for several connections.
type Client struct {
	addr    string
	cfg     ClientConfig
	xids    oncrpc.XIDs
	pool    *reconnect.Pool[*Conn]
	retrier *resend.Retrier[*Conn]
	probe   atomic.Uint64 // program and version of the last Call, for the probe for TLS
}

// ClientStats holds the counts of a Client. They only grow.
type ClientStats struct {
	Connects        uint64 // connections made
	DialFailures    uint64 // attempts to connect that failed
	Lost            uint64 // connections that this Client did not close
	Stuck           uint64 // connections closed after ClientConfig.StuckTimeout
	IdleCloses      uint64 // connections closed after ClientConfig.IdleTimeout
	Retransmissions uint64 // Calls sent again on a further connection

	// DelayedCalls is the number of times that a Call waited because all connections had
	// Conn.MaxCalls Calls. With one connection nothing counts: Calls wait on the connection.
	DelayedCalls uint64
}

// NewClient returns a Client for a server at an address of the form that Dial has. It does not
// connect before the first Call. cfg may be nil. The caller must Close the Client. An
// address without a port is an error, unless ClientConfig.Dial has another form.
func NewClient(addr string, cfg *ClientConfig) (*Client, error) {
	set, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	if cfg == nil || cfg.Dial == nil {
		if path, ok := localPath(addr); ok {
			if err := checkPath(path); err != nil {
				return nil, err
			}
		} else if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("tcp: the address of a Client must be host:port: %w", err)
		}
	}
	c := &Client{addr: addr, cfg: set}
	c.pool = reconnect.New(reconnect.Config[*Conn]{
		Rules: set.rules(), Carrier: "tcp", Log: set.Conn.settle().Logger.With("server", addr),
		Dial:      func(ctx context.Context) (*Conn, error) { return set.Dial(ctx, addr, c.connConfig()) },
		Connected: set.Connected, DialTimeout: set.DialTimeout,
		Ended: func(conn *Conn) (refused bool) { return neverServed(conn.Err()) },
	})
	c.retrier = newRetrier(c.pool, set.Retransmits)
	c.xids.Seed()
	return c, nil
}

// XID implements oncrpc.Carrier.
func (c *Client) XID() uint32 { return c.xids.Next() }

// Call implements oncrpc.Carrier. It waits until a connection is up. If none comes up in time, the
// error contains the last attempt's error. Before the first connection, the Call fails with the
// first failed attempt, unless ClientConfig.WaitForServer is set. A Call that was sent on a lost
// connection is sent again on the next one, and the error says whether the server may have executed
// it on any of them.
func (c *Client) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	c.noteProgram(call)
	return c.retrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter. The rules of Call apply. A Call that waits for a connection,
// or is sent again, has a goroutine, on which done then runs.
func (c *Client) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	c.noteProgram(call)
	return c.retrier.Submit(ctx, call, done)
}

// Stats returns the counts.
func (c *Client) Stats() ClientStats {
	s := c.pool.Stats()
	return ClientStats{
		Connects: s.Connects, DialFailures: s.DialFailures, Lost: s.Lost, Stuck: s.Stuck, IdleCloses: s.IdleCloses,
		Retransmissions: c.retrier.Again(), DelayedCalls: s.Delayed,
	}
}

// Close closes all connections as Conn.Close does and fails all Calls. The rules of Conn.Close
// apply.
func (c *Client) Close() error {
	err := c.pool.Close()
	c.retrier.Wait()
	return err
}
