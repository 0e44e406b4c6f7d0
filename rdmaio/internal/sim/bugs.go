package sim

import (
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// Bugs are mistakes that a run has on purpose, to show that the oracles find them. Most of them
// were once in the product. The zero Bugs changes nothing.
type Bugs struct {
	// Sabotage, if not nil, changes messages on their way.
	Sabotage func(*Message)

	// Unflushed is a bug of the provider: after a flushed request others succeed.
	Unflushed bool

	// ReleaseEarly is a bug of the engine: it releases a handler's memory when the reply is handed
	// over.
	ReleaseEarly bool

	// ShortGrace is a bug of the reply cache: it takes a client that comes back for another one
	// after a second, and does not ask whether the old connection is up. The server may notice its
	// loss 30 s later.
	ShortGrace bool

	// ByPort is a bug of the reply cache: the port is a part of the client's identity, so that no
	// Call that comes back on another connection is found.
	ByPort bool

	// ZeroIsNull is a bug of the reply cache: procedure 0 is taken for the null procedure, and its
	// Calls are executed each time.
	ZeroIsNull bool

	// Stubborn is a bug of clients: a Call that the server refuses costs the connection, and is
	// made again on the next one.
	Stubborn bool

	// ForgetLoss is a bug of clients: a Call that was on a lost connection fails with the pause
	// that follows the loss, as one that finds the pause.
	ForgetLoss bool

	// NoTickets is a bug of servers: a handler starts before there is memory for its reply.
	NoTickets bool

	// CutEarly is a bug of the extension: an end posts smaller Receives before its peer keeps to
	// them.
	CutEarly bool

	// KeepKey is a bug of clients: a region on demand is given back while its key is valid.
	KeepKey bool

	// OneLess is a bug of both ends: they take one segment less than they advertise.
	OneLess bool

	// CloseOver is a bug of both ends: a Call over a limit costs the connection, with the other
	// Calls that are on it.
	CloseOver bool

	// Displace is a bug of servers: a connection in use makes room for a new one.
	Displace bool

	// Mute is a bug of the product's ends: they answer no Grant, so that keep-alives use up the
	// credits of their peer.
	Mute bool

	// OneQueue is a bug of servers: Requests of all connections wait in one queue for a place.
	OneQueue bool

	// CancelAll is a bug of servers: a CANCEL cancels all Calls of its connection.
	CancelAll bool

	// CancelOnce is a bug of clients: a Call that is given up while a CANCEL is in progress is not
	// named in another one.
	CancelOnce bool

	// Deaf is a bug of providers: no end notices that its peer has vanished.
	Deaf bool
}

// Message is a message that Bugs.Sabotage may change.
type Message struct {
	Bytes []byte
	Copy  bool // deliver it twice
}

// cache returns the configuration of the reply caches.
func (b *Bugs) cache() *replycache.Config {
	cfg := new(replycache.Config)
	if b.ShortGrace {
		cfg.Grace = time.Second
	}
	if b.ByPort {
		cfg.Client = func(r *oncrpc.Request) string { return r.Conn().RemoteAddr() }
	}
	if b.ZeroIsNull {
		cfg.Idempotent = func(_, _, procedure uint32) bool { return procedure == 0 }
	}
	return cfg
}
