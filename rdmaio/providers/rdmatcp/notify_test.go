package rdmatcp_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// taker polls all completions at each notification, and reports their number. If again is set, it
// posts as many Receives.
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

// The reader notifies once for all the input at hand, up to a limit. It does not hold back
// notifications while it waits.
func TestNotifiesTogether(t *testing.T) {
	const most = 64
	for _, tc := range []struct {
		name           string
		sends, posted  int
		atMost, atOnce int // notifications, and completions found by one of them
	}{
		{"some", 40, 40, 8, 40},
		{"more than are held back", 200, 200, 40, 2 * most}, // by the first and a second one
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

// The same holds for responses to Reads while there is input at hand. If the stream stops within a
// response, those before it are notified.
func TestNotifiesBeforeItWaits(t *testing.T) {
	const size = 10 * rdmatcp.StageLimit // six messages exceed the limit
	for _, tc := range []struct {
		name  string
		reads int
		held  int // bytes of the last response that come later
		first int // completions until then
	}{
		{"no header", 2, size + 28, 1},
		{"part of a header", 2, size + 18, 1},
		{"header", 2, size + 4, 1},
		{"part of the payload", 2, size / 2, 1},
		{"no CRC", 2, 4, 1},
		{"more than is held back", 16, size / 2, 15},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := func() (calls int) {
				l := &taker{found: make(chan int, 256)}
				l.side = newSideNotifying(t, device(t, nil), l.notify)
				p, _ := attackSide(t, l.side, false)
				if err := l.cq.Arm(false); err != nil {
					t.Fatal(err)
				}
				wr := verbs.SendWR{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: l.sge(size), RKey: 1}
				var all []byte
				for range tc.reads {
					l.send(t, []verbs.SendWR{wr})
					ask, _, _ := p.get()
					all = append(all, p.part(header(segment.ReadResponse, b_|e_, ask.Number), nil, make([]byte, size))...)
				}
				take := func(n int) {
					t.Helper()
					for limit := time.After(patience); n > 0; calls++ {
						select {
						case found := <-l.found:
							n -= found
						case <-limit:
							t.Fatalf("%d completions did not come; %v", n, l.qp.Err())
						}
					}
					if n < 0 {
						t.Fatalf("%d completions too many", -n)
					}
				}
				cut := len(all) - tc.held
				p.write(all[:cut])
				take(tc.first)
				p.write(all[cut:])
				take(1)
				return calls
			}
			// The reader takes Reads together if their responses are there when it looks. A
			// busy machine may deliver them one by one, so the best of five runs is judged.
			calls := run()
			for try := 1; try < 5 && calls > 10; try++ {
				calls = min(calls, run())
			}
			if calls > 10 && !raceDetector && !addressSanitizer {
				t.Errorf("%d notifications for %d Reads", calls, tc.reads)
			}
		})
	}
}
