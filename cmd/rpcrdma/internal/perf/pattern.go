package perf

import (
	"math/rand/v2"
	"sync"
)

// seeds is how many places of the pattern data may begin at.
const seeds = 4096

// pattern is made once: as much as the longest data needs at any seed.
var pattern = sync.OnceValue(func() []byte {
	b := make([]byte, MaxData+seeds)
	_, _ = rand.NewChaCha8([32]byte{'p', 'e', 'r', 'f'}).Read(b) // never fails
	return b
})

// Pattern is n bytes of data that both ends know, which are others for each of 4096 seeds. It
// must not be written to.
func Pattern(seed uint32, n int) []byte {
	at := int(seed % seeds)
	return pattern()[at : at+n : at+n]
}
