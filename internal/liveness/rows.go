package liveness

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/netfault"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
)

// vanishes has a peer that is gone, while nothing happens, a Call is in flight, or a reply is not
// acknowledged. Both ends notice within PeerTimeout and a second.
func (c *Column) vanishes(t *testing.T) {
	carriertest.Vanish{Within: soon + time.Second, Around: c.Around}.Run(t, func(t *testing.T, h oncrpc.Handler) carriertest.Cuttable {
		carrier, place, cut := carriers.Carrier{}, carriers.Place{}, (func())(nil)
		if c.Apart == nil {
			carrier = c.Carrier(carriers.Limits{Peer: soon})
		} else {
			carrier, place, cut = c.Apart(t, carriers.Limits{Peer: soon})
		}
		s := carrier.Serve(t, place, carrier.New(), h)
		conn, err := s.Dial(patience(t), s.Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := conn.Err(); (c.Stream || c.Apart == nil) && (err == nil || !strings.Contains(err.Error(), "Config.PeerTimeout")) {
				t.Errorf("the client's reason, %v, does not name Config.PeerTimeout", err)
			}
			leak.Close(t, conn)
		})
		if cut == nil {
			cut = s.Vanish
		}
		return carriertest.Cuttable{Client: conn, Cut: cut}
	})
}

// halfOpen has many peers that connect and send nothing, a byte, or half of a first message. They
// are closed by the limit for that.
func (c *Column) halfOpen(t *testing.T) {
	each := 300
	if testing.Short() {
		each = 30
	}
	b := c.serve(t, carriers.Limits{Setup: soon})
	end := b.honest()
	first := b.firstBytes()
	var all []net.Conn
	start := time.Now()
	for _, begin := range [][]byte{nil, first[:1], first[:len(first)/2], first[:len(first)-1]} {
		for range each {
			conn := b.connect()
			_, _ = conn.Write(begin)
			all = append(all, conn)
		}
	}
	if err := call(patience(t), b.dial(b.server.Addr), procCount, 20_000); err != nil {
		t.Errorf("a new client with %d half-open connections: %v", len(all), err)
	}
	for i, conn := range all {
		b.isClosed(i, conn)
	}
	t.Logf("%d half-open connections were closed after %v", len(all), time.Since(start).Round(time.Millisecond))
	end()
	b.settles(2)
}

// firstBytes returns what an honest client sends first.
func (b *bench) firstBytes() []byte {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	defer ln.Close()
	ctx, stop := context.WithCancel(patience(b.t))
	var client sync.WaitGroup
	client.Go(func() {
		c, err := b.server.Dial(ctx, ln.Addr().String(), nil)
		if err == nil {
			_ = call(ctx, c, procCount, 0)
			_ = c.Close()
		}
	})
	defer client.Wait()
	defer stop()
	conn, err := ln.Accept()
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 64<<10)
	n, err := conn.Read(buf)
	if err != nil || n < 8 {
		b.t.Fatalf("an honest client sends %d bytes first, %v", n, err)
	}
	return buf[:n]
}

// connect connects to the server by TCP.
func (b *bench) connect() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// isClosed waits until the server has closed a connection.
func (b *bench) isClosed(i int, conn net.Conn) {
	b.t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(leak.Patience()))
	buf := make([]byte, 4096)
	for {
		_, err := conn.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			b.t.Fatalf("connection %d is open after %v", i, leak.Patience())
		}
		if err != nil {
			return
		}
	}
}

// silent has peers that connect and do nothing. Each costs as much as Cost says.
func (c *Column) silent(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 200
	}
	b := c.serve(t, carriers.Limits{})
	connect, end := b.server.Silent, Cost{}
	if c.Stream {
		var all sockets
		t.Cleanup(all.close)
		end = all.cost(t, n)
		connect = func(testing.TB) { all.connect(t, b.server.Addr) }
	}
	if err := call(patience(t), b.dial(b.server.Addr), procCount, 0); err != nil {
		t.Fatal(err)
	}
	var at [2]Cost
	for i := range at { // the first ones grow tables and caches
		for range n {
			connect(t)
		}
		b.waits("goroutines come to rest", func() bool {
			before := runtime.NumGoroutine()
			time.Sleep(50 * time.Millisecond)
			return runtime.NumGoroutine() == before
		})
		at[i] = cost()
	}
	each := Cost{(at[1].Bytes-at[0].Bytes)/float64(n) - end.Bytes, (at[1].Goroutines - at[0].Goroutines) / float64(n)}
	t.Logf("a silent connection costs %.0f bytes and %.2f goroutines, at most %.0f and %.2f", each.Bytes, each.Goroutines, c.Cost.Bytes, c.Cost.Goroutines)
	if each.Goroutines > c.Cost.Goroutines {
		t.Errorf("%.2f goroutines for each of %d silent connections, at most %.2f", each.Goroutines, n, c.Cost.Goroutines)
	}
	if each.Bytes > c.Cost.Bytes && !xdrtest.Race {
		t.Errorf("%.0f bytes for each of %d silent connections, at most %.0f", each.Bytes, n, c.Cost.Bytes)
	}
}

// sockets are the client's ends of silent connections over TCP.
type sockets []net.Conn

func (s *sockets) connect(t *testing.T, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	*s = append(*s, conn)
}

func (s *sockets) close() {
	for _, conn := range *s {
		_ = conn.Close()
	}
}

// cost returns what each of n sockets costs by itself.
func (s *sockets) cost(t *testing.T, n int) Cost {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	before := cost()
	for range n {
		s.connect(t, ln.Addr().String())
	}
	return Cost{Bytes: (cost().Bytes - before.Bytes) / float64(n)}
}

// cost returns the memory that is in use, and the number of goroutines.
func cost() Cost {
	for range 3 { // pools keep their memory for two
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Cost{float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())}
}

// greedy has peers that make as many Calls as they may, and are not answered for a long time: they
// take all credits, places and memory. Other clients are served, also new ones.
func (c *Column) greedy(t *testing.T) {
	const clients, calls = 6, 100
	const most = 12 << 20
	b := c.serve(t, carriers.Limits{Memory: most})
	end := b.honest()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	if c.Datagrams {
		conn := b.another()
		for range clients * calls {
			_, _ = conn.Write(b.datagram(procHold))
		}
	}
	for range clients {
		if c.Datagrams {
			break
		}
		conn := b.dial(b.server.Addr)
		if err := call(ctx, conn, procCount, 0); err != nil { // version 1 grants credits in replies
			t.Fatal(err)
		}
		for range calls {
			all.Go(func() { _ = call(ctx, conn, procHold, 20_000) })
		}
	}
	last, same := 0, time.Now()
	b.waits("the server takes no more", func() bool {
		if n := b.holding(); n != last {
			last, same = n, time.Now()
		}
		return last > 0 && time.Since(same) > 100*time.Millisecond
	})
	st := b.server.State()
	t.Logf("%d Calls of %d are held, in %d bytes", last, clients*calls, st.Memory)
	if st.Memory > most {
		t.Errorf("Requests take %d bytes, at most %d", st.Memory, most)
	}
	if err := call(patience(t), b.dial(b.server.Addr), procCount, 20_000); err != nil {
		t.Errorf("a new client with greedy ones: %v", err)
	}
	end()
	b.release()
	stop()
	all.Wait()
	b.waits("memory is given back", func() bool { return b.server.State().Memory == 0 })
}

// another returns a socket of another host than the honest client's, as far as a server over UDP
// can tell.
func (b *bench) another() net.Conn {
	to, err := net.ResolveUDPAddr("udp", b.server.Addr)
	if err != nil {
		b.t.Fatal(err)
	}
	conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}, to)
	if err != nil {
		b.t.Skipf("needs a second address of this machine: %v", err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// neverReads has a peer that asks for long replies and reads none of them. It is closed by
// SendTimeout, or by the limit for posted work.
func (c *Column) neverReads(t *testing.T) {
	b := c.serve(t, carriers.Limits{Send: soon})
	end := b.honest()
	if !c.Stream && !c.Deaf {
		p := b.server.Raw(t, 4)
		start := time.Now()
		for xid := uint32(0); xid < 8 && !lost(p); xid++ {
			p.Send(peertest.NullCall(xid, 8, false))
		}
		b.loses("a peer without Receives", p, start)
		end()
		b.settles(1)
		return
	}
	addr, hold := b.server.Addr, func() {}
	if c.Stream {
		gate := netfault.Gated(t, b.server.Addr)
		addr, hold = gate.Addr, func() { gate.Hold(netfault.ToClient, 0) }
	}
	conn := b.dial(addr)
	peer := b.mark(conn)
	hold()
	start := time.Now()
	stop := many(conn, procLarge)
	b.ends("a peer that never reads", peer, start)
	end()
	stop()
	b.settles(1)
}

// many makes 24 Calls at a time. The function waits for their end.
func many(conn carriers.Conn, proc uint32) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 24 {
		all.Go(func() { _ = call(ctx, conn, proc, 0) })
	}
	return func() { cancel(); _ = conn.Close(); all.Wait() }
}

// readsSlowly has a peer that reads slowly, at a quarter of a MiB in a second and a half. It is
// served like others.
func (c *Column) readsSlowly(t *testing.T) {
	b := c.serve(t, carriers.Limits{Send: 5 * soon})
	end := b.honest()
	gate := netfault.Gated(t, b.server.Addr)
	conn := b.dial(gate.Addr)
	peer := b.mark(conn)
	gate.Pace(netfault.ToClient, 4<<10, 4*time.Millisecond)
	start := time.Now()
	if err := call(patience(t), conn, procLarge, 0); err != nil {
		t.Errorf("a reply that is read slowly: %v; the server's end: %v", err, peer.Err())
	}
	t.Logf("a reply of %d bytes was read in %v", largeReply, time.Since(start).Round(time.Millisecond))
	end()
	_ = conn.Close()
	b.settles(1)
}

// stopsWithin has a peer that stops in the middle of a message. It is closed by the limit for that.
func (c *Column) stopsWithin(t *testing.T) {
	b := c.serve(t, carriers.Limits{Part: soon, Send: soon})
	end := b.honest()
	gate := netfault.Gated(t, b.server.Addr)
	conn := b.dial(gate.Addr)
	peer := b.mark(conn)
	gate.Hold(netfault.ToServer, 30)
	start := time.Now()
	stop := many(conn, procCount)
	b.ends("a peer that stops within a message", peer, start)
	end()
	stop()
	b.settles(1)
}

// garbage has peers that send random bytes, as the first ones or after others. Each loses its
// connection, if it has one.
func (c *Column) garbage(t *testing.T) {
	b := c.serve(t, carriers.Limits{Setup: soon, Part: soon, Send: soon})
	end := b.honest()
	noise := make([]byte, 64<<10)
	_, _ = rand.Read(noise)
	if c.Datagrams {
		conn, err := net.Dial("udp", b.server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for i := range 500 {
			_, _ = conn.Write(noise[i : i+10*i])
		}
		end()
		b.settles(0)
		return
	}
	if !c.Stream {
		p := b.server.Raw(t, 1)
		start := time.Now()
		for i := 0; i < 32 && !lost(p); i++ {
			p.Send(noise[i*1000:][:10*i])
		}
		b.loses("a peer that sends garbage", p, start)
		end()
		b.settles(1)
		return
	}
	for i := range 20 {
		conn := b.connect()
		_, _ = conn.Write(noise[i : i+100*i])
		b.isClosed(i, conn)
	}
	gate := netfault.Gated(t, b.server.Addr)
	conn := b.dial(gate.Addr)
	peer := b.mark(conn)
	start := time.Now()
	gate.Inject(netfault.ToServer, noise)
	b.ends("a peer that sends garbage", peer, start)
	end()
	_ = conn.Close()
	b.settles(1)
}
