package rdmatcp

import (
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Open.
type Config struct {
	// Name is the name of the device. If empty, the default is "rdmatcp0".
	Name string

	// Limits lowers the limits of the device. A zero field keeps its default, and a
	// negative one sets the limit to none.
	Limits *verbs.DeviceAttributes

	// Raw disables the connection profile, if not nil: see RawConfig.
	Raw *RawConfig

	// TLS makes Listen and Dial use TLS, if not nil. It is copied. A listener needs a
	// certificate. Its fields that are not set have these defaults:
	//
	//   - MinVersion is TLS 1.3. Earlier versions have no channel binding
	//     (verbs.ChannelBinder) and no confidential certificates.
	//   - ServerName is the host of the address that is dialed.
	//   - NextProtos is ALPN, and ClientSessionCache is a cache of the device.
	//
	// DialConn and AcceptConn do not use it: their streams are as the caller has made
	// them.
	TLS *tls.Config

	// TLSWithoutALPN accepts peers that name no application protocol in TLS. By default
	// they are refused, because they may speak another protocol. A peer that names
	// only protocols outside TLS.NextProtos is refused in any case.
	TLSWithoutALPN bool

	// HandshakeTimeout is the longest time that a connected peer may take to send
	// its part of the connection profile, the TLS handshake included. For Dial it limits
	// only the TLS handshake. If zero, the default is 5 s. If negative, there is no
	// limit.
	HandshakeTimeout time.Duration

	// SegmentTimeout is the longest time from the first byte of a segment to its
	// last. If zero, the default is 10 s, which is a rate of 6.5 kB/s. If negative,
	// there is no limit.
	SegmentTimeout time.Duration

	// MessageTimeout is the longest time between two segments of an open message. If
	// zero, the default is 30 s. If negative, there is no limit. It also limits how
	// long a message may be open: for MessageTimeout, and a second more for each KiB
	// of payload received.
	MessageTimeout time.Duration

	// SendTimeout is the longest time that one write of at most 256 KiB may take. If
	// zero, the default is 30 s. If negative, there is no limit. A write that takes
	// longer means that the peer does not read, and breaks the connection.
	SendTimeout time.Duration

	// PeerTimeout is the time after which the system gives up a peer that no longer
	// answers, in whole seconds: one that lost its power or its network. If zero, the
	// default is 30 s. If negative, there is no limit but the system's: on Linux some
	// 15 minutes while sent data is unacknowledged, and without limit while there
	// is no traffic. On Linux it also limits how long a peer may refuse to take data.
	PeerTimeout time.Duration

	// ReceiveTimeout is the longest time that an incoming Send waits for a Receive to
	// be posted. If zero, the default is 500 ms. If negative, a Send that finds no
	// Receive breaks the connection at once. During the wait nothing else is read
	// from the connection, not even responses to our Reads.
	ReceiveTimeout time.Duration

	// MaxConnections is the largest number of connections that the device has,
	// including connections in the handshake. If zero, the default is 65,536. If negative, there is
	// no limit. A listener closes further connections at once.
	MaxConnections int

	// MaxPerSource is the largest number of connections that a listener accepts from
	// one IPv4 address or one IPv6 network of 64 bits. If zero, the default is 64.
	// If negative, there is no limit. Connections from this machine are limited only
	// if it is positive.
	MaxPerSource int

	// MaxHandshakes limits the connections of a listener that are in the handshake. If zero, the
	// default is 10,000. If negative, there is no limit. For one more, the listener closes the
	// oldest.
	MaxHandshakes int

	// AcceptRate is the largest number of connections that a listener accepts in a
	// second, and the largest burst. If zero, the default is 5,000. If negative,
	// there is no limit. Further connections wait in the system's queue.
	AcceptRate int

	// Backlog is the largest number of connection requests that wait for
	// Listener.Accept. If zero, the default is 4,096; the most is 65,536, which is
	// also the limit if negative. Further requests are refused.
	Backlog int

	// Logger is the destination of a line for each connection that was refused, was
	// lost or could not be accepted. If nil, nothing is logged.
	Logger *slog.Logger

	// LogRate is the largest number of lines in a second that peers can cause. If
	// zero, the default is 10. If negative, there is no limit. Stats.Suppressed counts
	// the lines left out.
	LogRate int

	// Rand is the source of handles, Connection IDs and first message numbers. If
	// nil, the default is crypto/rand. Other sources are for tests only: they make
	// handles that a peer can guess.
	Rand io.Reader
}

// RawConfig holds the parameters that both sides of a connection without the profile
// have agreed on elsewhere. Such a connection has no private data, no SendWithInvalidate, no
// solicited events, and no reasons for refusing or closing a connection. The content of
// the peer's control data never breaks a connection; its size does (MaxControl).
type RawConfig struct {
	// MaxSend is the length of the longest Send that either side makes, in bytes. If zero,
	// the default is 16 MiB.
	MaxSend uint32

	// Control is called with the control data of the peer's messages and with the 4
	// bits that the draft reserves for the client protocol, if not nil. It is called
	// for each message of any type that has some of either, in the order in which the
	// messages end, after the last CRC was checked and before the message is
	// delivered, served or completed. It runs on the connection's reader with no
	// lock held and must not wait.
	Control func(ControlData)

	// MaxControl is the largest size of a message's control data, in bytes, in
	// all its segments. If zero, the default is 64 KiB. If negative, there is no
	// limit. A larger message breaks the connection. It has no effect without Control.
	MaxControl int

	// Attach returns the 4 bits of the client protocol and the control data to send
	// with the message of a request, if not nil. Control data is whole 32-bit words,
	// at most segment.MaxControl bytes; otherwise the post fails with
	// verbs.ErrInvalidWR. PostSend calls Attach for each Send, Write and Read, with no
	// lock held, and again for a request that is posted again after ErrQueueFull. The
	// bits are sent in every segment and control data in the first. The slice belongs
	// to the caller again when PostSend returns. Responses to the peer's Reads are not
	// posted and have neither.
	Attach func(qpNum uint32, wr verbs.SendWR) (res uint8, control []byte)

	// PeerResources is the number of Reads that the peer serves at once, which bounds
	// ConnParams.InitiatorDepth. If zero, the default is 16.
	PeerResources int
}

const (
	defaultName     = "rdmatcp0"
	defaultMaxSend  = 16 << 20
	defaultControl  = 64 << 10
	defaultRawReads = 16
)

// fill returns the configuration with defaults for the zero fields that package stream does not
// know.
func (c Config) fill() Config {
	if c.Name == "" {
		c.Name = defaultName
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

// Stats holds the counters of a device since it was opened.
type Stats struct {
	Connections int64 // connections that were set up
	Broken      int64 // connections that were set up, and then failed at either side

	Refused          int64 // connections that a listener refused: the sum of the next four
	RefusedFull      int64 // the device had MaxConnections connections, or was closed or removed
	RefusedSource    int64 // the source had MaxPerSource connections
	RefusedHandshake int64 // the handshake failed, was too slow, or the oldest of too many
	RefusedBacklog   int64 // Backlog requests waited for Accept

	// AcceptErrors is the number of errors that the system returned to a listener
	// instead of a connection, for example because the process is out of file
	// descriptors. The listener tries again after 1 ms to 1 s.
	AcceptErrors int64

	Suppressed int64 // log lines left out because of LogRate

	// Bytes of payload. Direct payload moved between socket and registered memory by
	// one system call. Staged payload was copied once more: the segment was short (see
	// StageLimit), the stream is not plain TCP, or the bytes were read ahead or
	// copied for an Invalidate.
	SentDirect, SentStaged         int64
	ReceivedDirect, ReceivedStaged int64
}
