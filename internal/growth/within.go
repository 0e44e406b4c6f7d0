package growth

import (
	"fmt"
	"runtime/metrics"
)

// Within returns an error if f allocates more than a number of bytes. It is for fuzz targets:
// runtime.ReadMemStats, which stops all goroutines, takes longer than most of them. The runtime
// counts small objects late, so a run may be charged for earlier ones. f therefore runs up to five
// times, until one run is within the limit. Limits below 64 KiB are of no use.
func Within(limit uint64, f func()) error {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	took := uint64(0)
	for range 5 {
		metrics.Read(s)
		before := s[0].Value.Uint64()
		f()
		metrics.Read(s)
		if took = s[0].Value.Uint64() - before; took <= limit {
			return nil
		}
	}
	return fmt.Errorf("growth: %d bytes were allocated, at most %d are justified", took, limit)
}
