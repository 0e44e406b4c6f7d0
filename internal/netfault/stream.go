package netfault

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections or datagrams to a server, with faults, until the end of the test.
type Proxy struct {
	Addr string // where clients connect

	fired atomic.Int64
	wg    sync.WaitGroup
	ctx   context.Context // ends with the test
}

// Fired returns the number of faults so far. Check it: a fault that never happened proves nothing.
func (p *Proxy) Fired() int { return int(p.fired.Load()) }

// newProxy returns a Proxy. stop is called at the end of the test.
func newProxy(t testing.TB, addr string, stop func() error) *Proxy {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{Addr: addr, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		if err := stop(); err != nil {
			t.Error(err)
		}
		p.wg.Wait()
	})
	return p
}

// pause waits, at most until the end of the test.
func (p *Proxy) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

// mostLate is the longest time by which one end of a connection learns later than the other that it
// was cut, and the longest delay of a datagram.
const mostLate = 300 * time.Millisecond

// Stream forwards connections to a server at a TCP address on the loopback interface. A connection
// is cut after about as many bytes as life.
func Stream(t testing.TB, server string, seed uint64, life int) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, l.Addr().String(), l.Close)
	p.wg.Go(func() {
		for n := uint64(0); ; n++ {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", server)
			if err != nil { // the server is closed
				_ = client.Close()
				continue
			}
			rng := rand.New(rand.NewPCG(seed, n))
			b := &bridge{proxy: p, client: client, server: server, cut: rng.IntN(3), late: time.Duration(rng.Int64N(int64(mostLate)))}
			b.left.Store(rng.Int64N(2 * int64(life)))
			p.wg.Go(func() { b.copy(server, client) })
			p.wg.Go(func() { b.copy(client, server) })
			p.wg.Go(func() {
				<-p.ctx.Done()
				b.close()
			})
		}
	})
	return p
}

// bridge is a connection through a Proxy.
type bridge struct {
	proxy          *Proxy
	client, server net.Conn
	left           atomic.Int64  // bytes until the cut, in both directions
	cut            int           // the end that is cut first: 0 both, 1 the client, 2 the server
	late           time.Duration // how much later the other one does
	once           sync.Once
}

// copy forwards the bytes of one direction until the cut.
func (b *bridge) copy(to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		left := b.left.Add(-int64(n))
		if left < 0 {
			n = max(n+int(left), 0) // the first bytes still arrive
		}
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			if err != nil && !errors.Is(err, io.EOF) || failed != nil || left >= 0 {
				b.close() // one end has closed it
			}
			return
		}
		if left < 0 {
			b.sever()
			return
		}
	}
}

// sever cuts the connection, at one end first or at both.
func (b *bridge) sever() {
	b.once.Do(func() {
		b.proxy.fired.Add(1)
		first, then := b.client, b.server
		if b.cut == 2 {
			first, then = then, first
		}
		_ = first.Close()
		if b.cut > 0 {
			b.proxy.pause(b.late)
		}
		_ = then.Close()
	})
}

// close closes both ends.
func (b *bridge) close() {
	b.once.Do(func() { _, _ = b.client.Close(), b.server.Close() })
}
