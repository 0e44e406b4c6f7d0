package stream

import (
	"container/list"
	"net"
	"net/netip"
)

// source returns the address that MaxPerSource counts a connection for: an IPv4
// address, or the 64-bit network of an IPv6 address, because a host can choose any address in it.
// It returns the zero value for a connection that is not counted: one that is not TCP, or comes
// from this machine unless limitLocal is set.
func source(local, remote net.Addr, limitLocal bool) netip.Addr {
	there, ok := remote.(*net.TCPAddr)
	here, ok2 := local.(*net.TCPAddr)
	if !ok || !ok2 {
		return netip.Addr{}
	}
	ip := there.AddrPort().Addr().Unmap()
	if !limitLocal && (ip.IsLoopback() || here.IP.Equal(there.IP)) {
		return netip.Addr{}
	}
	if ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}

// handshakes holds the connections of a listener that are in the handshake, the oldest
// first.
type handshakes struct {
	order list.List // of net.Conn
	at    map[net.Conn]*list.Element
}

func (g *handshakes) add(c net.Conn) {
	if g.at == nil {
		g.at = make(map[net.Conn]*list.Element)
	}
	g.at[c] = g.order.PushBack(c)
}

func (g *handshakes) remove(c net.Conn) {
	if e := g.at[c]; e != nil {
		g.order.Remove(e)
		delete(g.at, c)
	}
}

// closeOldest closes the oldest connection, whose goroutine then removes it from the device. It
// returns false if no handshake is in progress.
func (g *handshakes) closeOldest() bool {
	e := g.order.Front()
	if e == nil {
		return false
	}
	c := e.Value.(net.Conn)
	g.remove(c)
	c.Close()
	return true
}
