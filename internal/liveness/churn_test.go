package liveness_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

const (
	visitCalls = 64               // of a visit
	visitors   = 8                // that stay, at a time
	callTime   = time.Millisecond // of the handler; one without a bound runs at a time
	slice      = 400 * time.Millisecond
	enough     = 2 // rounds
	rounds     = 8 // at most
)

// The procedures.
const (
	procHonest = 1 + iota
	procVisit
)

// office is a handler that takes callTime for each Call, and counts them by their procedures.
type office struct{ honest, visits atomic.Int64 }

func (o *office) ServeRPC(r *oncrpc.Request) {
	if _, _, proc, _ := oncrpc.Procedure(r.Message); proc == procHonest {
		o.honest.Add(1)
	} else {
		o.visits.Add(1)
	}
	time.Sleep(callTime)
	xid := binary.BigEndian.Uint32(r.Message)
	b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil) // cannot fail
	r.Reply(oncrpc.Message{Inline: b}, nil)
}

// callOf returns a Call of a procedure.
func callOf(xid, proc uint32) []byte {
	b, _ := oncrpc.NewCall(xid, 400_021, 1, proc, oncrpc.None()).AppendBinary(nil) // cannot fail
	return b
}

// callOnce makes a Call on a connection.
func callOnce(c carriers.Conn, proc uint32) error {
	_, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(c.XID(), proc)}})
	return err
}

// visitTCP makes visitCalls Calls on a connection, and closes it at once, or with stays after the
// replies.
func visitTCP(s *carriers.Server, stays bool) {
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return
	}
	defer c.Close()
	var all []byte
	for xid := range uint32(visitCalls) {
		b := callOf(xid, procVisit)
		all = append(binary.BigEndian.AppendUint32(all, 1<<31|uint32(len(b))), b...)
	}
	_, _ = c.Write(all)
	if stays {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.CopyN(io.Discard, c, visitCalls*28)
	}
}

// visitRDMA is visitTCP over RDMA. A client has one credit until it has an answer.
func visitRDMA(s *carriers.Server, stays bool) {
	c, err := s.Dial(context.Background(), s.Addr, nil)
	if err != nil {
		return
	}
	_ = callOnce(c, procVisit)
	var all sync.WaitGroup
	for range visitCalls - 1 {
		all.Go(func() { _ = callOnce(c, procVisit) })
	}
	if stays {
		all.Wait()
	} else {
		time.Sleep(callTime) // Calls are sent
	}
	_ = c.Close()
	all.Wait()
}

// An honest client next to clients that make Calls and close their connections at once has at least
// 80 % of the rate that it has next to as many which wait for their replies. Next to the latter it
// has its turn at what limits the rate: here that only one handler without a bound runs at a time.
// So the test's machine, which may be loaded, does not limit it. Rates are compared within a round,
// and two good rounds are enough: usual rates are 2 to 4, and turns are 1.
func TestClientsThatLeaveTakeNoMoreThanOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("compares rates for 7 s")
	}
	limits := carriers.Limits{Memory: 12 << 20}
	for name, c := range map[string]struct {
		carrier carriers.Carrier
		visit   func(s *carriers.Server, stays bool)
	}{
		"tcp":     {carriers.TCP(limits, nil), visitTCP},
		"rdmatcp": {carriers.OverRDMA(limits, []int{1}, carriers.RDMATCP(nil)), visitRDMA},
	} {
		t.Run(name, func(t *testing.T) {
			var o office
			s := c.carrier.Serve(t, carriers.Place{}, c.carrier.New(), &o)
			honest, err := s.Dial(t.Context(), s.Addr, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer honest.Close()
			ctx, over := context.WithCancel(t.Context())
			var client sync.WaitGroup
			for range 4 {
				client.Go(func() {
					for ctx.Err() == nil {
						if err := callOnce(honest, procHonest); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			good := 0
			for i := 0; good < enough && i-good <= rounds-enough; i++ {
				calls, visitCalls, n := visited(&o, 0, func() { c.visit(s, true) })
				with, leaveCalls, _ := visited(&o, n, func() { c.visit(s, false) })
				rate, turns := with/calls, calls*visitors/visitCalls
				t.Logf("%v Calls next to %d visits that stay (%v Calls), and %v next to as many that leave (%v Calls): rate %.2f, turns %.2f",
					calls, n, visitCalls, with, leaveCalls, rate, turns)
				if rate >= 0.8 && turns > 0.5 && turns < 2 {
					good++
				}
			}
			over()
			client.Wait()
			if good < enough {
				t.Errorf("in %d rounds of %d the honest client had 0.8 of its rate, and a half to twice the turns of another, want %d", good, rounds, enough)
			}
		})
	}
}

// visited returns how many Calls of the honest client and of visitors ran in a slice, and the
// number of visits. With n it has as many visits, which begin one after the other. Otherwise there
// are as many as the server lets end, visitors at a time.
func visited(o *office, n int, visit func()) (honest, visits float64, began int) {
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, visitors)
	h, v, end := o.honest.Load(), o.visits.Load(), time.Now().Add(slice)
	for ; time.Now().Before(end) && (n == 0 || began < n); began++ {
		if n > 0 {
			all.Go(visit)
			time.Sleep(slice / time.Duration(n))
			continue
		}
		places <- struct{}{}
		all.Go(func() { visit(); <-places })
	}
	time.Sleep(time.Until(end))
	return float64(o.honest.Load() - h), float64(o.visits.Load() - v), began
}
