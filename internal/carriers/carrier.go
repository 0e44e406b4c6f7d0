package carriers

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Ends are the Configs of both ends: pointers to structs with defaults, which a suite may change
// before it serves. The last one of a client, and the first one of a server, is the Config of a
// connection.
type Ends struct{ Client, Server []any }

// Limits are limits that most carriers have, under various names. Zero is the default.
type Limits struct {
	Peer   time.Duration // for a peer that does not answer: PeerTimeout
	Setup  time.Duration // for the first bytes of a connection: HandshakeTimeout, FirstCallTimeout
	Part   time.Duration // for the rest of a message: RecordTimeout, SegmentTimeout, MessageTimeout
	Send   time.Duration // for a peer that takes nothing: SendTimeout, WorkTimeout
	Memory int           // in bytes: MaxMemory
}

// Place says where the ends are. The zero value is this host.
type Place struct {
	Addr      string          // to listen at; if empty, a free one of this host
	Near, Far func(do func()) // run a function where the client is, and the server; may be nil
}

// Counts has the counts of a Client.
type Counts struct {
	Lost  uint64 // connections that it did not close
	Again uint64 // Calls that it sent again
}

// State has what a server takes.
type State struct {
	Conns  int
	Memory int64 // bytes of Requests and their replies
}

// Conn is a connection of a client.
type Conn interface {
	oncrpc.Conn
	Close() error
}

// Client is a client that makes connections.
type Client interface {
	oncrpc.Carrier
	Close() error
}

// Carrier is a way of RPC messages from a client to a server.
type Carrier struct {
	// New returns Configs with defaults, and the Limits of the Carrier.
	New func() Ends

	// Serve starts a server of h, until the end of the test.
	Serve func(t testing.TB, p Place, e Ends, h oncrpc.Handler) *Server
}

// Server is a server that was started. Its functions are safe for concurrent use.
type Server struct {
	Addr string

	// Dial connects to the server at its address, or at the address of a proxy. reverse serves the
	// server's Calls, if the carrier has any, and may be nil. The caller closes the connection.
	Dial func(ctx context.Context, addr string, reverse oncrpc.Handler) (Conn, error)

	// Client returns a client that connects again, with its counts. It is nil over UDP, where Dial
	// does.
	Client func(reverse oncrpc.Handler) (Client, func() Counts, error)

	// Vanish makes the peer of each connection vanish, where the carrier simulates that, or is nil.
	Vanish func()

	State func() State

	// Silent connects as a client of the carrier does, and sends no message. It is nil over UDP,
	// which has no connections.
	Silent func(t testing.TB)

	// Raw connects a peer with so many Receives, which sends whatever a row likes, over RDMA. It
	// is nil over other carriers.
	Raw func(t testing.TB, receives int) *peertest.Peer
}

// quiet is the Logger of servers.
var quiet = slog.New(slog.DiscardHandler)

// at returns the function that runs others where they belong.
func at(place func(func())) func(func()) {
	if place == nil {
		return func(do func()) { do() }
	}
	return place
}

// listenAt returns the address to listen at, of the Place or else this one.
func (p Place) listenAt(addr string) string {
	if p.Addr != "" {
		return p.Addr
	}
	return addr
}

// started fails the test if a server did not start, and closes it at its end.
func started(t testing.TB, s interface{ Close() error }, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	closes(t, s)
}

// closes closes something at the end of a test.
func closes(t testing.TB, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
