package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// Long replies into memory on demand, with Calls cancelled and connections lost at any time.
func TestRandomLongRepliesArrive(t *testing.T) {
	for n := range rdmaiotest.Rounds() {
		seed := uint64(time.Now().UnixNano()) + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			o := rdmaiotest.Options{Bare: rnd.IntN(2) == 0}
			switch rnd.IntN(3) {
			case 0:
				o.TCP = &rdmatcp.Config{}
			case 1:
				o.IWARP = &iwarp.Config{MULPDU: 2200, PeerToPeer: true, FirstDelay: -1}
			}
			o.Versions = [][]int{{1}, {2}}[rnd.IntN(2)]
			w := rdmaiotest.NewWith(t, o)
			server := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				xid := binary.BigEndian.Uint32(r.Message)
				e := rpctest.ReplyHeader(xid)
				if k := rand.IntN(3); k > 0 {
					e.Buf = append(e.Buf, rdmaiotest.Pattern(4*rand.IntN([]int{0, 2000, 50_000}[k]), uint64(xid))...)
				}
				if rand.IntN(4) > 0 {
					r.Reply(e.Message(), nil)
					return
				}
				go func() { time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond); r.Reply(e.Message(), nil) }()
			}), &rdmaio.Config{Credits: 8, RemoteInvalidate: rnd.IntN(2)*2 - 1})
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
				Connections: 1 + rnd.IntN(3), MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond, Retransmits: 1000,
				StuckTimeout: 100 * time.Millisecond,
				DialFailures: 1000, // a loaded machine loses many dials in a row
				Conn:         &rdmaio.Config{Credits: 8, RemoteInvalidate: rnd.IntN(2)*2 - 1},
			})
			var wg sync.WaitGroup
			var answered atomic.Int64
			stop := func() {}
			if rnd.IntN(2) == 0 {
				stop = rdmaiotest.LoseConns(server, 15*time.Millisecond, &answered)
			}
			for range 10 {
				wg.Go(func() {
					for range 40 {
						ctx, cancel := context.WithCancel(context.Background())
						cancels := rand.IntN(3) == 0
						if cancels {
							cancel()
							ctx, cancel = context.WithTimeout(context.Background(), time.Duration(rand.IntN(4000))*time.Microsecond)
						}
						call := rpctest.NullCall(c.XID(), 40)
						xid := call.XID()
						call.MaxReply = 256 << 10
						reply, err := c.Call(ctx, call)
						cancel()
						if err != nil {
							if !cancels {
								t.Errorf("seed %d: %v", seed, err)
							}
							continue
						}
						answered.Add(1)
						if got := reply.Message[24:]; !bytes.Equal(got, rdmaiotest.Pattern(len(got), uint64(xid))) {
							t.Errorf("seed %d: reply of %d bytes is damaged", seed, len(got))
						}
					}
				})
			}
			wg.Wait()
			stop()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
