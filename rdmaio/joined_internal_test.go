package rdmaio

import "testing"

// Memory of continued messages is used again for one of the same length, and only then.
func TestJoinedMemory(t *testing.T) { // R324
	var m joinedMemory
	for _, n := range []int{8 << 10, 64 << 10, 1 << 20, 1000, 4 << 10, 2 << 20, 10_000} {
		b := m.Take(n)
		if len(b) != n {
			t.Fatalf("%d bytes, want %d", len(b), n)
		}
		m.Give(b[:10])
		pooled := n >= 8<<10 && n <= 1<<20 && n&(n-1) == 0
		if (m.pool(n) != nil) != pooled {
			t.Errorf("%d bytes: kept %v, want %v", n, m.pool(n) != nil, pooled)
		}
		if b := m.Take(n); len(b) != n {
			t.Errorf("%d bytes the second time, want %d", len(b), n)
		}
	}
}

// A buffer that was given back, even a part of it, is used for the next message of its length, and
// for no longer one. (The pool may drop it: then the next one counts.)
func TestJoinedMemoryIsUsedAgain(t *testing.T) { // R324
	for n := 1 << leastJoined; n <= 1<<mostJoined; n *= 2 {
		var m joinedMemory
		again := false
		for range 50 {
			b := m.Take(n)
			m.Give(b[:10])
			if next := m.Take(n); &next[0] == &b[0] {
				again = true
				break
			}
		}
		if !again {
			t.Errorf("a buffer of %d bytes is never used again", n)
		}
		for range 10 {
			m.Give(m.Take(n))
			if b := m.Take(2 * n); len(b) != 2*n {
				t.Fatalf("a message of %d bytes has a buffer of %d", 2*n, len(b))
			}
		}
	}
}

// Memory that is in use is not lent again.
func TestJoinedMemoryIsLentOnce(t *testing.T) {
	var m joinedMemory
	for range 100 { // a sync.Pool need not return what it has
		m.Give(make([]byte, 8<<10))
		first, second := m.Take(8<<10), m.Take(8<<10)
		if &first[0] == &second[0] {
			t.Fatal("two messages have the same memory")
		}
	}
}
