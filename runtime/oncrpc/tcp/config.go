package tcp

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Errors for errors.Is. The text of an error that wraps one of them has the details.
var (
	// ErrRecord reports a record that is longer than Config.MaxRecord, or has more fragments than
	// Config.MaxFragments. The Call whose reply it is fails, and the connection stays up, unless
	// the record has more than 1 GiB.
	ErrRecord = errors.New("tcp: record refused")
	// ErrMessage reports a record that is not an RPC message. The connection is lost.
	ErrMessage = errors.New("tcp: record is not an RPC message")
	// ErrTimeout reports that the peer did not read, did not finish a record or made no Call in the
	// time that Config allows. The connection is lost.
	ErrTimeout = errors.New("tcp: the peer took too long")
	// ErrLimit reports that the peer exceeded a limit of Config while the connection could not stop
	// reading. The connection is lost.
	ErrLimit = errors.New("tcp: the peer exceeded a limit")
	// ErrPeerClosed reports that the peer closed the connection.
	ErrPeerClosed = errors.New("tcp: the peer closed the connection")
)

// Config configures Dial, NewClient and Listen. A nil *Config has the default in every field.
type Config struct {
	// ReverseHandler serves the Calls that the server makes on a connection of a client. If nil,
	// they are answered with PROG_UNAVAIL (RFC 5531 §9). Listen does not use it.
	ReverseHandler oncrpc.Handler

	// NonBlocking promises that the handler never blocks and does not end its goroutine. It then
	// runs on the goroutine that reads from the connection.
	NonBlocking bool

	// MaxCalls is the largest number of Calls in progress on a connection. If zero, the default is
	// 256. If negative, there is no limit but 65,536. Further Calls wait.
	MaxCalls int

	// MaxRequests is the largest number of Requests that a connection has not answered. If zero,
	// the default is 64. If negative, there is no limit. A connection with that many stops reading.
	// While Calls of this side are in progress it cannot stop. It then takes as many Requests as a
	// client can have in progress, 65,536, if MaxMemory allows it. A peer that sends more loses the
	// connection.
	MaxRequests int

	// MaxHandlers is the largest number of handlers that a server runs at a time, in addition to
	// one for each connection. If zero, the default is 256 for each processor (GOMAXPROCS). If
	// negative, there is no limit but the MaxRequests of each connection. Further Requests wait in
	// a queue. It has no effect with NonBlocking.
	MaxHandlers int

	// MaxRecord is the size of the longest record received, in bytes. If zero, the default is 16
	// MiB and 64 KiB. If negative, there is no limit but the 2 GiB of the largest int32.
	//
	// A longer one is read to its end and discarded. If it is a Call, it is answered with
	// GARBAGE_ARGS; if it is a reply, its Call fails with ErrRecord. Other Calls of the connection
	// go on. A record of more than 1 GiB, or one that takes ten times RecordTimeout, closes the
	// connection.
	MaxRecord int

	// MaxFragments is the largest number of fragments in a record, empty ones included. If zero,
	// the default is 16,384. If negative, there is no limit. A record with more is treated as one
	// that is too long.
	MaxFragments int

	// MaxReply is the size of the longest reply sent, in bytes. If zero, the default is MaxRecord,
	// but at least 16 MiB and 64 KiB. If negative, there is no limit but the 2 GiB of the largest
	// int32. A server takes a third of MaxMemory instead if that is less. The caller of a longer
	// one gets SYSTEM_ERR.
	//
	// A server runs only so many handlers at a time whose replies have no bound as could all answer
	// with MaxReply in a third of MaxMemory, by default five. Further ones wait, at their place of
	// MaxHandlers. See oncrpc.Bounder for bounds. A smaller MaxReply lets more run.
	MaxReply int

	// MaxMemory is the memory, in bytes, for the Requests on all of a server's connections, and for
	// their replies until they are written. If zero, the default is 256 MiB. If negative, there is
	// no limit. The resident memory of a process with one server, whose handlers keep nothing, is
	// meant to stay below 1.5 times MaxMemory and 32 MiB, with the garbage collector's default
	// (GOGC). The values that package rpc decodes from arguments count. Memory that handlers take
	// for themselves does not, unless they call Request.Reserve.
	//
	// So only two thirds of MaxMemory are given out: the rest is garbage. Half of these two thirds
	// is for replies without a bound (MaxReply). The other half is for Requests, from while they
	// arrive, and for the bounds of replies. Beyond its share of that half a connection stops
	// reading, for RecordTimeout at most.
	//
	// All connections from one source, as MaxPerSource counts them, have a share together, and each
	// connection from this machine its own: half while others have nothing, otherwise at most 27 %,
	// and less the more others have. n greedy sources leave at least 2/(n+3) of the half. A record
	// longer than a sixth of MaxMemory is refused like one above MaxRecord, and one above a twelfth
	// may wait as long as others have Requests: MaxMemory should be 12 times MaxRecord or more.
	//
	// A connection with more than 4 MiB of replies that are not written starts no further handler
	// until some are written, and stops reading unless Calls of this side are in progress. Where
	// others wait for memory, a connection with 64 KiB of replies or more is closed if its peer
	// takes longer than 500 ms for one write of at most 256 KiB. If less than 64 KiB of a record
	// come in 500 ms, and its source has more than an even part of the memory, the connection with
	// the largest such record is closed, one in 125 ms.
	MaxMemory int

	// RecordTimeout is the longest time for each 64 KiB of a record that has begun. If zero, the
	// default is 30 s. If negative, there is no limit.
	RecordTimeout time.Duration

	// SendTimeout is the longest time that one write of at most 256 KiB may take. If zero, the
	// default is 30 s. If negative, there is no limit. A write that takes longer means that the
	// peer does not read, and closes the connection.
	SendTimeout time.Duration

	// FirstCallTimeout is the time in which an accepted connection must bring its first message. If
	// zero, the default is 10 s. If negative, there is no limit.
	FirstCallTimeout time.Duration

	// PeerTimeout is the time after which the system gives up a peer that does not answer over
	// TCP. If zero, the default is 30 s. If negative, there is no limit but the system's. After
	// half of it without traffic the system sends keepalive probes. Where it has an option for
	// that (Linux, macOS, FreeBSD 14, Windows), sent data that stays unacknowledged for PeerTimeout
	// closes the connection, too. Linux also closes it if the peer answers but reads nothing for
	// PeerTimeout while data waits, whatever SendTimeout is. It is also the longest time for each
	// reply to a client that has closed its direction of the stream.
	PeerTimeout time.Duration

	// IdleTimeout is the time after which a server closes a connection that has no Request, not
	// even in part, unless Conn.AllowReverse was called for it. If zero, the default is 6 min,
	// longer than a Client's. If negative, there is no limit. A client of this package has ErrIdle
	// for the Calls that it made at that moment, and a Client makes them on another connection.
	IdleTimeout time.Duration

	// MaxConns is the largest number of connections that a server has. If zero, the default is
	// 10,000. If negative, there is no limit. For a further one, the server closes the connection
	// that has been idle for longest, as by IdleTimeout, and for 1 s at least. If all are in use,
	// it closes the new one at once; a client of this package then has ErrFull.
	MaxConns int

	// AcceptRate is the largest number of connections that a server accepts in a second, and the
	// largest burst. If zero, the default is 5,000. If negative, there is no limit. Further
	// connections wait in the system's queue.
	AcceptRate int

	// MaxPerSource is the largest number of connections that a server has from one IPv4 address or
	// one IPv6 network of 64 bits. If zero, the default is 64. If negative, there is no limit.
	// Connections from this machine are limited only if it is positive.
	MaxPerSource int

	// SocketMode has the permissions of the file that Listen makes for an address such as
	// "unix:/run/notes.sock". If zero, the default is 0600. To connect, a user needs the permission
	// to write.
	SocketMode fs.FileMode

	// NoCancel turns package cancel off. Without it, a Call whose context is done after it was sent
	// is followed by a Call of program 0x2000ca11 that says so, at most one at a time. After one
	// without a successful answer, there are no others. Calls of this program are not passed to the
	// handler; they cancel Request.Context.
	NoCancel bool

	// TLS is RPC-with-TLS (RFC 9289). If zero, connections are in plaintext. NewConn and package
	// mem do not use TLS; see NewConn.
	TLS TLS

	// Logger receives warnings, and whether each connection has TLS, unless TLS is off. If nil,
	// errors and panics of handlers go to the slog.Default of the time when the connection or
	// server is made, and nothing else is logged. There are at most ten lines in a second that
	// peers can cause.
	Logger *slog.Logger
}

// settings is a Config with its defaults.
type settings struct {
	Config
	faults *slog.Logger // of handlers
	tls    *tlsSettings // nil: off
}

// fit lowers the limits of a server to what MaxMemory allows at all: its part for replies, and half
// of its part for Requests.
func (s *settings) fit() {
	if s.MaxMemory == math.MaxInt {
		return
	}
	most := s.MaxMemory / 6
	if s.MaxRecord > most/2 {
		s.Logger.Warn("tcp: Config.MaxMemory should be 12 times Config.MaxRecord or more: the longest records may wait as long as others have Requests",
			"MaxMemory", s.MaxMemory, "MaxRecord", s.MaxRecord, "limit", most)
	}
	s.MaxRecord = min(s.MaxRecord, most)
	s.MaxReply = min(s.MaxReply, s.MaxMemory/3)
}

// settle returns the configuration with its defaults. Limits that are off are the largest int, but
// MaxHandlers and AcceptRate zero. Times that are off are zero.
func (cfg *Config) settle() settings {
	var s settings
	if cfg != nil {
		s.Config = *cfg
	}
	limit := func(f *int, def, none int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = none
		}
	}
	duration := func(f *time.Duration, def time.Duration) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = 0
		}
	}
	limit(&s.MaxCalls, 256, 1<<16)
	limit(&s.MaxRequests, 64, math.MaxInt/2)
	limit(&s.MaxHandlers, 256*runtime.GOMAXPROCS(0), 0)
	limit(&s.AcceptRate, 5000, 0)
	limit(&s.MaxRecord, oncrpc.DefaultMaxMessage+64<<10, math.MaxInt32)
	s.MaxRecord = min(s.MaxRecord, math.MaxInt32)
	limit(&s.MaxReply, max(s.MaxRecord, oncrpc.DefaultMaxMessage+64<<10), math.MaxInt32)
	limit(&s.MaxFragments, 16<<10, math.MaxInt)
	limit(&s.MaxMemory, 256<<20, math.MaxInt)
	limit(&s.MaxConns, 10_000, math.MaxInt)
	duration(&s.RecordTimeout, 30*time.Second)
	duration(&s.SendTimeout, 30*time.Second)
	duration(&s.FirstCallTimeout, 10*time.Second)
	duration(&s.PeerTimeout, 30*time.Second)
	duration(&s.IdleTimeout, 6*time.Minute)
	s.MaxCalls = min(s.MaxCalls, 1<<16)
	s.faults = s.Logger
	if s.Logger == nil {
		s.Logger, s.faults = slog.New(slog.DiscardHandler), slog.Default()
	}
	s.Logger, s.faults = admission.LimitLog(s.Logger), admission.LimitLog(s.faults)
	return s
}
