package rdmaio

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/reconnect"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// NewClient returns a Client for a server at an address in the form that the provider of dev
// defines. It does not connect before the first Call. cfg may be nil. The caller must Close the
// Client.
func NewClient(dev verbs.Device, addr string, cfg *ClientConfig) (*Client, error) {
	set, err := cfg.settled()
	if err != nil {
		return nil, err
	}
	conn, err := set.Conn.settings(dev)
	if err != nil {
		return nil, err
	}
	c := &Client{dev: dev, addr: addr, cfg: set, log: admission.LimitLog(conn.Logger)}
	c.versions.versions, c.versions.keep = conn.Versions, set.VersionMemory
	c.xids.Seed()
	c.pool = reconnect.New(c.connections())
	c.retrier = newRetrier(c.pool, set.Retransmits, c.turns, c.events())
	return c, nil
}

// connections returns the configuration of the Client's connections.
func (c *Client) connections() reconnect.Config[*Conn] {
	cfg := reconnect.Config[*Conn]{
		Rules: machine.Rules[*Conn]{
			Connections: c.cfg.Connections, MinBackoff: c.cfg.MinBackoff, MaxBackoff: c.cfg.MaxBackoff,
			DialFailures: c.cfg.DialFailures, WaitForServer: c.cfg.WaitForServer,
			IdleTimeout: c.cfg.IdleTimeout, StuckTimeout: c.cfg.StuckTimeout,
			// RFC 8167 §5.4; R279, R292.
			Keeps: c.cfg.Conn != nil && c.cfg.Conn.ReverseHandler != nil,
			Room:  func(conn *Conn) int { return conn.caller.usableCredits() }, Full: "a credit (Config.Credits)",
			Vitals: (*Conn).vitals, Lasting: hopeless, Disallowed: disallowed, Closed: ErrClosed,
		},
		Carrier: "rdmaio", Log: c.log.With("server", c.addr),
		Dial: c.dial, DialTimeout: c.cfg.DialTimeout,
		Ended: func(conn *Conn) (refused bool) {
			c.learnFrom(conn, conn.Err())
			return false
		},
		Turned: c.versions.takeFresh,
	}
	if c.cfg.Connected != nil {
		cfg.Connected = func(ctx context.Context, conn *Conn) error {
			err := c.cfg.Connected(ctx, conn)
			if err != nil {
				c.learnFrom(conn, err)
			}
			return err
		}
	}
	if events := c.events(); events != nil {
		cfg.Delayed = func() { events(&LimitHit{Limit: LimitCredits}) }
	}
	return cfg
}

// dial makes a connection, with the version that the Client remembers.
func (c *Client) dial(ctx context.Context) (*Conn, error) {
	conn, unanswered, err := dial(ctx, c.dev, c.addr, c.versions.config(c.cfg.Conn))
	if unanswered {
		c.learn(v1.Number, err)
	}
	if err == nil {
		c.reportCredits(conn)
	}
	return conn, err
}

// reportCredits makes a connection serve Calls that wait for a credit of any connection.
func (c *Client) reportCredits(conn *Conn) {
	if c.cfg.Connections > 1 {
		room := c.pool.Room
		conn.onCredits.Store(&room)
	}
}

// vitals returns the counts from which a Client judges a connection. Most is the most Calls that
// can be in progress: the credits, or fewer if Config allows fewer Calls. In version 2 there may be
// more credits than Calls, because they are for all messages (R169).
func (c *Conn) vitals() machine.Vitals {
	s := c.Stats()
	// The answers of package cancel do not show that handlers answer.
	received := s.Received - c.caller.given.answers.Load()
	return machine.Vitals{Received: received, Replied: s.Replies > 0, Abandoned: s.Abandoned, Most: min(s.Granted, c.set.calls)}
}

// hopeless reports whether every further attempt to connect would fail as one did. An attempt that
// took longer than ClientConfig.DialTimeout is not hopeless.
func hopeless(err error) bool {
	return lasting(err) && !errors.Is(err, context.DeadlineExceeded)
}

// disallowed reports whether this process or its device does not allow a connection. A Client then
// stops its attempts to connect for the server's Calls, because they would fail, too. The next Call
// tries again.
func disallowed(err error) bool {
	return errors.Is(err, verbs.ErrProcessLimit) || errors.Is(err, verbs.ErrDeviceRemoved)
}
