package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// slabBytes returns the bytes that the domains of a device's queue pairs have registered.
func slabBytes(d *Device) (total int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.queues {
		q.pd.mu.Lock()
		for _, s := range q.pd.slabs {
			total += len(s.mem)
		}
		q.pd.mu.Unlock()
	}
	return total
}

// docs/ibverbs.md has the number of connections for a limit of locked memory.
func TestRestingConnectionPinsTwiceItsReceivesAtMost(t *testing.T) {
	for _, credits := range []int{1, 32, 128} {
		f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
		cfg := &rdmaio.Config{Credits: credits}
		server, err := rdmaio.Listen(t.Context(), f.s, "127.0.0.2:0", oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := rdmaio.Dial(t.Context(), f.c, server.Addr(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]*Device{"client": f.c, "server": f.s} {
			receives := credits * d.Attributes().InlineSize
			if got := slabBytes(d); got == 0 || got > 2*receives && got > firstSlab {
				t.Errorf("%d credits: the %s's slabs have %d bytes, its Receives %d", credits, name, got, receives)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}
