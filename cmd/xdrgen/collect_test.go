package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestCollectLate checks that the collector returns to the default settings when the heap
// exceeds the limit, and not before.
func TestCollectLate(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	collectLate()
	rate := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run on a separate goroutine
	}
	if live() < largeHeap && (rate() != gcPercent || debug.SetMemoryLimit(-1) != memoryLimit) {
		t.Errorf("a small heap: rate %d, limit %d", rate(), debug.SetMemoryLimit(-1))
	}
	held := make([]byte, largeHeap+1<<20)
	for deadline := time.Now().Add(time.Minute); rate() != 100; {
		if time.Now().After(deadline) {
			t.Fatalf("a heap of %d bytes: rate %d, want 100", live(), rate())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	for debug.SetMemoryLimit(-1) != math.MaxInt64 {
		time.Sleep(time.Millisecond) // set just after the rate
	}
	runtime.KeepAlive(held)
}
