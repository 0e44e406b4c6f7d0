package rdmaio

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Config configures Dial and Listen. nil is fine: a zero field is the default
// named with it, a negative one switches the thing off where that makes sense and is
// refused where it does not.
type Config struct {
	// Credits is how many Calls may be outstanding on a connection: requested by
	// the side that dials, granted at most by the one that listens. Each costs a Receive
	// of InlineRecv bytes and, while its message is on its way and shortly after, a send buffer of InlineSend. Default 32.
	Credits int

	// InlineSend and InlineRecv are how large a message this side sends and receives
	// without chunks at most, header included, bytes. Default 4096, within 1024 and
	// 256 KiB, rounded down to a multiple of 1024. What holds, each way, is the lesser of what
	// one side sends and the other receives, as they tell each other when the
	// connection is set up (RFC 8797 §4.2); 1024 with a peer that does not tell.
	InlineSend, InlineRecv int

	// RemoteInvalidate lets the server end one key of each Call along with its reply, which
	// saves the client doing so, if both sides want it and their devices can (RFC 8797
	// §4.1). Positive: on; negative, and the default: off, since with it the reply to a
	// cancelled Call that had chunks breaks the connection where its keys had to end before (see Conn.Call).
	RemoteInvalidate int

	// MaxReadBytes is the largest number of bytes that one Call may make the server fetch by RDMA Read. If zero, the
	// default is 16 MiB. If negative, there is no limit for one Call; MaxMemory then bounds what a peer can make
	// the server allocate. A Call with more is refused by ERR_CHUNK; Logger and Events get the limit.
	MaxReadBytes int

	// MaxConnMemory is how many bytes all Calls of a connection that have chunks may take
	// at a time, with their chunks in place; further ones wait until one is answered, or go
	// alone where they need more. Default 16 MiB; negative: no limit. MaxMemory is the
	// same for all connections of a server; when less is left of it than a connection has, its Calls wait too, and one
	// that finds nothing left is refused by ERR_CHUNK. Default: a quarter of the memory that the process may have, and 1 GiB at
	// most; negative: no limit. What it may have is, on Linux, the least of the machine's memory, the limits of its control
	// groups and RLIMIT_AS; on every system GOMEMLIMIT; if none of these is known the default is 1 GiB.
	//
	// Memory follows what a peer delivers: a connection takes 31 KiB at first, and then three times the bytes that came.
	// So the first Calls of a connection that are longer are fetched in parts.
	MaxConnMemory, MaxMemory int

	// MaxConns is how many connections a server has; more are rejected. Default 10,000; negative: no limit.
	MaxConns int

	// MaxErrors is how many Calls a second may be answered by RDMA_ERROR on a connection: with
	// more the connection ends (ErrTooManyErrors). Default 64; negative: no limit.
	MaxErrors int

	// MaxSegments is how many segments a chunk may have, and MaxChunks how many
	// read chunks, and write chunks, a header. Calls of the peer that have more are refused,
	// and so are our own before they are sent. Default 256 and 16; negative: what fits in a header.
	MaxSegments, MaxChunks int

	// SegmentSize is how many bytes a segment of our own chunks has at most. Default 1 GiB.
	SegmentSize int

	// SendQueue is the number of entries of the send queue. A Call whose chunks need more
	// is refused. Default 256, or the device's maximum if less.
	SendQueue int

	// WorkTimeout is how long posted work may take before the connection is given
	// up: a peer that takes no message or serves no RDMA Read. Default 30 s; negative: forever.
	WorkTimeout time.Duration

	// NonBlocking is the promise that handlers never wait: not for a lock that is held for long, not for a disk, and not for a
	// Call of their own. They then run on the goroutine that received the Call, and may answer later from another. That is
	// faster, but a handler that does wait stops its connection, and for good if it waits for a Call of that
	// connection. If false, each handler has a goroutine and may wait.
	NonBlocking bool

	// MaxHandlers is the number of handlers of a server that run at a time without NonBlocking, one more for each
	// connection not counted; further Calls wait in a queue. If zero, the default is 256 for each processor (GOMAXPROCS). If
	// negative, there is no limit but Credits for each connection.
	MaxHandlers int

	// ReverseHandler serves the reverse Calls of a connection that Dial makes: those of
	// the server (RFC 8167). nil, and the default: they are dropped. Listen does not look at it.
	ReverseHandler Handler

	// ReverseCredits is how many reverse Calls may be outstanding on a connection: granted
	// at most by the side that dials, default 8 if it has a ReverseHandler; requested by
	// the one that listens, default none, and only with a positive number may it make any (see
	// Conn.AllowReverse). Each costs what one of Credits does. Negative: none.
	ReverseCredits int

	// ReverseChunks lets reverse Calls and their replies have chunks; both ends must have it on. Without it
	// they go inline or not at all, and no memory is given to the peer for them (RFC 8167 §5.3). A side that dials
	// cannot have it together with Legacy, where it has a ReverseHandler.
	ReverseChunks bool

	// Legacy speaks draft-ietf-nfsv4-rpcrdma-08 where RFC 8166 took something back: a server puts results that
	// fit nowhere else into memory that the client reads (and says so by RDMA_DONE; if it does not within
	// WorkTimeout the connection is given up), a client reads them, both take RDMA_MSGP (see Padding).
	// It is for peers of that time only: a peer by RFC 8166 refuses all of that. Forward direction only. A
	// server posts two Receives for each of its Credits then.
	Legacy bool

	// Events is told what happens on the connections: for metrics, traces, a capture of RPC messages. It is called by
	// whichever goroutine something happened on, by several at a time; of one connection ConnUp comes first and
	// ConnDown last but for what ends with it, of one RPC the start before the end. It must return soon, and not
	// panic: Calls wait for it. Messages that an Event points to must not be used afterwards. Of a Conn it may use
	// Stats, Terms, RemoteAddr, Done and Err. nil, and the default: nobody, at no cost.
	Events func(Event)

	// Programs are the programs whose names the texts of events use, beside the numbers. If nil, they have numbers only.
	Programs []oncrpc.Program

	// Logger gets what a person may want to know about connections: what was refused, why this side gave one up, and which
	// handlers failed. Peers can cause ten lines per second at most. What the provider finds is for the provider's own
	// log. If nil, only what this program does wrong is logged, to slog.Default: errors and panics of handlers; a logger over
	// slog.DiscardHandler silences that too.
	Logger *slog.Logger
}

const defaultTimeout = 30 * time.Second

// settings are a Config with its defaults.
type settings struct {
	Config
	limits  chunk.Limits
	private header1.Private // what this side says of itself
	faults  *slog.Logger    // for what this program does wrong

	calls, serves int // credits: for our Calls, and for the peer's
}

// settings fills in the defaults of a side that dials, and refuses what cannot work on the device.
func (cfg *Config) settings(a *verbs.DeviceAttributes) (settings, error) {
	return cfg.settle(a, engine.Requester)
}

// settle does so for either side.
func (cfg *Config) settle(a *verbs.DeviceAttributes, role engine.Role) (settings, error) {
	var s settings
	if cfg != nil {
		s.Config = *cfg
	}
	var err error
	number := func(name string, f *int, def, least, most int) {
		if *f == 0 {
			*f = min(def, most)
		}
		if err == nil && (*f < least || *f > most) {
			err = fmt.Errorf("rdmaio: Config.%s is %d, must be within %d and %d: %w", name, *f, least, most, verbs.ErrInvalidValue)
		}
	}
	off := func(f *int, def, most int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = most
		}
	}
	number("Credits", &s.Credits, 32, 1, a.MaxRecvWR)
	s.calls = s.Credits
	if role == engine.Requester {
		if s.ReverseHandler == nil {
			s.ReverseCredits = 0
		} else if s.ReverseCredits == 0 {
			s.ReverseCredits = min(8, a.MaxRecvWR-s.Credits)
		}
	}
	s.ReverseCredits = max(s.ReverseCredits, 0)
	if role == engine.Requester {
		s.ReverseChunks = s.ReverseChunks && s.ReverseCredits > 0
		if err == nil && s.ReverseChunks && s.Legacy {
			err = fmt.Errorf("rdmaio: Config.ReverseChunks and Legacy are both on, where a whole Reply by read chunk looks like a reverse Call: "+
				"use one of them, or no ReverseHandler: %w", verbs.ErrInvalidValue)
		}
	}
	s.serves = s.ReverseCredits
	if role == engine.Responder {
		s.calls, s.serves = s.serves, s.calls
	}
	left := a.MaxRecvWR - s.Credits
	if s.Legacy && role == engine.Responder {
		left -= s.Credits
	}
	if err == nil && s.ReverseCredits > left {
		err = fmt.Errorf("rdmaio: Config.Credits is %d (which counts twice for a server with Legacy) and ReverseCredits %d: together more than the device's %d Receives: %w",
			s.Credits, s.ReverseCredits, a.MaxRecvWR, verbs.ErrInvalidValue)
	}
	number("InlineSend", &s.InlineSend, 4096, header.LeastInline, header1.MostInline)
	number("InlineRecv", &s.InlineRecv, 4096, header.LeastInline, header1.MostInline)
	number("SendQueue", &s.SendQueue, 256, 2, a.MaxSendWR)
	number("SegmentSize", &s.SegmentSize, 1<<30, 1, math.MaxInt32)
	off(&s.MaxReadBytes, 16<<20, math.MaxInt/2)
	off(&s.MaxConnMemory, 16<<20, math.MaxInt)
	off(&s.MaxMemory, int(min(1<<30, machine.Memory()/4)), 0)
	off(&s.MaxConns, 10_000, math.MaxInt)
	off(&s.MaxErrors, 64, 0)
	off(&s.MaxHandlers, 256*runtime.GOMAXPROCS(0), 0)
	off(&s.MaxSegments, 256, math.MaxInt)
	off(&s.MaxChunks, 16, math.MaxInt)
	switch {
	case s.WorkTimeout == 0:
		s.WorkTimeout = defaultTimeout
	case s.WorkTimeout < 0:
		s.WorkTimeout = 0
	}
	s.faults = s.Logger
	if s.Logger == nil {
		s.Logger, s.faults = slog.New(slog.DiscardHandler), slog.Default()
	}
	s.InlineSend, s.InlineRecv = header1.InlineSize(s.InlineSend), header1.InlineSize(s.InlineRecv)
	s.private = header1.DefaultPrivate()
	if a.MaxPrivateData >= header1.PrivateSize { // else the peer cannot be told (RFC 8797 §4)
		s.private = header1.Private{
			Send: s.InlineSend, Recv: s.InlineRecv,
			RemoteInvalidate: s.RemoteInvalidate > 0 && a.RemoteInvalidate,
		}
	}
	s.limits = chunk.Limits{
		Bytes: uint64(s.MaxReadBytes), Segments: s.MaxSegments, Chunks: s.MaxChunks,
		Requests: s.SendQueue, Transfer: min(a.MaxMessageSize, math.MaxInt32), Address: a.MaxRemoteAddr,
	}
	return s, err
}

// params is our part in setting up a connection: nothing before our private data,
// since there are peers that look at its start only (A30).
func (s *settings) params() *verbs.ConnParams {
	if s.private == header1.DefaultPrivate() {
		return nil // says the same (RFC 8797 §5.1)
	}
	return &verbs.ConnParams{PrivateData: s.private.Append(nil)}
}
