package rdmaiotest

import (
	"runtime"
	"runtime/metrics"
	"strings"
)

// Goroutines returns the number of our goroutines.
func Goroutines() (n int) {
	b := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(g, "/rdmaio") {
			n++
		}
	}
	return n
}

// HeapInUse returns the bytes of the heap in use after a collection.
func HeapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Allocated returns the bytes that the process has allocated so far.
func Allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
