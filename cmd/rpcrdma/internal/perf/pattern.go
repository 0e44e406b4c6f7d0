package perf

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// seeds is how many places of the pattern data may begin at.
const seeds = 4096

// pattern is as much as was needed so far: most measurements are of small data. It is replaced by a longer one that
// begins with the same bytes.
var (
	pattern atomic.Pointer[[]byte]
	growing sync.Mutex
)

// Pattern is n bytes of data that both ends know, at most MaxData, which are others for each of 4096 seeds. It must not
// be written to.
func Pattern(seed uint32, n int) []byte {
	p := pattern.Load()
	if p == nil || len(*p) < n+seeds {
		p = grow(n + seeds)
	}
	at := int(seed % seeds)
	return (*p)[at : at+n : at+n]
}

// grow makes a pattern of at least n bytes.
func grow(n int) *[]byte {
	growing.Lock()
	defer growing.Unlock()
	if p := pattern.Load(); p != nil && len(*p) >= n {
		return p
	}
	b := make([]byte, min(1<<bits.Len(uint(n-1)), MaxData+seeds))
	_, _ = rand.NewChaCha8([32]byte{'p', 'e', 'r', 'f'}).Read(b) // never fails
	pattern.Store(&b)
	return &b
}
