package perf

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// seeds is the number of offsets in the pattern at which data can begin.
const seeds = 4096

// pattern is the test data, as long as was needed so far. A longer one, which begins with the same
// bytes, replaces it.
var (
	pattern atomic.Pointer[[]byte]
	growing sync.Mutex
)

// Pattern returns n bytes of test data, at most MaxData, the same at both ends. They differ for
// each of 4096 seeds. The caller must not write to them.
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
