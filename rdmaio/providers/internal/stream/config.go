package stream

import (
	"crypto/rand"
	"crypto/tls"
	"io"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Open. The fields from HandshakeTimeout on have the same names and meaning as in
// the provider's public Config, because errors name them.
type Config struct {
	Provider string // the provider's package, for errors
	Attrs    verbs.DeviceAttributes
	Framing  Framing
	Shape    Shape

	// NoReports is the reason that the framing has no reports. If empty, it has them.
	NoReports string

	// Addresses makes the remote address of a region's first byte a random number. Otherwise it is
	// 0.
	Addresses bool

	// Attach returns the additions of the framing to the requests of a post, one for each or nil.
	// If Attach is nil, it adds nothing. PostSend calls it with no lock held.
	Attach func(qpNum uint32, wrs []verbs.SendWR) []Extra

	// ALPN is the name of the framing in TLS (RFC 7301).
	ALPN           string
	TLS            *tls.Config
	TLSWithoutALPN bool

	HandshakeTimeout time.Duration
	SegmentTimeout   time.Duration // for a frame
	MessageTimeout   time.Duration
	SendTimeout      time.Duration
	PeerTimeout      time.Duration
	ReceiveTimeout   time.Duration
	MaxConnections   int
	MaxPerSource     int // zero: see admission.Conns
	MaxHandshakes    int
	AcceptRate       int
	Backlog          int
	Logger           *slog.Logger
	LogRate          int
	Rand             io.Reader
}

// Shape has the sizes of a framing, in bytes.
type Shape struct {
	Prefix  int // bytes of a frame that Wire and HeaderSize need
	Header  int // the header of most frames: as much is read ahead inside a long message
	MaxHead int // the largest Frame.Head; with StageReceive and trailer less than 16 KiB

	// The largest payloads of a frame that are staged. See Copies in the package documentation.
	StageSend, StageReceive int

	// Whole makes a message's frames follow each other: no frame of a response comes between a
	// request's frames, and the reverse.
	Whole bool

	// SumFirst makes the checksum of a frame with staged payload be checked before its header.
	SumFirst bool
}

// fill returns the configuration with defaults for zero fields, and values that are never reached
// for negative ones.
func (c Config) fill() Config {
	for _, f := range []struct {
		value *time.Duration
		def   time.Duration
		never time.Duration
	}{
		{&c.HandshakeTimeout, 5 * time.Second, never},
		{&c.SegmentTimeout, 10 * time.Second, never},
		{&c.MessageTimeout, 30 * time.Second, never},
		{&c.SendTimeout, 30 * time.Second, never},
		{&c.PeerTimeout, 30 * time.Second, 0},
		{&c.ReceiveTimeout, 500 * time.Millisecond, 0},
	} {
		switch {
		case *f.value == 0:
			*f.value = f.def
		case *f.value < 0:
			*f.value = f.never
		}
	}
	for _, f := range []struct {
		value *int
		def   int
	}{
		{&c.MaxHandshakes, 10_000},
		{&c.MaxConnections, 1 << 16},
		{&c.AcceptRate, 5000},
		{&c.Backlog, 1 << 12},
		{&c.LogRate, 10},
	} {
		switch {
		case *f.value == 0:
			*f.value = f.def
		case *f.value < 0:
			*f.value = 1 << 30
		}
	}
	c.Backlog = min(c.Backlog, 1<<16) // the capacity of a channel
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return c
}

// never is a time limit that no connection reaches.
const never = 100 * 365 * 24 * time.Hour

// Stats holds the counters of a device since it was opened. A provider converts it to its own.
type Stats struct {
	Connections int64 // connections that were set up
	Broken      int64 // connections that were set up, and then failed at either side

	Refused          int64 // connections that a listener refused: the sum of the next four
	RefusedFull      int64 // the device had MaxConnections connections, or was closed or removed
	RefusedSource    int64 // the source had MaxPerSource connections
	RefusedHandshake int64 // the peer left; the handshake failed, or was slow, or oldest of many
	RefusedBacklog   int64 // Backlog requests waited for Accept

	AcceptErrors int64 // errors that the system returned to a listener instead of a connection
	Suppressed   int64 // log lines left out because of LogRate

	// Bytes of payload, direct and staged.
	SentDirect, SentStaged         int64
	ReceivedDirect, ReceivedStaged int64
}
