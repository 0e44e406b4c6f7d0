package iwarp

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Open.
type Config struct {
	// Name is the name of the device. If empty, the default is "iwarp0".
	Name string

	// Limits lowers the limits of the device. A zero field keeps its default, and a
	// negative one sets the limit to none. The depths of Reads can be up to 16,382; the
	// default is 16.
	Limits *verbs.DeviceAttributes

	// Revision is the revision of MPA that this side asks for as the initiator: 2 for the
	// enhanced set-up of RFC 6581, which negotiates the depths of Reads, or 1 for the set-up of
	// RFC 5044. If zero, the default is 2. A responder answers either.
	Revision int

	// NoCRC makes this side not ask for CRCs. They are on if either side asks, as RFC
	// 5044 §4.4 requires. Without them, only TCP's 16-bit checksum protects the data.
	NoCRC bool

	// PeerToPeer makes an initiator ask for the peer-to-peer model of RFC 6581: it sends a
	// ready-to-receive indication at once, so that the responder may send first. Without
	// it, requests that a responder posts wait for the first message of the initiator. It
	// needs Revision 2.
	PeerToPeer bool

	// RTR holds the ready-to-receive indications that this side sends and takes. If zero,
	// the default is all of them.
	RTR RTR

	// MULPDU is the size of the longest ULPDU that this side sends, in bytes, 128 to
	// 64,768. If zero, a ULPDU fits into a TCP segment: the size comes from the system's
	// TCP_MAXSEG or, on other streams, is 16,384. A peer in hardware may not take
	// more than a segment. Peers in software do, and large ULPDUs need less work. A
	// ULPDU of any size is received.
	MULPDU int

	// FirstDelay is the time that an initiator waits after the reply of the set-up before it
	// sends its first FPDU. If zero, the default is 5 ms, and with TLS, which Linux does not
	// have, none. If negative, it does not wait.
	// Linux's siw sends its reply before it listens for FPDUs: without the delay, the
	// first message of every other connection lies unread until more bytes arrive. With
	// PeerToPeer, Dial takes that much longer.
	FirstDelay time.Duration

	// Without lists workarounds that are switched off.
	Without Workaround

	// TLS makes Listen and Dial use TLS, if not nil. It is copied. A listener needs a
	// certificate. Its fields have the same defaults as in package rdmatcp; NextProtos is
	// ALPN. Devices in hardware have no TLS. DialConn and AcceptConn do not use it.
	TLS *tls.Config

	// TLSWithoutALPN accepts peers that name no application protocol in TLS. By default
	// they are refused, because they may speak another protocol.
	TLSWithoutALPN bool

	// HandshakeTimeout is the longest time that a connected initiator may take to send its
	// request, the TLS handshake included. For Dial it limits only the TLS handshake. If
	// zero, the default is 5 s. If negative, there is no limit.
	HandshakeTimeout time.Duration

	// SegmentTimeout is the longest time from the first byte of an FPDU to its last. If
	// zero, the default is 10 s, which is a rate of 6.5 kB/s. If negative, there is no
	// limit.
	SegmentTimeout time.Duration

	// MessageTimeout is the longest time between two FPDUs of an open message. If zero,
	// the default is 30 s. If negative, there is no limit. It also limits how long a
	// message may be open: for MessageTimeout, and a second more for each KiB of payload
	// received.
	MessageTimeout time.Duration

	// SendTimeout is the longest time that one write of at most 256 KiB may take. If
	// zero, the default is 30 s. If negative, there is no limit. A write that takes
	// longer means that the peer does not read, and breaks the connection.
	SendTimeout time.Duration

	// PeerTimeout is the time after which the system gives up a peer that no longer
	// answers, in whole seconds: one that lost its power or its network. If zero, the
	// default is 30 s. If negative, there is no limit but the system's.
	PeerTimeout time.Duration

	// ReceiveTimeout is the longest time that an incoming Send waits for a Receive to be
	// posted. If zero, the default is 500 ms. If negative, a Send that finds no Receive
	// breaks the connection at once. During the wait nothing else is read from the connection,
	// not even responses to our Reads.
	ReceiveTimeout time.Duration

	// MaxConnections is the largest number of connections that the device has, including
	// connections in the set-up. If zero, the default is 65,536. If negative, there is no limit. A
	// listener closes further connections at once.
	MaxConnections int

	// MaxPerSource is the largest number of connections that a listener accepts from one
	// IPv4 address or one IPv6 network of 64 bits. If zero, the default is 64. If
	// negative, there is no limit. Connections from this machine are limited only if it
	// is positive.
	MaxPerSource int

	// MaxHandshakes limits the connections of a listener that are in the set-up. If zero, the
	// default is 10,000. If negative, there is no limit. For one more, the listener closes the
	// oldest.
	MaxHandshakes int

	// AcceptRate is the largest number of connections that a listener accepts in a
	// second, and the largest burst. If zero, the default is 5,000. If negative, there is
	// no limit. Further connections wait in the system's queue.
	AcceptRate int

	// Backlog is the largest number of connection requests that wait for
	// Listener.Accept. If zero, the default is 4,096; the most is 65,536, which is also
	// the limit if negative. Further requests are refused.
	Backlog int

	// Logger is the destination of a line for each connection that was refused, was lost
	// or could not be accepted. If nil, nothing is logged.
	Logger *slog.Logger

	// LogRate is the largest number of lines in a second that peers can cause. If zero,
	// the default is 10. If negative, there is no limit. Stats.Suppressed counts the
	// lines left out.
	LogRate int

	// Rand is the source of STags and addresses. If nil, the default is crypto/rand.
	// Other sources are for tests only: they make STags that a peer can guess.
	Rand io.Reader
}

// RTR is a set of ready-to-receive indications: zero-length operations that an initiator
// sends first in the peer-to-peer model (RFC 6581 §9.2).
type RTR uint8

// The indications. If both sides know several, a Write is sent rather than a Send, and a
// Send rather than a Read.
const (
	RTRSend RTR = 1 << iota
	RTRWrite
	RTRRead

	allRTR = RTRSend | RTRWrite | RTRRead
)

// mpa returns the set for package mpa.
func (r RTR) mpa() (set mpa.RTR) {
	for one, same := range map[RTR]mpa.RTR{RTRSend: mpa.RTRSend, RTRWrite: mpa.RTRWrite, RTRRead: mpa.RTRRead} {
		if r&one != 0 {
			set |= same
		}
	}
	return set
}

// Workaround is a set of workarounds for faults that other implementations have. They cost next
// to nothing, and are used with every peer.
type Workaround uint8

// The workarounds.
const (
	// SwappedTerminate reads a Terminate message in which layer and error type have
	// changed places, as siw sends it, where only that makes sense.
	SwappedTerminate Workaround = 1 << iota

	// WakeUp makes an initiator send an RDMA Write of no bytes if the peer is silent for 100
	// ms after the first message. In siw, bytes that have come too early (FirstDelay) are
	// read when more bytes arrive.
	WakeUp

	// NonZeroSTag puts STag 1 into a Write or Read of no bytes whose key is 0. A peer must
	// not check that STag, but hardware of Chelsio does.
	NonZeroSTag
)

const (
	defaultName   = "iwarp0"
	defaultDepth  = 16
	defaultDelay  = 5 * time.Millisecond
	wakeUpAfter   = 100 * time.Millisecond
	defaultMULPDU = 16 << 10 // on streams without TCP segments
	maxPrivate    = mpa.MaxPrivate - mpa.SetupSize
)

// fill returns the configuration with defaults for zero fields that concern iWARP alone.
func (c Config) fill() (Config, error) {
	if c.Name == "" {
		c.Name = defaultName
	}
	if c.Revision == 0 {
		c.Revision = 2
	}
	if c.RTR == 0 {
		c.RTR = allRTR
	}
	switch {
	case c.FirstDelay == 0 && c.TLS == nil:
		c.FirstDelay = defaultDelay
	case c.FirstDelay < 0:
		c.FirstDelay = 0
	}
	refuse := func(field string, value, least, most int) (Config, error) {
		return c, fmt.Errorf("iwarp: device %s: %s is %d, want %d to %d: %w", c.Name, field, value, least, most, verbs.ErrInvalidValue)
	}
	switch {
	case c.Revision < 1 || c.Revision > 2:
		return refuse("Revision", c.Revision, 1, 2)
	case c.PeerToPeer && c.Revision < 2:
		return refuse("Revision with PeerToPeer", c.Revision, 2, 2)
	case c.RTR > allRTR:
		return refuse("RTR", int(c.RTR), 0, int(allRTR))
	case c.MULPDU != 0 && (c.MULPDU < mpa.MinMULPDU || c.MULPDU > mpa.MaxMULPDU):
		return refuse("MULPDU", c.MULPDU, mpa.MinMULPDU, mpa.MaxMULPDU)
	}
	return c, nil
}

// attributes returns the attributes of a device with this configuration.
func (c *Config) attributes() (verbs.DeviceAttributes, error) {
	a := soft.Attributes(c.Name)
	a.MaxMRSize = 1 << 40
	a.MaxInitiatorDepth, a.MaxResponderResources = defaultDepth, defaultDepth
	a.MaxPrivateData = maxPrivate
	a.Addresses = verbs.AddressIP
	a.HeapMemory, a.RemoteInvalidate, a.LendReceives, a.ReaderNotifies = true, true, true, true
	a.TLS = c.TLS != nil
	return soft.Lower(provider, a, c.Limits, mpa.MaxDepth)
}
