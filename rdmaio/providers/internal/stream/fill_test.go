package stream

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Frames of requests and frames of responses take turns. With Shape.Whole, a message that has begun
// is finished first. A nudge comes before all, but never inside a message.
func TestOrderOfFrames(t *testing.T) {
	const w, r = KindWrite, KindReadResponse
	for _, tt := range []struct {
		what            string
		whole           bool
		request         int // bytes sent of the request, in frames before
		response        int // the same of the response
		begun, unbegun  bool
		requests, resps int
		nudged          bool
		want            []Kind
	}{
		{what: "in turn", requests: 1, resps: 1, nudged: true, want: []Kind{w, r, w, r, w, r}},
		{what: "whole", whole: true, requests: 1, resps: 1, nudged: true, want: []Kind{w, w, w, r, r, r}},
		{what: "two of each", whole: true, requests: 2, resps: 2, nudged: true, want: []Kind{w, w, w, r, r, r, w, w, w, r, r, r}},
		{what: "inside a request", whole: true, request: 8, requests: 1, resps: 1, want: []Kind{w, w, r, r, r}},
		{what: "inside a response", whole: true, response: 8, requests: 1, resps: 1, want: []Kind{r, r, w, w, w}},
		{what: "inside a request, in turn", request: 8, requests: 1, want: []Kind{w, w}},
		{what: "inside a response, in turn", response: 8, resps: 1, want: []Kind{r, r}},
		{what: "begun, with no frame sent", whole: true, begun: true, requests: 1, resps: 1, nudged: true, want: []Kind{w, w, w, r, r, r}},
		{what: "after a request", whole: true, unbegun: true, requests: 1, nudged: true, want: []Kind{w, w, w}},
		{what: "no message", nudged: true},
	} {
		q := newWired(t, func(c *Config) {
			c.Shape.Whole = tt.whole
			c.Framing.(*toy).most = 8
		})
		for range tt.requests {
			q.queue(t, verbs.RDMAWrite, 24)
		}
		for range tt.resps {
			q.respond(t, 24)
		}
		q.mu.Lock()
		q.takeToken()
		if tt.request > 0 || tt.begun {
			q.sender.begun, q.sender.sqSent, q.sq.at(0).Sent = true, tt.request, tt.request
		}
		if tt.unbegun {
			q.sender.sqSent = 24
		}
		if tt.response > 0 {
			q.resp.at(0).Sent = tt.response
		}
		q.sender.nudge, q.sender.nudgeDue = []byte("nudge..."), true
		q.sender.fill(q.c, false)
		if got := q.kinds(q.sender.out); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
		first := strings.HasPrefix(string(q.sender.out.arena), "nudge...")
		if first != tt.nudged || q.sender.nudgeDue == tt.nudged || (q.sender.nudge == nil) != tt.nudged || strings.Count(string(q.sender.out.arena), "nudge") > 1 {
			t.Errorf("%s: nudged %v, due %v", tt.what, first, q.sender.nudgeDue)
		}
		if q.sender.out.requests != uint64(tt.requests) || q.sender.out.responses != uint64(tt.resps) || q.sender.begun {
			t.Errorf("%s: the batch has %d requests and %d responses", tt.what, q.sender.out.requests, q.sender.out.responses)
		}
		if fills := q.sender.out.first; fills != 0 {
			t.Errorf("%s: the first is %d", tt.what, fills)
		}
		q.sender.out.reset()
		q.sender.fill(q.c, false)
		if again := string(q.sender.out.arena); tt.nudged && again != "" || !tt.nudged && again != "nudge..." {
			t.Errorf("%s: then %q", tt.what, again)
		}
		q.sender.sqNext = q.sq.tail
		q.sender.releaseToken()
		q.mu.Unlock()
	}
}

// A poster leaves direct payload of either kind to the writer, with nothing of that message sent,
// and sends the staged frames before it.
func TestDirectIsLeftToTheWriter(t *testing.T) {
	for _, tt := range []struct {
		what              string
		request, response int // bytes; 0: none
		more              bool
		want              []Kind
	}{
		{"a direct request", 4096, 0, true, nil},
		{"a direct response", 0, 4096, true, nil},
		{"both", 4096, 4096, true, nil},
		{"a direct request and a short response", 4096, 8, true, []Kind{KindReadResponse}},
		{"a short request and a direct response", 8, 4096, true, []Kind{KindWrite}},
		{"the longest that are staged", 1024, 1024, false, []Kind{KindWrite, KindReadResponse}},
		{"a byte more", 1025, 1025, true, nil},
	} {
		q := newWired(t, nil)
		if tt.request > 0 {
			q.queue(t, verbs.RDMAWrite, tt.request)
		}
		if tt.response > 0 {
			q.respond(t, tt.response)
		}
		q.mu.Lock()
		q.takeToken()
		q.sender.sqSent = 99 // of a request before
		if more := q.sender.fill(q.c, true); more != tt.more || !slices.Equal(q.kinds(q.sender.out), tt.want) || len(q.sender.out.pins) != 0 {
			t.Errorf("%s: more is %v, want %v; %v, want %v; %d regions pinned", tt.what, more, tt.more, q.kinds(q.sender.out), tt.want, len(q.sender.out.pins))
		}
		if q.sender.begun && q.sender.insideRequest() {
			t.Errorf("%s: a request is open, and no frame of it was sent", tt.what)
		}
		q.sender.releaseToken()
		q.mu.Unlock()
	}
}

// A response does not overfill a batch that the request before it has filled.
func TestBatchIsNotOverfilled(t *testing.T) {
	q := newWired(t, nil)
	q.queue(t, verbs.RDMAWrite, 8)
	q.respond(t, 8)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.takeToken()
	q.sender.out.frames = make([]part, batchFrames-1, batchFrames+1)
	if q.sender.fill(q.c, false); len(q.sender.out.frames) != batchFrames || q.sender.rspNext != 0 {
		t.Errorf("a batch has %d frames, want at most %d", len(q.sender.out.frames), batchFrames)
	}
	q.sender.releaseToken()
}

// A request or response that cannot be carried out breaks the connection when the batch before it
// was sent. Only that request fails; those after it are flushed.
func TestFailureAfterTheBatch(t *testing.T) {
	for _, responds := range []bool{false, true} {
		q := newWired(t, nil)
		if responds {
			q.respond(t, 8)
		} else {
			q.queue(t, verbs.RDMAWrite, 8)
			q.queue(t, verbs.RDMAWrite, 8)
		}
		if err := q.mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		q.mu.Lock()
		q.takeToken()
		q.sender.out.arena = append(q.sender.out.arena, "a frame before"...)
		if more := q.sender.fill(q.c, false); more || q.ending {
			t.Errorf("responds %v: the end comes before the frames of the batch", responds)
		}
		q.sender.out.arena = q.sender.out.arena[:0]
		q.sender.fill(q.c, false)
		ended, why := q.ending, q.last.Reason
		q.sender.out = nil
		q.mu.UnlockNotify()
		if responds {
			if !ended || why != ReasonAccess {
				t.Errorf("a response without its region: ended %v, reason %d", ended, why)
			}
			continue
		}
		want := []verbs.Status{verbs.StatusLocalProtection, verbs.StatusFlushed}
		if got := statuses(t, q.queuePair); !ended || why != ReasonFailed || !slices.Equal(got, want) || !errors.Is(q.Err(), verbs.StatusLocalProtection.Err()) {
			t.Errorf("a Write without its region: ended %v, reason %d, %v, want %v; %v", ended, why, got, want, q.Err())
		}
	}
}

// Staged payload is copied, so that its region is free at once. Direct payload stays pinned until
// it is written.
func TestOnlyDirectPayloadStaysPinned(t *testing.T) {
	q := newWired(t, nil)
	q.queue(t, verbs.RDMAWrite, 8)
	q.queue(t, verbs.RDMAWrite, 1500)
	q.mu.Lock()
	q.takeToken()
	q.sender.fill(q.c, true)
	staged := len(q.sender.out.pins)
	q.sender.fill(q.c, false)
	direct := len(q.sender.out.pins)
	q.sender.out.unpin()
	q.sender.releaseToken()
	q.mu.Unlock()
	if staged != 0 || direct != 1 {
		t.Errorf("%d regions pinned by staged payload, %d by direct", staged, direct)
	}
	done := make(chan struct{})
	go func() {
		if err := q.mr.Invalidate(); err != nil {
			t.Error(err)
		}
		close(done)
	}()
	returns(t, "Invalidate", done)
}
