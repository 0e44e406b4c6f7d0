package rdmaio

import (
	"context"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/backchannel"
	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// BackchannelConfig configures NewBackchannel. A nil BackchannelConfig is valid and has the default
// of every field.
type BackchannelConfig struct {
	// Wait is the longest time that a Call waits for a connection of the client. If zero, the
	// default is 90 s. If negative, there is no limit but the context of the Call.
	Wait time.Duration

	// Retransmits is the number of times that a Call is sent again after its connection was lost.
	// If zero, the default is 4. If negative, a Call is sent once.
	Retransmits int

	// Events is called with Resent events. If nil, they are dropped. All other events of the
	// connections go to the Config.Events of their server.
	Events func(Event)
}

// Backchannel makes reverse Calls to one client of a server, over the connection that the client
// has now. Only the client can make another connection. A Call whose connection is lost waits for
// that one and is sent again there with the same XID (RFC 8167 §5.4; R278). The upper layer knows
// which connections belong to a client, and passes them to Bind. All methods are safe for
// concurrent use.
type Backchannel struct {
	bound   *backchannel.Conns[*Conn]
	retrier *resend.Retrier[*Conn]
	xids    oncrpc.XIDs
}

var _ oncrpc.Submitter = (*Backchannel)(nil)

// NewBackchannel returns a Backchannel without a connection. cfg may be nil.
func NewBackchannel(cfg *BackchannelConfig) *Backchannel {
	var set BackchannelConfig
	if cfg != nil {
		set = *cfg
	}
	losses := 4
	if set.Retransmits != 0 {
		losses = max(set.Retransmits, 0)
	}
	b := &Backchannel{bound: backchannel.New[*Conn](set.Wait)}
	b.retrier = newRetrier(b.bound, losses, nil, set.Events) // only the client chooses the version
	b.xids.Seed()
	return b
}

// Bind makes c the connection for further Calls, and calls c.AllowReverse. c must be a connection
// of the client, and the client must be ready to be called (R280). When c is down, the connection
// bound before it is used if it is still up. Calls in progress stay on their connection. A handler
// may call Bind for each of its Calls, also after its connection is down.
func (b *Backchannel) Bind(c *Conn) { b.bound.Bind(c) }

// XID returns the next transaction ID. It is unique if all Calls of the Backchannel use it.
func (b *Backchannel) XID() uint32 { return b.xids.Next() }

// Retransmissions returns the number of times that Calls were sent again on a further connection.
func (b *Backchannel) Retransmissions() uint64 { return b.retrier.Again() }

// Call makes a reverse RPC as Conn.Call does. The error is a *CallError. It wraps ErrNoClient if
// there was no connection for BackchannelConfig.Wait, or until ctx ended.
func (b *Backchannel) Call(ctx context.Context, call *Call) (*Reply, error) {
	return b.retrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter. The rules of Call and Conn.Submit apply. A Call that waits
// for a connection, or is sent again, has a goroutine, on which done then runs.
func (b *Backchannel) Submit(ctx context.Context, call *Call, done func(*Reply, error)) error {
	return b.retrier.Submit(ctx, call, done)
}

// Close makes Calls that wait for a connection, and further Calls, fail with ErrClosed. It has no
// effect on Calls in progress or on connections.
func (b *Backchannel) Close() { b.bound.Close() }
