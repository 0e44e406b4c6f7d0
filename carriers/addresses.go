package carriers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// dialTimeout is the default DialTimeout of the clients that this package makes. It is less than
// theirs, because a Call waits for it before it goes to another address.
const dialTimeout = 3 * time.Second

// TCPAddresses returns an Address for each IP address that the servers have: hosts are addresses of
// the form "host:port", and a name may have several. The names are resolved once. Each Address has
// a tcp.Client with cfg, which may be nil, and these defaults: DialTimeout is 3 s, and DialFailures
// and MinBackoff are -1, since the Client of this package has the pauses. With TLS, the host is the
// name in the server's certificate (tls.Config.ServerName) unless cfg has one. ctx bounds the
// resolution of names. The caller passes the addresses to NewClient, or closes their Carriers.
func TCPAddresses(ctx context.Context, hosts []string, cfg *tcp.ClientConfig) ([]Address, error) {
	return addresses(ctx, "tcp", hosts, func(host, addr string) (Carrier, error) {
		set := clientOf(cfg)
		if set.Conn != nil && set.Conn.TLS.Mode != tcp.TLSOff {
			set.Conn = withName(set.Conn, host)
		}
		return carrier(tcp.NewClient(addr, set))
	})
}

// RDMAAddresses returns an Address for each IP address that the servers have, as TCPAddresses does,
// with an rdmaio.Client on a device. The device must be open until the Client is closed. If the
// device has TLS, its tls.Config must have the ServerName of a host that is given by name.
func RDMAAddresses(ctx context.Context, dev verbs.Device, hosts []string, cfg *rdmaio.ClientConfig) ([]Address, error) {
	return addresses(ctx, "rdma", hosts, func(_, addr string) (Carrier, error) {
		return carrier(rdmaio.NewClient(dev, addr, rdmaClientOf(cfg)))
	})
}

// carrier returns a client, or a nil interface with the error.
func carrier[C Carrier](c C, err error) (Carrier, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// addresses makes a client for each IP address of the hosts. An address that two hosts share gets
// one client.
func addresses(ctx context.Context, name string, hosts []string, client func(host, addr string) (Carrier, error)) (list []Address, err error) {
	defer func() {
		if err != nil {
			for _, a := range list {
				err = errors.Join(err, a.Carrier.Close())
			}
			list = nil
		}
	}()
	seen := map[string]bool{}
	for _, h := range hosts {
		host, all, err := resolve(ctx, h)
		if err != nil {
			return list, err
		}
		for _, addr := range all {
			if seen[addr] {
				continue
			}
			seen[addr] = true
			c, err := client(host, addr)
			if err != nil {
				return list, err
			}
			list = append(list, Address{Name: name + " " + addr, Carrier: c})
		}
	}
	return list, nil
}

// resolve returns the host of "host:port", and the address with each of its IP addresses.
func resolve(ctx context.Context, addr string) (host string, all []string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" {
		return "", nil, fmt.Errorf("carriers: found address %.80q, expected host:port", addr)
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", nil, fmt.Errorf("carriers: address %.80q: %w", addr, err)
	}
	for _, ip := range ips {
		all = append(all, net.JoinHostPort(ip.Unmap().String(), port))
	}
	return host, all, nil
}

// clientOf returns the configuration of a tcp.Client of one address.
func clientOf(cfg *tcp.ClientConfig) *tcp.ClientConfig {
	var c tcp.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	onlyOnce(&c.DialTimeout, &c.MinBackoff, &c.DialFailures)
	return &c
}

// rdmaClientOf returns the configuration of an rdmaio.Client of one address.
func rdmaClientOf(cfg *rdmaio.ClientConfig) *rdmaio.ClientConfig {
	var c rdmaio.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	onlyOnce(&c.DialTimeout, &c.MinBackoff, &c.DialFailures)
	return &c
}

// onlyOnce sets the defaults with which a Call fails if the first try to connect does.
func onlyOnce(dial, backoff *time.Duration, failures *int) {
	if *dial == 0 {
		*dial = dialTimeout
	}
	if *backoff == 0 {
		*backoff = -1
	}
	if *failures == 0 {
		*failures = -1
	}
}

// withName returns a configuration whose server must have a certificate for a host.
func withName(cfg *tcp.Config, host string) *tcp.Config {
	c := *cfg
	secure := c.TLS.Config.Clone() // nil if that is
	if secure == nil {
		secure = new(tls.Config)
	}
	if secure.ServerName == "" {
		secure.ServerName = host
	}
	c.TLS.Config = secure
	return &c
}
