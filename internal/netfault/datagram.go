package netfault

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Datagrams forwards datagrams to a server at a UDP address on the loopback interface, and back. Of
// all datagrams, the part rate is lost, delayed, or delivered twice, one copy late.
func Datagrams(t testing.TB, server string, seed uint64, rate float64) *Proxy {
	t.Helper()
	to, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, front.LocalAddr().String(), front.Close)
	d := &datagrams{Proxy: p, rate: rate, rng: rand.New(rand.NewPCG(seed, 1))}
	p.wg.Go(func() {
		backs := make(map[string]*net.UDPConn) // by client: the server sees a port for each
		defer func() {
			for _, back := range backs {
				_ = back.Close()
			}
		}()
		d.read(front, func(b []byte, client *net.UDPAddr) {
			back := backs[client.String()]
			if back == nil {
				var err error
				if back, err = net.DialUDP("udp", nil, to); err != nil {
					return
				}
				backs[client.String()] = back
				p.wg.Go(func() {
					d.read(back, func(b []byte, _ *net.UDPAddr) {
						d.deliver(func() { _, _ = front.WriteToUDP(b, client) })
					})
				})
			}
			d.deliver(func() { _, _ = back.Write(b) })
		})
	})
	return p
}

// datagrams decides what happens to datagrams.
type datagrams struct {
	*Proxy
	rate float64

	mu  sync.Mutex
	rng *rand.Rand
}

// read calls each for every datagram that arrives, until the socket is closed. Errors of a socket
// that is open say that the other end has closed its own.
func (d *datagrams) read(from *net.UDPConn, each func(b []byte, client *net.UDPAddr)) {
	buf := make([]byte, 64<<10)
	for {
		n, client, err := from.ReadFromUDP(buf)
		switch {
		case d.ctx.Err() != nil:
			return
		case err == nil:
			each(bytes.Clone(buf[:n]), client)
		default:
			d.pause(time.Millisecond)
		}
	}
}

// deliver delivers a datagram, with a fault or without.
func (d *datagrams) deliver(send func()) {
	d.mu.Lock()
	fault := d.rng.Float64() < d.rate
	kind, late := d.rng.IntN(3), time.Duration(d.rng.Int64N(int64(mostLate)))
	d.mu.Unlock()
	if !fault {
		send()
		return
	}
	if d.fired.Add(1); kind == 0 {
		return // it is lost
	}
	if kind == 1 {
		send()
	}
	d.wg.Go(func() {
		d.pause(late)
		if d.ctx.Err() == nil {
			send()
		}
	})
}
