package version2

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A peer that sends Calls and grants no credit for their answers loses the connection after
// Config.WorkTimeout, as one that accepts no message does (T128). Otherwise it could keep the
// replies of its Calls in memory without end (R310, R323). Another client is served.
func TestPeerWithoutCreditForRepliesIsLost(t *testing.T) {
	for _, size := range []int{24, 12000} { // one Send, and a continued message
		for _, granted := range []int{0, 1} {
			v2test.Each(t, fmt.Sprintf("%d bytes, %d credits", size, granted), func(t *testing.T, w *rdmaiotest.World) {
				released := make(chan error, 8)
				a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
					if len(r.Message) == 40 {
						return false
					}
					r.Reply(rdmaio.Message{Inline: rpctest.ReplyBytes(9, size)}, func(err error) { released <- err })
					return true
				}}
				s := w.Serve(a, v2test.Config(rdmaio.Config{Credits: 8, WorkTimeout: 50 * time.Millisecond}))
				honest := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
				p := v2test.RawClient(t, w, peer2.Config{Ceiling: 2})
				p.SendWith(peer2.Props(1), 1, 1) // for the answer
				if m := p.Next(); m.Type != peer2.ConnProp {
					t.Fatalf("got %v", m)
				}
				for range 4 {
					p.SendWith(peer2.Call(9, rpctest.CallBytes(9, 44)), 1, 0)
				}
				if granted > 0 {
					p.Force(peer2.Grant(), 1, 1)
				}
				for range 4 {
					select {
					case err := <-released:
						if err != nil && !errors.Is(err, rdmaio.ErrTimeout) {
							t.Errorf("a reply ended with %v", err)
						}
					case <-time.After(peertest.Patience):
						t.Fatal("a reply waits without end for a credit")
					}
				}
				p.Ends()
				v2test.Works(t, honest, 7)
				rdmaiotest.AwaitMemory(t, s)
			})
		}
	}
}

// A peer that grants no credit for the rest of a continued Call loses the connection, whether or
// not the Call was cancelled: it would keep all others waiting (T92, T128).
func TestPeerWithoutCreditForPartsIsLost(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		v2test.Each(t, fmt.Sprint("cancelled ", cancelled), func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Continue: 1 << 20, WorkTimeout: 50 * time.Millisecond}))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := v2test.StartWith(ctx, conn, rpctest.BigCall(9, 12000))
			if m := p.Next(); m.Flags&peer2.More == 0 {
				t.Fatalf("got %v, want the first part", m)
			}
			if cancelled {
				cancel()
			}
			select {
			case r := <-done:
				if !cancelled && !errors.Is(r.Err, rdmaio.ErrTimeout) {
					t.Errorf("the Call ended with %v", r.Err)
				}
			case <-time.After(peertest.Patience):
				t.Fatal("the Call waits without end for a credit")
			}
			p.Ends()
			<-conn.Done()
			if err := conn.Err(); !errors.Is(err, rdmaio.ErrTimeout) {
				t.Errorf("the connection ended with %v", err)
			}
		})
	}
}

// Credits that come one at a time, each before Config.WorkTimeout has passed, are progress: the
// connection stays up for longer than that.
func TestSlowCreditsAreProgress(t *testing.T) {
	rdmaiotest.Steady(t, func(t *testing.T, w *rdmaiotest.World) {
		const limit = time.Second
		p := v2test.Server(t, w, &rpctest.App{Size: 30000}, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{WorkTimeout: limit}))
		p.SendWith(peer2.Call(9, rpctest.CallBytes(9, 40)), 1, 1)
		for parts := 1; ; parts++ {
			m := p.Next()
			if m.Flags&peer2.More == 0 {
				if parts < 8 {
					t.Errorf("%d parts", parts)
				}
				break
			}
			time.Sleep(limit * 9 / 10)
			p.SendWith(peer2.Grant(), 1, 1)
		}
		time.Sleep(10 * limit) // an idle connection lives
		v2test.Works(t, p, 10)
	})
}
