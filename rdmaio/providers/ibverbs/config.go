package ibverbs

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures Open. The zero value opens the only device with default settings.
//
// The partition key and the index of the GID have no field: the connection manager takes them from
// the network interface and the source address of a connection (Source).
type Config struct {
	// Device is the name of the device, as "rdma link" lists it ("mlx5_0"). If empty, the default
	// is the device of Addr, or else the only device.
	Device string

	// Addr is an IP address of the device's network interface. If empty, Device decides.
	Addr string

	// Limits lowers the limits of the device. A zero field keeps its default. A negative one sets a
	// limit to 0, if the limit can be 0.
	Limits *verbs.DeviceAttributes

	// Source is the IP address from which Dial connects. Over RoCE it decides the GID. If empty,
	// the system's routes decide.
	Source string

	// TrafficClass is the traffic class in the packets of connections that Dial makes. It is the
	// whole byte, so a DSCP is multiplied by 4: for example, 104 is DSCP 26. If zero, the default
	// is the system's.
	TrafficClass uint8

	// ACKTimeout is the time after which the device sends again what the peer has not acknowledged,
	// rounded up to 4.096 us times a power of 2. If zero, the default is the system's. It has no
	// effect over iWARP.
	ACKTimeout time.Duration

	// Retries is the number of times, 1 to 7, that the device sends again before it closes the
	// connection. If zero, the default is 7. If negative, the device never sends again. It has no
	// effect over iWARP.
	Retries int

	// CompletionVector is the number of the interrupt that completions use.
	CompletionVector int

	// PeerTimeout is the time after which the connection to a peer that does not respond is closed.
	// If zero, the default is 30 s. If negative, there is no limit while nothing is sent. While
	// nothing arrives, the provider sends an empty Write. Over iWARP in hardware it sends an empty
	// Read, if the connection has any Reads. Over siw it asks the kernel for acknowledgments of
	// TCP, which needs the kernel's module tcp_diag.
	PeerTimeout time.Duration

	// Backlog is the largest number of connection requests that wait for Listener.Accept. If zero,
	// the default is 128. Further requests are rejected.
	Backlog int

	// Logger receives a record for each connection that fails, and one if queue pairs have fewer
	// memory windows than asked for. If nil, nothing is logged.
	Logger *slog.Logger
}

const (
	defaultPeerTimeout = 30 * time.Second
	defaultBacklog     = 128
	maxRetries         = 7
)

// fill returns the configuration with its defaults, and checks it.
func (c Config) fill() (Config, error) {
	switch {
	case c.Retries == 0:
		c.Retries = maxRetries
	case c.Retries < 0:
		c.Retries = 0
	case c.Retries > maxRetries:
		return c, fmt.Errorf("ibverbs: Config.Retries is %d, want at most %d: %w", c.Retries, maxRetries, verbs.ErrInvalidValue)
	}
	switch {
	case c.Backlog == 0:
		c.Backlog = defaultBacklog
	case c.Backlog < 0:
		return c, fmt.Errorf("ibverbs: Config.Backlog is %d, want 0 for the default or a positive number: %w", c.Backlog, verbs.ErrInvalidValue)
	}
	if c.PeerTimeout == 0 {
		c.PeerTimeout = defaultPeerTimeout
	}
	if c.CompletionVector < 0 {
		return c, fmt.Errorf("ibverbs: Config.CompletionVector is %d, want at least 0: %w", c.CompletionVector, verbs.ErrInvalidValue)
	}
	if _, err := ackTimeout(c.ACKTimeout); err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// ackTimeout returns the exponent of the smallest 4.096 us * 2^n that is at least d. It returns 0,
// which stands for the system's default, if d is 0.
func ackTimeout(d time.Duration) (byte, error) {
	const unit, most = 4096 * time.Nanosecond, 31
	if d == 0 {
		return 0, nil
	}
	for n := byte(1); d > 0 && n <= most; n++ {
		if unit<<n >= d {
			return n, nil
		}
	}
	return 0, fmt.Errorf("ibverbs: Config.ACKTimeout is %v, want 0 for the default or up to %v: %w", d, unit<<most, verbs.ErrInvalidValue)
}
