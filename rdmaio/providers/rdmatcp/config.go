package rdmatcp

import (
	"crypto/rand"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Open. Zero fields are the defaults, negative ones switch
// off what can be switched off.
type Config struct {
	// Name is the device's name; default "rdmatcp0".
	Name string

	// Limits lowers the device's limits: zero fields keep their default, a
	// negative number means none.
	Limits *verbs.DeviceAttributes

	// Raw, if not nil, leaves the connection profile out: see RawConfig.
	Raw *RawConfig

	// HandshakeTimeout is how long a peer that connected may take to send its
	// part of the connection profile; default 5 s.
	HandshakeTimeout time.Duration

	// SegmentTimeout is how long a segment may take from its first byte to its
	// last; default 10 s, which is a rate of 6.5 kB/s.
	SegmentTimeout time.Duration

	// MessageTimeout is how long the next segment of an open message may be
	// away, and how long a message may be open in all, but for a second more for
	// each KiB of its payload that came; default 30 s.
	MessageTimeout time.Duration

	// SendTimeout is how long one write of at most 256 KiB may take: longer than
	// that, and the peer does not read; default 30 s.
	SendTimeout time.Duration

	// PeerTimeout is the time after which a peer that no longer answers is given up, to the second: one
	// that lost its power or its network. If zero, the default is 30 s. If negative, the connection has
	// the limits of the system, which on Linux are some 15 minutes while data is on its way, and none
	// while there is no traffic. On Linux it also limits how long a peer may refuse to take data.
	PeerTimeout time.Duration

	// ReceiveTimeout is how long a Send may find no Receive posted; the stream
	// waits meanwhile, and with it the answers to our Reads. Default 500 ms.
	ReceiveTimeout time.Duration

	// MaxConnections is how many connections the device has in all, those in the
	// handshake included; default 65,536. A listener closes more of them at once.
	MaxConnections int

	// MaxPerSource is how many of them a listener takes from one IPv4 address or
	// one IPv6 network of 64 bits. Default 64, which does not bind connections
	// of this machine to itself; a number that is set binds all.
	MaxPerSource int

	// MaxHandshakes is how many connections of a listener may be in the handshake;
	// default 10,000. One more, and the oldest of them is closed.
	MaxHandshakes int

	// AcceptRate is how many connections a second a listener takes up, and how
	// many at once after a rest; default 5,000. More wait in the system's queue.
	AcceptRate int

	// Backlog is how many connection requests may wait for Listener.Accept;
	// default 4,096. More are refused.
	Backlog int

	// Logger gets a line for each connection that was refused or broke, or could not be accepted; default
	// none. LogRate is how many lines a second peers can cause; default 10, and
	// negative is no limit.
	Logger  *slog.Logger
	LogRate int

	// Rand makes handles, Connection IDs and first message numbers; default
	// crypto/rand. Anything else is for tests.
	Rand io.Reader
}

// RawConfig is what both sides of a connection without profile agreed on
// elsewhere. There is no private data, no SendWithInvalidate, no reason for
// a refusal, no solicited event. What a peer sends beside payload is never a
// reason to refuse it.
type RawConfig struct {
	// MaxSend is the longest Send of either side; default 16 MiB.
	MaxSend uint32

	// Control, if not nil, is shown the control data of the peer's messages and
	// the bits that the draft leaves to the client protocol. It is called for
	// each message that has any, of all four types, in the order in which they
	// end, when the last CRC was right and before the message is delivered,
	// served or completed. It runs on the connection's reader with no lock held
	// and must not wait.
	Control func(ControlData)

	// MaxControl is how many bytes of control data a message may have in all its
	// segments, if there is a Control; default 64 KiB. More is refused.
	MaxControl int

	// Attach, if not nil, is asked what goes control with the message of a request:
	// the 4 bits of the header that are the client protocol's, and control data,
	// whole 32-bit words of at most segment.MaxControl bytes; anything else fails
	// the post with verbs.ErrInvalidWR. It is called by PostSend for each Send,
	// Write and Read, with no lock held, and again if the request found the queue
	// full and is posted again. Bits are in every segment, control data in the
	// first; the slice is the caller's again when PostSend returns. Answers to
	// the peer's Reads, which nobody posts, have neither.
	Attach func(qpNum uint32, wr verbs.SendWR) (res uint8, control []byte)

	// PeerResources is how many Reads the peer serves at once, which bounds
	// ConnParams.InitiatorDepth; default 16.
	PeerResources int
}

const (
	defaultName     = "rdmatcp0"
	defaultMaxSend  = 16 << 20
	defaultControl  = 64 << 10
	defaultRawReads = 16
)

// fill replaces zeros by defaults, and what is switched off by what never ends.
func (c Config) fill() Config {
	for _, f := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"HandshakeTimeout", &c.HandshakeTimeout, 5 * time.Second},
		{"SegmentTimeout", &c.SegmentTimeout, 10 * time.Second},
		{"MessageTimeout", &c.MessageTimeout, 30 * time.Second},
		{"SendTimeout", &c.SendTimeout, 30 * time.Second},
		{"PeerTimeout", &c.PeerTimeout, 30 * time.Second},
		{"ReceiveTimeout", &c.ReceiveTimeout, 500 * time.Millisecond},
	} {
		switch {
		case *f.value == 0:
			*f.value = f.def
		case *f.value < 0 && (f.name == "ReceiveTimeout" || f.name == "PeerTimeout"):
			*f.value = 0
		case *f.value < 0:
			*f.value = 100 * 365 * 24 * time.Hour
		}
	}
	for _, f := range []struct {
		value *int
		def   int
	}{
		{&c.MaxHandshakes, 10_000},
		{&c.MaxConnections, 1 << 16},
		{&c.MaxPerSource, 64},
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
	c.Backlog = min(c.Backlog, 1<<16) // a channel is made of it
	if c.Name == "" {
		c.Name = defaultName
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Raw != nil {
		raw := *c.Raw
		if raw.MaxSend == 0 {
			raw.MaxSend = defaultMaxSend
		}
		switch {
		case raw.MaxControl == 0:
			raw.MaxControl = defaultControl
		case raw.MaxControl < 0:
			raw.MaxControl = math.MaxInt
		}
		if raw.PeerResources == 0 {
			raw.PeerResources = defaultRawReads
		}
		c.Raw = &raw
	}
	return c
}

// attributes gives the device's limits.
func (c *Config) attributes() (verbs.DeviceAttributes, error) {
	a := verbs.DeviceAttributes{
		Name:                  c.Name,
		MaxSendWR:             1 << 14,
		MaxRecvWR:             1 << 14,
		MaxSendSGE:            32,
		MaxRecvSGE:            32,
		MaxReadSGE:            32,
		MaxCQE:                1 << 18,
		MaxMRSize:             1 << 32, // offsets have 32 bits
		MaxRemoteAddr:         1<<32 - 1,
		MaxMessageSize:        1 << 30,
		MaxInitiatorDepth:     16,
		MaxResponderResources: 16,
		MaxPrivateData:        maxPrivate,
		Addresses:             verbs.AddressIP,
		HeapMemory:            true,
		RemoteInvalidate:      true,
	}
	a, err := soft.Lower("rdmatcp", a, c.Limits, 1<<15)
	if err != nil {
		return a, err
	}
	if c.Raw != nil {
		a.MaxPrivateData, a.RemoteInvalidate = 0, false
	}
	return a, nil
}

// Stats counts what a device did since it was opened.
type Stats struct {
	Connections int64 // set up
	Broken      int64 // of them, those that ended by an error of either side

	// Connections that a listener refused: in all; because the device had
	// MaxConnections or was gone; because their source had MaxPerSource; in the
	// handshake, which was wrong, too slow, given up or the oldest of MaxHandshakes; because
	// nobody accepted them in time.
	Refused, RefusedFull, RefusedSource, RefusedHandshake, RefusedBacklog int64

	// AcceptErrors is the number of times that the system had no connection for a listener to accept, but an
	// error: the process is out of file descriptors, for one. The listener tries again after 1 ms to 1 s.
	AcceptErrors int64

	Suppressed int64 // log lines over LogRate

	// Payload by the way it took. Direct: between socket and registered memory
	// by one system call. Staged: by a copy in between, because the segment is
	// small (see StageLimit), the stream is no plain TCP connection, or it was
	// read ahead or kept for an Invalidate.
	SentDirect, SentStaged         int64
	ReceivedDirect, ReceivedStaged int64
}
