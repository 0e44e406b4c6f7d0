package stream

import (
	"container/list"
	"net"
)

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
