package rdmaio

import (
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// unread is the memory of a connection that waits for the peer: long replies that it has not read,
// and chunks of its Calls that it has not delivered. All methods are safe for concurrent use.
type unread struct {
	mu      sync.Mutex
	bytes   int
	largest int       // of one reply or fetch, since bytes was 0
	since   time.Time // when the last one ended or the first one began; zero: bytes is 0
}

// longReply is the least size of a reply that counts. Shorter ones of one connection keep little.
const longReply = 4 << 10

// begin adds n bytes.
func (u *unread) begin(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes == 0 {
		u.largest, u.since = 0, time.Now()
	}
	u.bytes += n
	u.largest = max(u.largest, n)
}

// end removes n bytes that begin added.
func (u *unread) end(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes -= n; u.bytes == 0 {
		u.since = time.Time{}
	} else {
		u.since = time.Now()
	}
}

// stuck returns the number of bytes if the peer is too slow with them, or 0.
func (u *unread) stuck(now time.Time) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !admission.Stuck(u.bytes, u.largest, u.since, now) {
		return 0
	}
	return u.bytes
}
