package driver

import (
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fakeQueue is a completion queue with n completions, which records the calls.
type fakeQueue struct {
	verbs.CompletionQueue
	name  string
	n     int
	calls *[]string
}

func (q *fakeQueue) Arm(bool) error {
	*q.calls = append(*q.calls, "arm "+q.name)
	return nil
}

func (q *fakeQueue) Poll(wcs []verbs.WC) (int, error) {
	*q.calls = append(*q.calls, "poll "+q.name)
	k := min(q.n, len(wcs))
	clear(wcs[:k])
	q.n -= k
	return k, nil
}

// A completion between a Poll of a queue and its Arm would wait for the next one, so queues are
// armed first. More completions may follow a full batch.
func TestGather(t *testing.T) {
	for _, tt := range []struct{ sends, receives, first, second int }{
		{0, 0, 0, 0}, {3, 4, 7, 0}, {0, 31, 31, 0}, {0, 32, 32, 0}, {32, 8, 32, 8}, {20, 20, 32, 8}, {0, 40, 32, 8},
	} {
		var calls []string
		d := &Driver{
			sends: completions{cq: &fakeQueue{name: "sends", n: tt.sends, calls: &calls}},
			recvs: completions{cq: &fakeQueue{name: "receives", n: tt.receives, calls: &calls}},
		}
		events, again := d.gather(nil, true, true)
		if len(events) != tt.first || again != (tt.first == len(d.wcs)) {
			t.Errorf("%d and %d completions: %d taken, again %t", tt.sends, tt.receives, len(events), again)
		}
		for _, q := range []string{"sends", "receives"} {
			arm, poll := slices.Index(calls, "arm "+q), slices.Index(calls, "poll "+q)
			if arm < 0 || poll >= 0 && poll < arm {
				t.Errorf("%d and %d completions: %q", tt.sends, tt.receives, calls)
			}
		}
		if !again {
			continue
		}
		if events, again = d.gather([]engine.Event{}, false, false); len(events) != tt.second || again {
			t.Errorf("%d and %d completions: %d taken the second time, again %t", tt.sends, tt.receives, len(events), again)
		}
	}
}
