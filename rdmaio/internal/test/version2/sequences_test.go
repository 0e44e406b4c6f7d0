package version2

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// T127, R162: many connections begin a continued Call each, and stop. Together they take no more
// than Config.MaxMemory. Config.WorkTimeout closes the oldest ones first, and frees their memory. A
// client that keeps the rules is served all the time: at once with Calls of one Send, and with
// longer ones when there is memory.
func TestOpenSequencesEndAtWorkTimeout(t *testing.T) {
	peers := 1000
	if testing.Short() {
		peers = 150
	}
	const most, work = 512 << 10, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.NewWith(t, rdmaiotest.Options{Versions: []int{2}})
		server := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxMemory: 3 * most, WorkTimeout: work})
		honest := w.Dial(nil)
		xid := uint32(0)
		call := func(n int) error {
			xid++
			_, err := honest.Call(context.Background(), rpctest.NullCall(xid, n))
			return err
		}
		var open []*peer2.Peer
		step := 2 * work / 3 / time.Duration(peers)
		for range peers {
			p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
			for _, part := range peer2.Call(9, rpctest.CallBytes(9, 12000)).Split(3900, 7800)[:2] {
				p.Send(part)
			}
			open = append(open, p)
			time.Sleep(step)
			if n := server.Stats().Memory; n > most {
				t.Fatalf("%d bytes are taken, Config.MaxMemory allows them %d", n, most)
			}
		}
		synctest.Wait()
		// A connection of this machine leaves x + sqrt(2 x most) of others, if it takes x = 8 KiB.
		if n := server.Stats().Memory; n < most-108<<10 {
			t.Errorf("%d bytes are taken: the test proves nothing about %d", n, most)
		}
		if err := call(1000); err != nil {
			t.Error(err)
		}
		var pe *rdmaio.PeerError
		if err := call(12000); !errors.As(err, &pe) || pe.Code != rdmaio.PeerErrSystem {
			t.Errorf("a long Call without memory: %v", err)
		}
		time.Sleep(work - step*time.Duration(peers)/2) // half of them have had their time
		for i, p := range open {
			lost := false
			select {
			case <-p.Lost:
				lost = true
			default:
			}
			if early := i < peers/2-2; lost != early && (i < peers/2-2 || i > peers/2+2) {
				t.Fatalf("connection %d of %d: lost is %v", i, peers, lost)
			}
		}
		time.Sleep(work)
		for _, p := range open {
			p.Ends()
		}
		rdmaiotest.AwaitMemory(t, server)
		for _, n := range []int{1000, 12000, 200_000} {
			if err := call(n); err != nil {
				t.Errorf("a Call of %d bytes: %v", n, err)
			}
		}
	})
}
