package monitor_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A Call that a client makes is in progress until it returns, and is counted by its outcome,
// submitted or not.
func TestOutcomesOfCalls(t *testing.T) {
	for _, submitted := range []bool{false, true} {
		for name, reply := range map[string]*oncrpc.Reply{
			"SUCCESS":      {Message: replyOf(7, oncrpc.Success).Inline, Items: []xdr.Item{{Data: make([]byte, 100)}}},
			"PROG_UNAVAIL": {Message: replyOf(7, oncrpc.ProgUnavail).Inline},
			"no reply":     nil,
		} {
			m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}, Keep: -1})
			lost := errors.New("lost")
			during := make(chan monitor.Snapshot, 1)
			c := m.Carrier(peer{addr: "192.0.2.1:9", call: func(*oncrpc.Call) (*oncrpc.Reply, error) {
				during <- m.Look(monitor.Query{})
				if reply == nil {
					return nil, lost
				}
				return reply, nil
			}})
			call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}}
			got, err := (*oncrpc.Reply)(nil), error(nil)
			if submitted {
				over := make(chan struct{})
				if err := c.Submit(t.Context(), call, func(r *oncrpc.Reply, e error) {
					got, err = r, e
					close(over)
				}); err != nil {
					t.Fatal(err)
				}
				<-over
			} else {
				got, err = c.Call(t.Context(), call)
			}
			if got != reply || (err == lost) != (reply == nil) {
				t.Errorf("%s: the caller gets %v, %v", name, got, err)
			}
			if s := <-during; s.Total != 1 || !s.InProgress[0].Made || s.InProgress[0].Name != "STORE2 GET" || s.InProgress[0].XID != 7 || s.InProgress[0].Peer != "192.0.2.1:9" {
				t.Errorf("%s: in progress %+v", name, s.InProgress)
			}
			p := only(t, m)
			received := uint64(0)
			if reply != nil {
				received = 24
			}
			if name == "SUCCESS" {
				received += 100
			}
			if !maps.Equal(p.Outcomes, map[string]uint64{name: 1}) || !p.Made || p.Sent != 40 || p.Received != received {
				t.Errorf("%s, submitted %t: %+v", name, submitted, p)
			}
			if s := m.Look(monitor.Query{}); s.Total != 0 {
				t.Errorf("%s: %d calls are in progress", name, s.Total)
			}
		}
	}
}

// A Call that cannot begin is over at once.
func TestCallsThatCannotBegin(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	c := m.Carrier(peer{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(*oncrpc.Reply, error) { t.Error("the done function runs") }
	for _, call := range []*oncrpc.Call{nil, {}, {Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}}} {
		if err := c.Submit(ctx, call, never); err == nil {
			t.Error("no error")
		}
		if err := c.Submit(ctx, call, nil); err == nil {
			t.Error("no error without a done function")
		}
	}
	if s := m.Look(monitor.Query{}); s.Total != 0 {
		t.Errorf("in progress %+v", s.InProgress)
	}
}

// Buckets have the limits that they say, and quantiles are within a quarter.
func TestTimesAreInTheirBuckets(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	durations := []time.Duration{0, 900, 1023, 1024, 1279, 1280, 2047, 2048, 1 << 20, time.Second, 3 << 29, 4 * time.Minute, time.Hour}
	for _, d := range durations {
		monitor.AddTime(m, d)
	}
	p := only(t, m)
	buckets, seen := p.Times.Buckets(), 0
	for i, n := range buckets {
		for range n {
			least, limit := time.Duration(0), monitor.UpTo(i)
			if i > 0 {
				least = monitor.UpTo(i - 1)
			}
			if d := durations[seen]; d < least || limit != 0 && d >= limit || limit > least*5/4 && least >= 1024 {
				t.Errorf("%v is in bucket %d, from %v to %v", d, i, least, limit)
			}
			seen++
		}
	}
	if seen != len(durations) || p.Times.Max != time.Hour || p.Times.Count != uint64(len(durations)) {
		t.Errorf("%d in buckets, %+v", seen, p.Times)
	}
	for i, d := range durations {
		q := p.Times.Quantile((float64(i) + 0.6) / float64(len(durations)))
		if d >= 1024 && d < 4*time.Minute && (q < d || q > d*5/4) || d < 1024 && q > 1024 {
			t.Errorf("quantile of %v is %v", d, q)
		}
	}
	if got := p.Times.Quantile(1); got != time.Hour {
		t.Errorf("longest %v", got)
	}
	if got := new(monitor.Times).Quantile(0.5); got != 0 {
		t.Errorf("of none %v", got)
	}
}

// A server that makes up statuses does not fill the memory, and its client still sees the peer.
func TestOutcomesAreFew(t *testing.T) {
	m, n := monitor.New(&monitor.Config{Keep: -1}), uint32(1000)
	refuse := func(words ...uint32) func(*oncrpc.Call) (*oncrpc.Reply, error) {
		return func(*oncrpc.Call) (*oncrpc.Reply, error) {
			var b []byte
			for _, w := range append(words, n) {
				b = binary.BigEndian.AppendUint32(b, w)
			}
			n++
			return &oncrpc.Reply{Message: b}, nil
		}
	}
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(1, 400, 2, 1)}}
	// The number is an auth_stat, a reject_stat or an accept_stat.
	for _, kind := range [][]uint32{{1, 1, 1, 1}, {1, 1, 1}, {1, 1, 0, 0, 0}} {
		c := m.Carrier(peer{call: refuse(kind...)})
		for range 100 {
			if _, err := c.Call(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p := only(t, m); !maps.Equal(p.Outcomes, map[string]uint64{"unknown auth_stat": 100, "malformed": 200}) {
		t.Errorf("outcomes %v", p.Outcomes)
	}
	if at, ok := m.Carrier(peer{}).(interface{ Peer() oncrpc.Peer }); !ok || at.Peer().Addr != "alice" {
		t.Error("the peer of a connection is not seen")
	}
}
