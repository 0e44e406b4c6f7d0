package rdmaio_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// chain makes Calls, each where the one before it is over.
type chain struct {
	t    testing.TB
	c    oncrpc.Submitter
	call *rdmaio.Call
	left *int
	over chan<- struct{}
	done func(*rdmaio.Reply, error)
}

func newChain(t testing.TB, c oncrpc.Submitter, left *int, over chan<- struct{}) *chain {
	l := &chain{t: t, c: c, call: rpctest.SmallCall(), left: left, over: over}
	l.done = func(_ *rdmaio.Reply, err error) {
		if err != nil {
			t.Error(err)
		}
		l.next()
	}
	return l
}

// next begins the next Call.
func (l *chain) next() {
	if *l.left--; *l.left < 0 {
		l.over <- struct{}{}
		return
	}
	binary.BigEndian.PutUint32(l.call.Inline, l.c.XID())
	if err := l.c.Submit(l.t.Context(), l.call, l.done); err != nil {
		l.t.Error(err)
	}
}

// chains makes n Calls, depth at a time. The first one begins the others, because done functions
// run one at a time.
func chains(t testing.TB, c oncrpc.Submitter, depth int) (run func(n int)) {
	left, over := 0, make(chan struct{}, depth)
	var all []*chain
	for range depth {
		all = append(all, newChain(t, c, &left, over))
	}
	first := rpctest.SmallCall()
	begin := func(*rdmaio.Reply, error) {
		for _, l := range all {
			l.next()
		}
	}
	return func(n int) {
		left = n - 1
		binary.BigEndian.PutUint32(first.Inline, c.XID())
		if err := c.Submit(t.Context(), first, begin); err != nil {
			t.Fatal(err)
		}
		for range depth {
			<-over
		}
	}
}

// inPlace answers each Call in the memory of its message.
var inPlace = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
	reply := r.Message[:24]
	clear(reply[4:])
	reply[7] = 1 // a reply; the other words of an accepted one without results are 0
	r.Reply(rdmaio.Message{Inline: reply}, nil)
})

// A Call that is submitted allocates nothing at this end, whether it has a credit or waits for one.
// Both ends together allocate the server's Request, as for a Call that blocks.
func TestSubmitAllocatesNothing(t *testing.T) {
	for _, depth := range []int{1, 32, 100} {
		conn := rdmaiotest.Plain(t, inPlace, &rdmaio.Config{NonBlocking: true})
		run := chains(t, conn, depth)
		run(1000)
		const calls = 500
		if n := testing.AllocsPerRun(5, func() { run(calls) }) / calls; n > 1.8 {
			t.Errorf("%d at a time: %v allocations a Call, one is the server's", depth, n)
		}
	}
}

// BenchmarkCallForms compares the forms of a Call over mem, many at a time: one that blocks, one
// that is submitted.
func BenchmarkCallForms(b *testing.B) {
	for _, depth := range []int{1, 32, 256} {
		cfg := &rdmaio.Config{NonBlocking: true, Credits: max(32, depth)}
		b.Run(fmt.Sprintf("blocking/%d", depth), func(b *testing.B) {
			c := rdmaiotest.Plain(b, inPlace, cfg)
			n, over := b.N/depth+1, make(chan struct{}, depth)
			b.ReportAllocs()
			b.ResetTimer()
			for range depth {
				go func() {
					call := rpctest.SmallCall()
					for range n {
						rpctest.Again(b, c, call, c.XID())
					}
					over <- struct{}{}
				}()
			}
			for range depth {
				<-over
			}
		})
		b.Run(fmt.Sprintf("goroutine/%d", depth), func(b *testing.B) {
			c := goroutines{rdmaiotest.Plain(b, inPlace, cfg)}
			benchmarkSubmit(b, c, depth)
		})
		b.Run(fmt.Sprintf("submitted/%d", depth), func(b *testing.B) {
			benchmarkSubmit(b, rdmaiotest.Plain(b, inPlace, cfg), depth)
		})
	}
}

func benchmarkSubmit(b *testing.B, c oncrpc.Submitter, depth int) {
	run := chains(b, c, depth)
	b.ReportAllocs()
	b.ResetTimer()
	run(b.N)
}

// goroutines makes Calls as a Carrier does that is not a Submitter: each Call has a goroutine.
type goroutines struct{ *rdmaio.Conn }

func (c goroutines) Submit(ctx context.Context, call *rdmaio.Call, done func(*rdmaio.Reply, error)) error {
	return oncrpc.Submit(ctx, struct{ oncrpc.Carrier }{c.Conn}, call, done)
}
