package ibverbs

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The device knows local regions by their slab only. So if posted requests name a region,
// Deregister makes its connection fail: those requests fail, and the others are flushed.
func TestDeregisteredRegionOfPostedRequestsEndsTheConnection(t *testing.T) {
	for _, queue := range []string{"send", "receive"} {
		t.Run(queue, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, noQuirks, Config{})
			f.c.waits.flush = time.Millisecond
			c, _ := connectedSides(t, f)
			regions := []*region{c.region(8, verbs.AccessLocalWrite), c.region(8, verbs.AccessLocalWrite), c.region(8, verbs.AccessLocalWrite)}
			if queue == "send" {
				f.client.Device("fake0").Stall(true)
			}
			for i, r := range regions[:2] {
				if queue == "send" {
					c.send(verbs.SendWR{WRID: uint64(i), Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: r, Length: 8}}})
				} else {
					c.recv(uint64(i), r)
				}
			}
			c.must(regions[2].Deregister())
			if c.qp.State() != verbs.StateConnected {
				t.Fatalf("Deregister of a region that no request names: %v", c.qp.Err())
			}
			c.must(regions[1].Deregister())
			if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusLocalProtection}) {
				t.Errorf("the end is %v", err)
			}
			for i, wc := range c.wait(2) {
				want := []verbs.Status{verbs.StatusFlushed, verbs.StatusLocalProtection}[i]
				if wc.WRID != uint64(i) || wc.Status != want {
					t.Errorf("completion %d: %+v, want %v", i, wc, want)
				}
			}
		})
	}
}

// A region can be deregistered without harm when its requests are complete, or were refused.
func TestCompletedRequestsDoNotNameTheirRegions(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	from, to := c.region(8, verbs.AccessLocalWrite), s.region(8, verbs.AccessLocalWrite)
	s.recv(1, to)
	good := verbs.SendWR{WRID: 1, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: from, Length: 8}}}
	bad := verbs.SendWR{WRID: 2, Opcode: verbs.Send, SGL: []verbs.SGE{{MR: from, Length: 8}, {MR: from, Length: 9}}}
	if n, err := c.qp.PostSend([]verbs.SendWR{good, bad}); n != 1 || !errors.Is(err, verbs.ErrInvalidWR) {
		t.Fatalf("PostSend = %d, %v", n, err)
	}
	c.wait(1)
	s.wait(1)
	for i, r := range []*region{from, to} {
		if n := r.posted.Load(); n != 0 {
			t.Errorf("region %d counts %d elements of posted requests", i, n)
		}
	}
}
