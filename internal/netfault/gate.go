package netfault

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is a direction of a connection through a Gate.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Gate is a Proxy of connections over TCP that can hold them, slow them down, and put its own
// bytes into them. So an honest end becomes a peer that reads nothing, reads slowly, stops within a
// message or sends garbage, whatever the protocol is. Its systems answer all probes: see package
// isolated for a peer that is gone. The methods are safe for concurrent use.
type Gate struct {
	*Proxy

	mu    sync.Mutex
	flows [2]flow
	calm  chan struct{} // closed and replaced when a flow changes
	ends  [2][]net.Conn // where the bytes of a direction go
}

// flow has the rules for the bytes of a direction.
type flow struct {
	held  bool
	left  int // bytes that pass before they are held
	most  int // bytes that pass at a time, or 0
	pause time.Duration
}

// gateBuffer is the size of the buffers between a Gate and an end, in bytes: small, so that little
// is on its way.
const gateBuffer = 64 << 10

// Gated forwards connections to a server at a TCP address on the loopback interface.
func Gated(t testing.TB, server string) *Gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Proxy: newProxy(t, l.Addr().String(), l.Close), calm: make(chan struct{})}
	g.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", server)
			if err != nil { // the server is closed
				_ = client.Close()
				continue
			}
			for _, end := range []net.Conn{client, server} {
				_ = end.(*net.TCPConn).SetReadBuffer(gateBuffer)
			}
			both := func() { _, _ = client.Close(), server.Close() }
			g.mu.Lock()
			g.ends[ToServer], g.ends[ToClient] = append(g.ends[ToServer], server), append(g.ends[ToClient], client)
			g.mu.Unlock()
			g.wg.Go(func() { defer both(); g.forward(ToServer, server, client) })
			g.wg.Go(func() { defer both(); g.forward(ToClient, client, server) })
			g.wg.Go(func() { <-g.ctx.Done(); both() })
		}
	})
	return g
}

// Hold lets n more bytes of a direction pass, and holds the others: the Gate does not read them.
func (g *Gate) Hold(d Direction, n int) {
	g.fired.Add(1)
	g.change(d, flow{held: true, left: n})
}

// Pace lets at most n bytes of a direction pass at a time, with a pause after each.
func (g *Gate) Pace(d Direction, n int, pause time.Duration) {
	g.fired.Add(1)
	g.change(d, flow{most: n, pause: pause})
}

// Inject writes bytes into a direction of each connection, among the others.
func (g *Gate) Inject(d Direction, b []byte) {
	g.fired.Add(1)
	g.mu.Lock()
	ends := g.ends[d]
	g.mu.Unlock()
	for _, end := range ends {
		_, _ = end.Write(b)
	}
}

func (g *Gate) change(d Direction, f flow) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flows[d] = f
	close(g.calm)
	g.calm = make(chan struct{})
}

// take waits until bytes of a direction may pass, and returns how many of the given number may, and
// the pause after them. It returns 0 at the end of the test.
func (g *Gate) take(d Direction, most int) (int, time.Duration) {
	for {
		g.mu.Lock()
		n, f, calm := most, &g.flows[d], g.calm
		if f.most > 0 {
			n = min(n, f.most)
		}
		if f.held {
			n = min(n, f.left)
			f.left -= n
		}
		pause := f.pause
		g.mu.Unlock()
		if n > 0 {
			return n, pause
		}
		select {
		case <-calm:
		case <-g.ctx.Done():
			return 0, 0
		}
	}
}

// forward forwards the bytes of a direction until an end closes.
func (g *Gate) forward(d Direction, to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			n, pause := g.take(d, len(b))
			if n == 0 {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
			b = b[n:]
			if pause > 0 {
				g.pause(pause)
			}
		}
		if err != nil {
			return
		}
	}
}
