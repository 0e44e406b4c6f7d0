package histories

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// closer is a Handler that closes the connections of its server now and then, before or while a
// Call is executed.
type closer struct {
	next   oncrpc.Handler
	server atomic.Pointer[rdmaio.Server]
	closed atomic.Int64
	wg     sync.WaitGroup

	mu  sync.Mutex
	rng *rand.Rand
}

func newCloser(next oncrpc.Handler, seed uint64) *closer {
	return &closer{next: next, rng: rand.New(rand.NewPCG(seed, 1))}
}

// fired returns the number of connections that were closed.
func (c *closer) fired() int { return int(c.closed.Load()) }

// Close waits until all of them are.
func (c *closer) Close() error {
	c.wg.Wait()
	return nil
}

// ServeRPC implements oncrpc.Handler.
func (c *closer) ServeRPC(r *oncrpc.Request) {
	c.mu.Lock()
	closes := c.rng.IntN(30) == 0
	c.mu.Unlock()
	if closes {
		for _, conn := range c.server.Load().Conns() {
			c.closed.Add(1)
			c.wg.Go(func() { _ = conn.Close() }) // waits for the handlers
		}
	}
	c.next.ServeRPC(r)
}
