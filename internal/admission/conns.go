package admission

import (
	"net/netip"
	"sync"
)

// Source is where a connection comes from: an IPv4 address, or an IPv6 network of 64 bits, because
// a host can choose any address in that. The zero Source stands for every peer without an IP
// address, such as a pipe.
type Source struct {
	Prefix netip.Prefix
	Local  bool // this machine
}

// String returns the address or network.
func (s Source) String() string { return s.Prefix.String() }

// SourceOf returns the Source of a connection from the addresses of its ends, of the form
// "host:port". A peer at the same address as this end is on this machine, and so is one without an
// IP address.
func SourceOf(local, remote string) Source {
	there, err := netip.ParseAddrPort(remote)
	if err != nil {
		return Source{Local: true}
	}
	s := SourceAt(there.Addr())
	if here, err := netip.ParseAddrPort(local); err == nil && plain(here.Addr()) == plain(there.Addr()) {
		s.Local = true
	}
	return s
}

// SourceAt returns the Source with an IP address.
func SourceAt(ip netip.Addr) Source {
	ip = plain(ip)
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // fits both
	return Source{prefix, ip.IsLoopback()}
}

// plain returns an address without its zone, and one of IPv4 in that form.
func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// DefaultPerSource is the number of connections that a Source other than this machine may have if
// Conns.PerSource is zero.
const DefaultPerSource = 64

// Conns counts the connections of a server.
type Conns struct {
	Most int // in all; 0: no limit

	// PerSource is the limit for each Source. If zero, it is DefaultPerSource, and this machine has
	// no limit. If negative, there is no limit.
	PerSource int
	// Neither is changed after the first use.

	mu   sync.Mutex
	all  int
	from map[netip.Prefix]int
}

// Verdict is the answer to a connection.
type Verdict uint8

// The verdicts.
const (
	Admitted   Verdict = iota
	Full               // there are Most
	SourceFull         // there are as many from the source as it may have
)

// Enter counts a connection if it may be served. Leave must be called at its end. Otherwise it
// returns the limit that was reached, and the number of connections that count for that.
func (c *Conns) Enter(s Source) (v Verdict, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.PerSource
	if most == 0 && !s.Local {
		most = DefaultPerSource
	}
	if n := c.from[s.Prefix]; most > 0 && n >= most {
		return SourceFull, n
	}
	if c.Most > 0 && c.all >= c.Most {
		return Full, c.all
	}
	if c.from == nil {
		c.from = make(map[netip.Prefix]int)
	}
	c.all++
	c.from[s.Prefix]++
	return Admitted, c.all
}

// Leave uncounts a connection that Enter admitted.
func (c *Conns) Leave(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[s.Prefix]--; c.from[s.Prefix] == 0 {
		delete(c.from, s.Prefix)
	}
}

// Len counts the connections and their sources.
func (c *Conns) Len() (conns, sources int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, len(c.from)
}
