package peer2_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
)

// step is a message of the client or the server, with its new credits. C is a Call or another
// message that costs one, G a grant alone, E an ERROR.
type step struct {
	from string
	kind byte
	low  int
}

// Both ends count the same, and the receiver's book finds each message too many.
func TestBooksOfBothEndsAgree(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []step
		bad   bool // the last one
	}{
		{"one message before the first grant", []step{{"c", 'C', 2}}, false},
		{"T15: two messages before the first grant", []step{{"c", 'C', 2}, {"c", 'C', 2}}, true},
		{"a server does not begin", []step{{"s", 'C', 2}}, true},
		{"a first grant of zero is one", []step{{"c", 'C', 1}, {"s", 'C', 0}, {"c", 'C', 0}}, false},
		{"and no more", []step{{"c", 'C', 1}, {"s", 'C', 0}, {"c", 'C', 0}, {"c", 'C', 0}}, true},
		{"an ERROR gives the first credit back", []step{{"c", 'C', 2}, {"s", 'E', 5}, {"c", 'C', 0}}, false},
		{"and no more than that", []step{{"c", 'C', 2}, {"s", 'E', 5}, {"c", 'C', 0}, {"c", 'C', 0}}, true},
		{"an ERROR grants nothing later", []step{{"c", 'C', 3}, {"s", 'C', 1}, {"c", 'C', 0}, {"s", 'E', 9}, {"c", 'C', 0}}, true},
		{"grants add up", []step{{"c", 'C', 2}, {"s", 'C', 2}, {"s", 'C', 1}, {"c", 'C', 0}, {"c", 'C', 0}, {"c", 'C', 0}}, false},
		{"one more is too many", []step{{"c", 'C', 2}, {"s", 'C', 2}, {"c", 'C', 0}, {"c", 'C', 0}, {"c", 'C', 0}}, true},
		{"a grant costs a credit, or uses the spare Receive", []step{{"c", 'C', 2}, {"s", 'C', 1}, {"c", 'C', 0}, {"c", 'G', 1}}, false},
		{"only one", []step{{"c", 'C', 2}, {"s", 'C', 1}, {"c", 'C', 0}, {"c", 'G', 1}, {"c", 'G', 1}}, true},
		{"the one that had a credit may have been it", []step{{"c", 'C', 2}, {"s", 'C', 2}, {"c", 'G', 1}, {"c", 'C', 0}, {"c", 'C', 0}}, false},
		{"it is back after a grant", []step{{"c", 'C', 9}, {"s", 'C', 1}, {"c", 'C', 0}, {"c", 'G', 1}, {"s", 'C', 1}, {"c", 'C', 0}, {"c", 'G', 1}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			books := map[string]*peer2.Book{}
			for _, end := range []string{"c", "s"} {
				b := peer2.NewBook(end == "c")
				books[end] = &b
			}
			for i, s := range c.steps {
				m := peer2.Call(1, nil)
				switch s.kind {
				case 'G':
					m = peer2.Grant()
				case 'E':
					m = peer2.Err(1, 2)
				}
				m.Credit = peer2.Word(16, s.low)
				to := map[string]string{"c": "s", "s": "c"}[s.from]
				sent, received := books[s.from].Sent(&m), books[to].Received(&m)
				bad := c.bad && i == len(c.steps)-1
				if (sent != nil) != bad || (received != nil) != bad {
					t.Errorf("message %d: %v, %v", i+1, sent, received)
				}
				if bad && received != nil && !strings.Contains(received.Error(), "without a credit") {
					t.Error(received)
				}
				if books["c"].In != books["s"].Out || books["c"].Out != books["s"].In {
					t.Errorf("after message %d: %+v and %+v", i+1, *books["c"], *books["s"])
				}
			}
		})
	}
}
