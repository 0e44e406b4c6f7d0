package tcp

import "testing"

// A message leaves the queue from any place, and the others keep their order.
func TestQueueKeepsItsOrder(t *testing.T) {
	for removed := range 4 {
		var q queue
		m := make([]message, 4)
		for i := range m {
			q.push(&m[i])
			if m[i].state != queued {
				t.Errorf("state %d", m[i].state)
			}
		}
		q.remove(&m[removed])
		if m[removed].state != idle {
			t.Errorf("state %d after it was removed", m[removed].state)
		}
		for i := range m {
			if i == removed {
				continue
			}
			if q.first != &m[i] {
				t.Fatalf("without %d: message %d is not the first", removed, i)
			}
			q.remove(q.first)
		}
		if q.first != nil || q.last != nil {
			t.Error("the queue is not empty")
		}
		q.push(&m[0])
		if q.first != q.last {
			t.Error("a queue that was empty has no message")
		}
	}
}

// A connection is full with more than maxUnsent of replies.
func TestFullConnection(t *testing.T) {
	for unsent, want := range map[int]bool{0: false, maxUnsent: false, maxUnsent + 1: true} {
		c := &Conn{set: new(settings), serving: serving{unsent: unsent}}
		if got := c.full(); got != want {
			t.Errorf("%d bytes of replies: %v", unsent, got)
		}
	}
}

// The memory of an answered Request is kept for short records only where it is short.
func TestReleaseKeepsShortMemory(t *testing.T) {
	kept := false
	for range 100 { // a sync.Pool need not return what it has
		for _, size := range []int{keepBytes, keepBytes + 1, 4 << 20} {
			c := &Conn{set: new(settings), shared: alone(), serving: serving{requests: 1}}
			c.join()
			c.wake.L = &c.mu
			memory := make([]byte, 0, size)
			r := &request{conn: c, memory: &memory, ticket: c.reserved.share.Ticket(0), done: func(error) {}}
			r.out.request = r
			r.release(nil)
			got := memories.Get().(*[]byte)
			kept = kept || cap(*got) == keepBytes
			if cap(*got) > keepBytes {
				t.Fatalf("memory of %d bytes is kept for short records", cap(*got))
			}
		}
	}
	if !kept {
		t.Error("memory of the largest size was never kept")
	}
}

// Answers that are written together are uncounted together. Requests that are used again keep their
// memory where it is short.
func TestAnswersAreReleasedTogether(t *testing.T) {
	sizes := []int{10, keepBytes, keepBytes + 1}
	c := &Conn{set: new(settings), shared: alone(), serving: serving{requests: 5, bytes: 20 + 2*keepBytes, unsent: 100, reuses: true}}
	c.join()
	c.wake.L = &c.mu
	var answers []*message
	done := 0
	for _, size := range sizes {
		memory := make([]byte, 3, size)
		r := &request{conn: c, memory: &memory, ticket: c.reserved.share.Ticket(0), reply: 10, done: func(error) {
			if done++; c.requests != 5 {
				t.Error("a Request is uncounted before its done function has run")
			}
		}}
		r.users.Store(2) // its handler has not returned
		r.out.request = r
		c.running.add(r)
		answers = append(answers, &r.out)
	}
	releaseAll(answers, nil)
	if c.requests != 2 || c.bytes != 9 || c.unsent != 70 || c.running.first != nil || done != len(sizes) {
		t.Errorf("%d Requests of %d bytes are left, %d bytes of replies, %d done functions ran", c.requests, c.bytes, c.unsent, done)
	}
	for i, m := range answers {
		r := m.request
		if short := sizes[i] <= keepBytes; (r.spare != nil) != short || short && (cap(*r.spare) != sizes[i] || len(*r.spare) != 0) || r.memory != nil {
			t.Errorf("memory of %d bytes: found %v", sizes[i], r.spare != nil)
		}
		if r.users.Load() != 1 {
			t.Errorf("%d users of a Request are left, want 1", r.users.Load())
		}
	}
}
