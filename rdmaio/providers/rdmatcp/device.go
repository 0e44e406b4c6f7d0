package rdmatcp

import (
	"context"
	"net"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// StageLimit is the most bytes of payload in a segment that is staged:
// copied into one buffer with its neighbours to be sent, and out of a buffer after its
// CRC was checked when received. Larger payload is direct, except for bytes that were
// read ahead.
const StageLimit = 5 << 10

// ALPN is the name of the protocol in the handshake of TLS (RFC 7301). It is not registered with
// IANA. The name "sunrpc" of RFC 9289 belongs to RPC whose records are in TLS without RDMA.
const ALPN = "rdmatcp"

// Device implements verbs.Device over TCP.
type Device struct{ stream *stream.Device }

var _ verbs.Device = (*Device)(nil)

// Open opens a device. A nil cfg means the defaults.
func Open(cfg *Config) (*Device, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	c := cfg.fill()
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
	settings := stream.Config{
		Provider: provider, Attrs: a, Framing: &profile{raw: c.Raw, attrs: a},
		Shape: stream.Shape{
			Prefix: segment.PrefixSize, Header: segment.LongHeader, MaxHead: segment.LongHeader + segment.MaxControl,
			StageSend: StageLimit, StageReceive: StageLimit,
		},
		ALPN: ALPN, TLS: c.TLS, TLSWithoutALPN: c.TLSWithoutALPN,
		HandshakeTimeout: c.HandshakeTimeout, SegmentTimeout: c.SegmentTimeout, MessageTimeout: c.MessageTimeout,
		SendTimeout: c.SendTimeout, PeerTimeout: c.PeerTimeout, ReceiveTimeout: c.ReceiveTimeout,
		MaxConnections: c.MaxConnections, MaxPerSource: c.MaxPerSource, MaxHandshakes: c.MaxHandshakes,
		AcceptRate: c.AcceptRate, Backlog: c.Backlog,
		Logger: c.Logger, LogRate: c.LogRate, Rand: c.Rand,
	}
	if c.Raw != nil {
		settings.NoReports = "needs the connection profile, which Config.Raw disables"
		settings.Attach = c.Raw.attach()
	}
	return settings
}

// provider is the name of the provider in errors.
const provider = "rdmatcp"

// attributes returns the attributes of a device with this configuration.
func (c *Config) attributes() (verbs.DeviceAttributes, error) {
	a := soft.Attributes(c.Name)
	a.MaxMRSize, a.MaxRemoteAddr = 1<<32, 1<<32-1 // offsets have 32 bits
	a.MaxInitiatorDepth, a.MaxResponderResources = 16, 16
	a.MaxPrivateData = maxPrivate
	a.Addresses = verbs.AddressIP
	a.HeapMemory, a.RemoteInvalidate, a.LendReceives, a.ReaderNotifies = true, true, true, true
	a.TLS = c.TLS != nil
	a, err := soft.Lower(provider, a, c.Limits, 1<<15)
	if err != nil {
		return a, err
	}
	if c.Raw != nil {
		a.MaxPrivateData, a.RemoteInvalidate = 0, false
	}
	return a, nil
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.stream.Attributes() }

// Stats returns the counters. They are read one after the other, not at one instant.
func (d *Device) Stats() Stats { return Stats(d.stream.Stats()) }

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

// Dial implements verbs.Dialer. addr is "host:port". The listener may take as long to
// answer as ctx allows: there is no other limit.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.stream.Dial(ctx, addr, qp, params)
}

// DialConn connects a queue pair over an existing stream, as the client, from the next
// byte on (R12). Both sides must have agreed on that position in the stream, after
// whole messages of what it was used for before. If the caller has read ahead, it
// passes a net.Conn that returns those bytes first. A plain *net.TCPConn moves payload
// without a copy; any other, a *tls.Conn for example, stages it, which Stats shows.
// Over a *tls.Conn with TLS 1.3 the queue pair has a channel binding (verbs.ChannelBinder).
// The connection belongs to the device from the call on, even if DialConn fails,
// unless the error is misuse (see verbs.Dialer).
func (d *Device) DialConn(ctx context.Context, conn net.Conn, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.stream.DialConn(ctx, conn, qp, params)
}

// AcceptConn waits for a connection request over an existing stream, as the server,
// from its next byte on: see Device.DialConn.
func (d *Device) AcceptConn(ctx context.Context, conn net.Conn) (verbs.ConnRequest, error) {
	return d.stream.AcceptConn(ctx, conn)
}

// Remove simulates unplugging the device: its connections end with
// verbs.ErrDeviceRemoved, its listeners close, and it creates no further objects.
// The caller must still close all existing objects.
func (d *Device) Remove() { d.stream.Remove() }

// Close implements verbs.Device. It closes connections that are still sending their
// last message, and connection requests that were not answered.
func (d *Device) Close() error { return d.stream.Close() }
