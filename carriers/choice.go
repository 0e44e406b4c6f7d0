package carriers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Preference says which of RDMA and TCP is used.
type Preference int

const (
	// RDMAThenTCP uses RDMA, and TCP where there is no device, or while RDMA does not connect.
	RDMAThenTCP Preference = iota

	// TCPThenRDMA uses TCP, and RDMA while TCP does not connect.
	TCPThenRDMA

	// RDMAOnly and TCPOnly use one of them, or fail.
	RDMAOnly
	TCPOnly
)

// ErrNoDevice reports that no RDMA device can be used. The text of an error that wraps it has the
// reason.
var ErrNoDevice = errors.New("carriers: no RDMA device")

// ErrMixedTLS reports that the RDMA device has TLS, and TCP does not require it: whoever can
// disturb the one could make both ends use the other, in plaintext.
var ErrMixedTLS = errors.New("carriers: the RDMA device has TLS, and TCP does not require it")

// Choice says how Dial, Listen and Either choose between RDMA and TCP. A nil *Choice has the
// default in every field.
type Choice struct {
	// Prefer says which one is used.
	Prefer Preference

	// Open opens the RDMA device that has an IP address of this machine: the one from which the
	// server is reached, or at which to listen. local is the zero Addr to listen at all addresses.
	// The device belongs to this package. If nil, the default is OpenDevice.
	Open func(ctx context.Context, local netip.Addr) (verbs.Device, error)

	// RDMAAddr and TCPAddr are the addresses, if they are not the same. Some devices have their
	// ports in common with TCP (iWARP of Linux, and the providers rdmatcp and iwarp): then the
	// ports must differ. If empty, the default is the address that is passed to Dial or Listen.
	RDMAAddr, TCPAddr string

	// RDMA and TCP configure the clients, with the defaults of RDMAAddresses and TCPAddresses.
	// Listen uses their field Conn alone. If TCP has TLSRequired, RDMA must have TLS, too, which
	// hardware does not: without PlainRDMA it is then not used.
	RDMA *rdmaio.ClientConfig
	TCP  *tcp.ClientConfig

	// PlainRDMA permits RDMA without TLS although TCP requires TLS, where the RDMA network is
	// trusted.
	PlainRDMA bool

	// Client configures the Client of Dial. Its Order is InOrder.
	Client ClientConfig

	opens bool // Open is the caller's, so the device may have TLS
}

// settled returns the choice with its defaults for an address.
func (c *Choice) settled(addr string) (Choice, error) {
	var s Choice
	if c != nil {
		s = *c
	}
	if s.opens = s.Open != nil; !s.opens {
		s.Open = OpenDevice
	}
	if s.RDMAAddr == "" {
		s.RDMAAddr = addr
	}
	if s.TCPAddr == "" {
		s.TCPAddr = addr
	}
	s.Client.Order = InOrder
	if s.Prefer < RDMAThenTCP || s.Prefer > TCPOnly {
		return s, fmt.Errorf("carriers: Choice.Prefer is %d, must be RDMAThenTCP, TCPThenRDMA, RDMAOnly or TCPOnly", int(s.Prefer))
	}
	for _, a := range []string{s.RDMAAddr, s.TCPAddr} {
		if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
			return s, fmt.Errorf("carriers: found address %.80q, expected host:port", a)
		}
	}
	return s, nil
}

// conns returns the Configs of connections.
func (c *Choice) conns() (rdma *rdmaio.Config, stream *tcp.Config) {
	if c.RDMA != nil {
		rdma = c.RDMA.Conn
	}
	if c.TCP != nil {
		stream = c.TCP.Conn
	}
	return rdma, stream
}

// mayMix reports whether a device that was not opened could have TLS while TCP may not.
func (c *Choice) mayMix() bool {
	_, conn := c.conns()
	return c.opens && c.Prefer != RDMAOnly && (conn == nil || conn.TLS.Mode != tcp.TLSRequired)
}

// open opens the device of a local address, unless TLS forbids its use.
func (c *Choice) open(ctx context.Context, local netip.Addr) (verbs.Device, error) {
	dev, err := c.Open(ctx, local)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoDevice, err)
	case dev == nil:
		return nil, fmt.Errorf("%w: Choice.Open returned none", ErrNoDevice)
	}
	if err := c.checkTLS(dev.Attributes()); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return dev, nil
}

// checkTLS refuses a device with which one of RDMA and TCP has TLS, and the other may not.
func (c *Choice) checkTLS(dev verbs.DeviceAttributes) error {
	_, conn := c.conns()
	required := conn != nil && conn.TLS.Mode == tcp.TLSRequired
	switch {
	case c.Prefer == RDMAOnly || dev.TLS == required:
		return nil
	case dev.TLS:
		return fmt.Errorf("%w: set Mode TLSRequired in Choice.TCP, or Choice.Prefer to RDMAOnly", ErrMixedTLS)
	case c.PlainRDMA:
		return nil
	}
	return fmt.Errorf("%w: device %s has no TLS, and TCP requires it: set Choice.PlainRDMA if the RDMA network is trusted", ErrNoDevice, dev.Name)
}

// Dial connects to a server at "host:port": over RDMA if a device reaches it and the server answers
// there, and otherwise over TCP. The Client connects again when it has to, and returns to the
// preferred one when that works again. Its Stats, String and Events tell which one is used, and
// why. ctx bounds the call of Dial: the first choice may take Client.Patience, but at most a third
// of ctx's time, and Choice.Open as much as it wants. The TCP name is resolved once: a Call that
// may have run stays at its server. choice may be nil. The caller must Close the Client. If neither
// connects, the error has a *DownError with both reasons.
func Dial(ctx context.Context, addr string, choice *Choice) (*Client, error) {
	set, err := choice.settled(addr)
	if err != nil {
		return nil, err
	}
	list, err := set.addresses(ctx)
	if err != nil {
		return nil, err
	}
	c, err := NewClient(list, &set.Client)
	if err != nil {
		for _, a := range list {
			err = errors.Join(err, a.Carrier.Close())
		}
		return nil, err
	}
	if err := c.Connect(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// addresses returns the addresses of Dial, the preferred one first.
func (c *Choice) addresses(ctx context.Context) (list []Address, err error) {
	if c.Prefer != TCPOnly {
		over := &overRDMA{choice: *c}
		_, err := over.open(ctx)
		if errors.Is(err, ErrMixedTLS) || errors.Is(err, errUnreached) && c.mayMix() {
			return nil, err
		}
		list = append(list, Address{"rdma " + c.RDMAAddr, over})
	}
	if c.Prefer == RDMAOnly {
		return list, nil
	}
	streams, err := TCPAddresses(ctx, []string{c.TCPAddr}, c.TCP)
	if err != nil {
		for _, a := range list {
			err = errors.Join(err, a.Carrier.Close())
		}
		return nil, err
	}
	if c.Prefer == TCPThenRDMA {
		return append(streams, list...), nil
	}
	return append(list, streams...), nil
}

// Listen starts servers of a handler at "host:port": over RDMA if there is a device, and over TCP.
// Servers.Skipped has the reason if RDMA is left out. choice may be nil; RDMAThenTCP and
// TCPThenRDMA are the same here. The rules of Start apply.
func Listen(ctx context.Context, addr string, h oncrpc.Handler, choice *Choice) (*Servers, error) {
	return Start(ctx, h, Either(addr, choice)...)
}

// Either returns the Listeners of Listen, for Start and Serve. Errors of the choice are returned
// when they start.
func Either(addr string, choice *Choice) []Listener {
	set, err := choice.settled(addr)
	if err != nil {
		return []Listener{{Carrier: "either", Addr: addr, Start: func(context.Context, oncrpc.Handler) (Server, error) { return nil, err }}}
	}
	_, conn := set.conns()
	var list []Listener
	if set.Prefer != TCPOnly {
		list = append(list, Listener{Carrier: "rdma", Addr: set.RDMAAddr, Start: set.listen, Optional: set.Prefer != RDMAOnly})
	}
	if set.Prefer != RDMAOnly {
		list = append(list, TCP(set.TCPAddr, conn))
	}
	return list
}
