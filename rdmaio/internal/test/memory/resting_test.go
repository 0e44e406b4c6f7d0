package memory

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// memoryInUse returns the bytes in use of the heap and the stacks.
func memoryInUse() int {
	var m runtime.MemStats
	for range 3 { // the memory of a sync.Pool is freed by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// A connection at rest takes little memory, both ends together: before and after a load that uses
// all credits, with small and large messages.
func TestRestingConnectionTakesLittleMemory(t *testing.T) {
	if xdrtest.Race || testing.Short() {
		t.Skip("the race detector has memory of its own; the test takes seconds")
	}
	const n, most, mostAfter = 100, 56 << 10, 192 << 10
	for name, open := range map[string]func() (verbs.Device, error){
		"rdmatcp": func() (verbs.Device, error) { return rdmatcp.Open(nil) },
		"iwarp":   func() (verbs.Device, error) { return iwarp.Open(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			dev, err := open()
			if err != nil {
				t.Fatal(err)
			}
			s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", &rpctest.File{T: t, Data: rdmaiotest.Pattern(60000, 5)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var conns []*rdmaio.Conn
			closeAll := func() {
				for _, c := range conns {
					err = errors.Join(err, c.Close())
				}
				conns = nil
			}
			defer func() {
				closeAll()
				if err = errors.Join(err, s.Close(), dev.Close()); err != nil {
					t.Error(err)
				}
			}()
			add := func() {
				c, err := rdmaio.Dial(context.Background(), dev, s.Addr(), nil)
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
				rpctest.Again(t, c, rpctest.SmallCall(), 1)
			}
			for range n { // the runtime keeps memory of goroutines that have exited
				add()
			}
			closeAll()
			add() // what connections share
			before := memoryInUse()
			for range n {
				add()
			}
			check := func(when string, most int) {
				t.Helper()
				got := (memoryInUse() - before) / n
				t.Logf("%s: %d bytes a connection", when, got)
				if got > most {
					t.Errorf("%s: %d bytes a connection, want at most %d", when, got, most)
				}
			}
			check("at rest", most)
			var results [64][50_000]byte
			for _, c := range conns {
				var wg sync.WaitGroup
				errs := make([]error, len(results))
				for i := range errs {
					wg.Go(func() {
						call := rpctest.NullCall(c.XID(), 4000)
						if i%2 == 0 {
							call = rpctest.ReadCall(c.XID(), 0, results[i][:])
						}
						_, errs[i] = c.Call(context.Background(), call)
					})
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
			}
			for wait := 0; wait < 20 && (memoryInUse()-before)/n > mostAfter; wait++ {
				time.Sleep(500 * time.Millisecond)
			}
			check("after a load", mostAfter)
			runtime.KeepAlive(&results)
		})
	}
}
