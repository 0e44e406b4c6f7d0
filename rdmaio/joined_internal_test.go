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
