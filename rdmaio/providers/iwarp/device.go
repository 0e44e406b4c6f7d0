package iwarp

import (
	"context"
	"net"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The largest payloads, in bytes, that are staged in an FPDU: copied into one buffer with
// their neighbours to be sent, and out of a buffer after the CRC was checked when received. Larger
// payload is direct, except for bytes that were read ahead.
const (
	stageSend    = soft.InlineSize
	stageReceive = soft.InlineSize
)

// provider is the name of the provider in errors.
const provider = "iwarp"

// ALPN is the name of the protocol in the handshake of TLS (RFC 7301). It is not registered with
// IANA.
const ALPN = "iwarp"

// Device implements verbs.Device by iWARP over TCP.
type Device struct{ stream *stream.Device }

var _ verbs.Device = (*Device)(nil)

// Open opens a device. A nil cfg means the defaults.
func Open(cfg *Config) (*Device, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	c, err := cfg.fill()
	if err != nil {
		return nil, err
	}
	a, err := c.attributes()
	if err != nil {
		return nil, err
	}
	dev, err := stream.Open(c.stream(a))
	if err != nil {
		return nil, err
	}
	return &Device{dev}, nil
}

// stream returns the configuration of package stream, for a device with these attributes.
func (c *Config) stream(a verbs.DeviceAttributes) stream.Config {
	return stream.Config{
		Provider: provider, Attrs: a, Addresses: true, Framing: &framing{c},
		Shape: stream.Shape{
			Prefix: prefixSize, Header: untaggedSize, MaxHead: maxHead,
			StageSend: stageSend, StageReceive: stageReceive, Whole: true, SumFirst: true,
		},
		ALPN: ALPN, TLS: c.TLS, TLSWithoutALPN: c.TLSWithoutALPN,
		HandshakeTimeout: c.HandshakeTimeout, SegmentTimeout: c.SegmentTimeout, MessageTimeout: c.MessageTimeout,
		SendTimeout: c.SendTimeout, PeerTimeout: c.PeerTimeout, ReceiveTimeout: c.ReceiveTimeout,
		MaxConnections: c.MaxConnections, MaxPerSource: c.MaxPerSource, MaxHandshakes: c.MaxHandshakes,
		AcceptRate: c.AcceptRate, Backlog: c.Backlog,
		Logger: c.Logger, LogRate: c.LogRate, Rand: c.Rand,
	}
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.stream.Attributes() }

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) { return d.stream.AllocPD() }

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	return d.stream.CreateCQ(entries, notify)
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources { return d.stream.Resources() }

// Listen implements verbs.Device; addr is "host:port", with port 0 for a free one.
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	return d.stream.Listen(ctx, addr)
}

// Dial implements verbs.Dialer. addr is "host:port". The listener may take as long to answer as
// ctx allows: there is no other limit.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.stream.Dial(ctx, addr, qp, params)
}

// DialConn connects a queue pair over an existing stream, as the initiator, from the next byte on
// (R12; RFC 5044 §7.1). Both sides must have agreed on that position in the stream, after whole
// messages of what it was used for before. If the caller has read ahead, it passes a net.Conn that
// returns those bytes first. A plain *net.TCPConn moves the payload of long FPDUs without a copy;
// any other, a *tls.Conn for example, stages it, which Stats shows. Over a *tls.Conn with TLS 1.3
// the queue pair has a channel binding (verbs.ChannelBinder). The connection belongs to the device
// from the call on, even if DialConn fails, unless the error is misuse (see verbs.Dialer).
func (d *Device) DialConn(ctx context.Context, conn net.Conn, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.stream.DialConn(ctx, conn, qp, params)
}

// AcceptConn waits for a connection request over an existing stream, as the responder, from its
// next byte on: see Device.DialConn.
func (d *Device) AcceptConn(ctx context.Context, conn net.Conn) (verbs.ConnRequest, error) {
	return d.stream.AcceptConn(ctx, conn)
}

// Remove simulates unplugging the device: its connections end with verbs.ErrDeviceRemoved, its
// listeners close, and it creates no further objects. The caller must still close all existing
// objects.
func (d *Device) Remove() { d.stream.Remove() }

// Close implements verbs.Device. It closes connections that are still sending their last message,
// and connection requests that were not answered.
func (d *Device) Close() error { return d.stream.Close() }

// Stats holds the counters of a device since it was opened.
type Stats struct {
	Connections int64 // connections that were set up
	Broken      int64 // connections that were set up, and then failed at either side

	Refused          int64 // connections that a listener refused: the sum of the next four
	RefusedFull      int64 // the device had MaxConnections connections, or was closed or removed
	RefusedSource    int64 // the source had MaxPerSource connections
	RefusedHandshake int64 // the set-up failed, was too slow, or the oldest of too many
	RefusedBacklog   int64 // Backlog requests waited for Accept

	// AcceptErrors is the number of errors that the system returned to a listener instead of a
	// connection, for example because the process is out of file descriptors. The listener tries
	// again after 1 ms to 1 s.
	AcceptErrors int64

	Suppressed int64 // log lines left out because of LogRate

	// Bytes of payload. Direct payload moved between socket and registered memory by one system
	// call. Staged payload was copied once more: the FPDU was short, the stream is not plain
	// TCP, or the bytes were read ahead or copied for an Invalidate.
	SentDirect, SentStaged         int64
	ReceivedDirect, ReceivedStaged int64
}

// Stats returns the counters. They are read one after the other, not at one instant.
func (d *Device) Stats() Stats { return Stats(d.stream.Stats()) }
