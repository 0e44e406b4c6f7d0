package rdmatcp_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// taker takes all completions at each notification, and tells how many it found.
// It posts as many Receives again, if it is to.
type taker struct {
	*side
	again bool
	found chan int
	wcs   [256]verbs.WC
}

func (l *taker) notify() {
	n, _ := l.cq.Poll(l.wcs[:])
	l.cq.Arm(false)
	late, _ := l.cq.Poll(l.wcs[n:])
	if l.again {
		l.receive(n + late)
	}
	l.found <- n + late
}

func (l *taker) receive(n int) {
	for range n {
		l.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: l.mr, Length: 128}}}})
	}
}

// What the reader has before it when it reads it notifies of at once, up to a
// limit; but it does not hold back what others wait for while it waits itself.
func TestNotifiesTogether(t *testing.T) {
	const most = 64
	for _, tc := range []struct {
		name           string
		sends, posted  int
		atMost, atOnce int // notifications, and what one of them finds
	}{
		{"some", 40, 40, 8, 40},
		{"more than are held back", 200, 200, 40, 2 * most}, // by the first; and a second that waits
		{"each for the Receive of the one before", 20, 1, 20, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &taker{found: make(chan int, 256), again: tc.posted < tc.sends}
			l.side = newSideNotifying(t, device(t, &rdmatcp.Config{ReceiveTimeout: patience}), l.notify)
			l.receive(tc.posted)
			if err := l.cq.Arm(false); err != nil {
				t.Fatal(err)
			}
			p, _ := attackSide(t, l.side, false)
			var all []byte
			for range tc.sends {
				all = append(all, p.whole(segment.Header{}, nil, []byte("one of them"))...)
			}
			p.write(all)
			limit, calls := time.After(patience), 0
			for left := tc.sends; left > 0; {
				select {
				case n := <-l.found:
					if left -= n; n > tc.atOnce {
						t.Errorf("a notification for %d, want at most %d", n, tc.atOnce)
					}
					calls++
				case <-limit:
					t.Fatalf("%d of %d did not come; %v", left, tc.sends, l.qp.Err())
				}
			}
			if calls > tc.atMost {
				t.Errorf("%d notifications for %d messages of one write, want at most %d", calls, tc.sends, tc.atMost)
			}
		})
	}
}
