package nfsd_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/fsx"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Records that are lost, cut, repeated, late or split change nothing for the client: each call
// happens once. The clock of the test advances by itself.
func TestFsxFaults(t *testing.T) {
	seeds := 4
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			e := newExport(t, nfsd.Config{Async: true})
			network, err := mem.NewNetwork(e.server.Handler(), &mem.NetworkConfig{Fault: mem.Random(seed, 0.1)})
			check(t, err)
			defer network.Close()
			conn, err := network.NewClient(&tcp.ClientConfig{Retransmits: 100})
			check(t, err)
			defer conn.Close()
			cfg := fsx.Config{Seed: seed, Steps: 400}
			if testing.Short() {
				cfg.Steps = 100
			}
			fsxOver(t, e, conn, cfg)
			for kind := mem.None + 1; kind < mem.Kinds; kind++ {
				if network.Fired(kind) == 0 {
					t.Errorf("seed %d: no record has the fault %v", seed, kind)
				}
			}
			if conn.Stats().Retransmissions == 0 {
				t.Error("no call was sent again")
			}
		})
	}
}

// cutter is a proxy that cuts each connection after a random number of bytes, counted in both
// directions.
type cutter struct {
	ln     net.Listener
	server string
	wg     sync.WaitGroup

	mu   sync.Mutex
	rnd  *rand.Rand
	most int // bytes
	cuts int
}

func newCutter(t *testing.T, server string, seed uint64, most int) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	c := &cutter{ln: ln, server: server, rnd: rand.New(rand.NewPCG(seed, 0)), most: most}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) accept() {
	for {
		client, err := c.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		left := c.most/8 + c.rnd.IntN(c.most)
		c.mu.Unlock()
		l := &limited{left: left, cut: func() {
			c.mu.Lock()
			c.cuts++
			c.mu.Unlock()
		}}
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			c.wg.Go(func() {
				l.copy(way[1], way[0])
				_ = client.Close()
				_ = server.Close()
			})
		}
	}
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// limited is the number of bytes that a connection may still carry.
type limited struct {
	mu   sync.Mutex
	left int
	cut  func()
}

// take returns how many of n bytes pass.
func (l *limited) take(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := min(n, l.left)
	if l.left -= passed; passed < n && l.cut != nil {
		l.cut()
		l.cut = nil
	}
	return passed
}

func (l *limited) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		passed := l.take(n)
		if _, failed := to.Write(buf[:passed]); failed != nil || err != nil || passed < n {
			return
		}
	}
}

// A connection that is cut anywhere, over TCP and over each provider with a network, is made again,
// and each call happens once.
func TestFsxCut(t *testing.T) {
	const most = 2 << 20 // bytes
	for i, name := range []string{"tcp", "rdmatcp", "iwarp"} {
		t.Run(name, func(t *testing.T) {
			e := newExport(t, nfsd.Config{Async: true})
			var conn oncrpc.Carrier
			var again func() uint64 // calls sent again
			var cut *cutter
			if name == "tcp" {
				server, err := tcp.Listen(t.Context(), "127.0.0.1:0", e.server.Handler(), nil)
				check(t, err)
				defer server.Close()
				cut = newCutter(t, server.Addr(), uint64(i), most)
				client, err := tcp.NewClient(cut.ln.Addr().String(), &tcp.ClientConfig{Retransmits: 100, MinBackoff: time.Millisecond})
				check(t, err)
				defer client.Close()
				conn, again = client, func() uint64 { return client.Stats().Retransmissions }
			} else {
				var dev verbs.Device
				var err error
				if name == "iwarp" {
					dev, err = iwarp.Open(nil)
				} else {
					dev, err = rdmatcp.Open(nil)
				}
				check(t, err)
				defer dev.Close()
				server, err := rdmaio.Listen(t.Context(), dev, "127.0.0.1:0", e.server.Handler(), &rdmaio.Config{Versions: []int{1, 2}})
				check(t, err)
				defer server.Close()
				cut = newCutter(t, server.Addr(), uint64(i), most)
				client, err := rdmaio.NewClient(dev, cut.ln.Addr().String(), &rdmaio.ClientConfig{
					Conn: &rdmaio.Config{Versions: []int{1 + i%2}}, Retransmits: 100, MinBackoff: time.Millisecond,
				})
				check(t, err)
				defer client.Close()
				conn, again = client, func() uint64 { return client.Stats().Retransmissions }
			}
			fsxOver(t, e, conn, steps(uint64(i), 600))
			if !testing.Short() && (cut.count() < 5 || again() == 0) {
				t.Errorf("%d connections cut, %d calls sent again", cut.count(), again())
			}
			t.Logf("%d connections cut, %d calls sent again", cut.count(), again())
		})
	}
}
