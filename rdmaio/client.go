package rdmaio

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect"
	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// ClientConfig configures NewClient. A nil ClientConfig is valid and has the default of every
// field.
type ClientConfig struct {
	// Conn is the Config of each connection. If nil, it has the default of every field.
	Conn *Config

	// Connected is called on each new connection before any other Call, for example to negotiate
	// terms or to resume a session. If nil, nothing is called. ctx is done after DialTimeout. Calls
	// in it must have an XID of Conn.XID. If it returns an error, the connection is closed and
	// counts as a failure to connect.
	Connected func(ctx context.Context, c *Conn) error

	// DialTimeout is the longest time that one attempt to connect may take, Connected included. If
	// zero, the default is 10 s. If negative, there is no limit.
	DialTimeout time.Duration

	// MinBackoff is the first pause after a failure to connect, and after a connection that was
	// lost before it brought a reply. If zero, the default is 100 ms. If negative, there are no
	// pauses.
	MinBackoff time.Duration

	// MaxBackoff is the longest such pause. If zero, the default is 30 s. It must not be less than
	// MinBackoff. The pause doubles each time up to MaxBackoff. Each is shortened by up to half at
	// random, so that many clients do not reconnect at once.
	MaxBackoff time.Duration

	// DialFailures is the number of failures to connect through which a Call waits. If zero, a Call
	// waits through no failure before the first connection (see WaitForServer); later only the
	// context of the Call limits the wait. If negative, a Call fails with the first failure, and at
	// once during a pause. A Call that is sent again waits through the pause that the loss of its
	// connection began (Retransmits).
	DialFailures int

	// WaitForServer makes Calls wait for the first connection as they do for later ones, for
	// example when client and server start together. By default, if an attempt to connect fails and
	// no connection was made before, the Calls that wait fail with its error: the address may be
	// wrong. Once a connection was made, a failure means that the server restarts, and Calls wait
	// in any case.
	WaitForServer bool

	// Retransmits is the number of times that a Call is sent again after its connection was lost.
	// If zero, the default is 4. If negative, a Call is sent once. The server may execute the Call
	// each time, unless it has a reply cache (package replycache).
	Retransmits int

	// StuckTimeout is the time after which a useless connection is replaced. A connection is
	// useless while a cancelled Call has no reply and either such Calls hold all credits, or
	// nothing at all arrives from the server. It is replaced within 1.5 times StuckTimeout. If
	// zero, the default is 10 s. If negative, there is no limit. It must be longer than the server
	// takes for any Call: Calls in progress on the connection are sent again.
	StuckTimeout time.Duration

	// IdleTimeout is the time after which a connection without Calls is closed. If zero, the
	// default is 5 min. If negative, there is no limit. With a Conn.ReverseHandler a connection is
	// never idle, and the last one is replaced at once when it is lost, because the server may call
	// (RFC 8167 §5.4).
	IdleTimeout time.Duration

	// Connections is the largest number of connections to the server at a time. If zero or
	// negative, the default is 1. A Call that finds others in progress on all connections makes the
	// Client connect once more, and does not wait for that. Up to Connections times Conn.Credits
	// Calls can be in progress. StuckTimeout and IdleTimeout hold for each connection by itself,
	// and Connected is called on each. Calls in progress have no order among themselves, with one
	// connection or several. See "Several connections" in the documentation of the package.
	Connections int

	// VersionMemory is the time for which the Client remembers that its server must be contacted
	// with another version than the first of Conn.Versions, and begins with that one. If zero, the
	// default is 10 min. If negative, nothing is remembered: a server that does not answer version
	// 2 is then never reached. It has no effect unless Conn.Versions has both versions. See
	// "Versions" in the documentation of the package, and Client.ForgetVersion.
	VersionMemory time.Duration
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
	duration(&c.VersionMemory, 10*time.Minute)
	count(&c.DialFailures, -1) // no limit
	count(&c.Retransmits, 4)
	c.Connections = max(c.Connections, 1)
	if c.MaxBackoff < c.MinBackoff {
		return c, fmt.Errorf("rdmaio: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v: %w", c.MaxBackoff, c.MinBackoff, verbs.ErrInvalidValue)
	}
	return c, nil
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
// ReverseHandler, and while Calls wait, an idle Client connects again at once. With a
// ReverseHandler alone it stops when this process or its device does not allow a connection
// (verbs.ErrProcessLimit), until the next Call. If no Call waits when an attempt has failed, the
// Client is idle, and the pause delays the next Call. Close works in every state.
//
// With several connections each of them has these states, but the Client makes one attempt to
// connect at a time. Attempts while other connections are up have their own pauses: if they
// fail, no Call fails or waits for it.
//
// A Call in progress on a lost connection is sent again on another one, with the same XID, so that
// a server with a reply cache executes it once. By then its old keys are invalid; it offers new
// ones.
//
// A Call that the server never answers keeps its credit, also after its context is done (see
// Conn.Call). A connection begins with one credit, so one such Call can stop it.
// ClientConfig.StuckTimeout replaces such a connection. A Call whose context never ends waits until
// the server answers or the connection is lost. The provider must notice that the server is gone
// (rdmatcp.Config.PeerTimeout).
//
// Package internal/reconnect/machine has the rules, and the states of several connections.
type Client struct {
	dev      verbs.Device
	addr     string
	cfg      ClientConfig
	log      *slog.Logger // limited, for records that a peer can cause
	xids     oncrpc.XIDs
	pool     *reconnect.Pool[*Conn]
	retrier  *resend.Retrier[*Conn]
	versions versionMemory
}

var _ oncrpc.Submitter = (*Client)(nil)

// ClientStats holds the counts of a Client. They only grow.
type ClientStats struct {
	Connects        uint64 // connections made
	DialFailures    uint64 // attempts to connect that failed, unless VersionChanges counts them
	Lost            uint64 // connections that this Client did not close
	Stuck           uint64 // connections closed after ClientConfig.StuckTimeout
	IdleCloses      uint64 // connections closed after ClientConfig.IdleTimeout
	Retransmissions uint64 // Calls sent again on another connection

	// DelayedCalls is the number of times that a Call waited because no connection had a free
	// credit. With one connection see Stats.DelayedCalls of the connection.
	DelayedCalls uint64

	// VersionChanges is the number of times that the Client learnt to begin connections with
	// another version (ClientConfig.VersionMemory).
	VersionChanges uint64
}

// XID returns the next transaction ID. It is unique if all Calls of the Client use it.
func (c *Client) XID() uint32 { return c.xids.Next() }

// Call makes an RPC as Conn.Call does, and waits for a connection if necessary. The error is a
// *CallError. If there was no connection in time, it contains the error of the last attempt to
// connect.
func (c *Client) Call(ctx context.Context, call *Call) (*Reply, error) {
	return c.retrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter. The rules of Call and Conn.Submit apply. A Call that waits
// for a connection, or is sent again, has a goroutine, on which done then runs.
func (c *Client) Submit(ctx context.Context, call *Call, done func(*Reply, error)) error {
	return c.retrier.Submit(ctx, call, done)
}

// events returns Config.Events, or nil.
func (c *Client) events() func(Event) {
	if c.cfg.Conn == nil {
		return nil
	}
	return c.cfg.Conn.Events
}

// Stats returns the counts.
func (c *Client) Stats() ClientStats {
	s := c.pool.Stats()
	return ClientStats{
		Connects: s.Connects, DialFailures: s.DialFailures, Lost: s.Lost, Stuck: s.Stuck, IdleCloses: s.IdleCloses,
		Retransmissions: c.retrier.Again(), DelayedCalls: s.Delayed, VersionChanges: c.versions.changes.Load(),
	}
}

// Close closes all connections as Conn.Close does and fails all Calls. The rules of Conn.Close
// apply. Further calls return the same error.
func (c *Client) Close() error {
	err := c.pool.Close()
	c.retrier.Wait()
	return err
}
