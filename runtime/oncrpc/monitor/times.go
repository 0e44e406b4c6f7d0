package monitor

import (
	"math/bits"
	"time"
)

// Times are the durations of some Calls, in buckets: four for each power of two nanoseconds from
// 1 us up to 4.6 minutes.
type Times struct {
	Count uint64
	Sum   time.Duration
	Max   time.Duration

	buckets [timesBuckets]uint64
}

const (
	timesFirst   = 10 // the first buckets are below 2^10 ns
	timesLast    = 38
	timesBuckets = 4*(timesLast-timesFirst) + 1
)

// add counts a duration.
func (t *Times) add(d time.Duration) {
	d = max(d, 0)
	t.Count++
	t.Sum += d
	t.Max = max(t.Max, d)
	t.buckets[timesBucket(d)]++
}

// timesBucket returns the bucket of a duration.
func timesBucket(d time.Duration) int {
	v := uint64(d)
	log := bits.Len64(v) - 1
	if log < timesFirst {
		return 0
	}
	return min(4*(log-timesFirst)+int(v>>(log-2)&3)+1, timesBuckets-1)
}

// UpTo returns the limit of bucket i, which it is less than. The last bucket has no limit: UpTo
// returns 0.
func UpTo(i int) time.Duration {
	if i >= timesBuckets-1 {
		return 0
	}
	return time.Duration(4+i%4) << (timesFirst - 2 + i/4)
}

// Buckets returns the number of durations in each bucket.
func (t *Times) Buckets() []uint64 { return t.buckets[:] }

// Quantile returns a duration that the share q of the durations do not exceed. It is at most a
// quarter more than the least such duration.
func (t *Times) Quantile(q float64) time.Duration {
	want, seen := max(1, uint64(q*float64(t.Count)+0.5)), uint64(0)
	for i, n := range t.buckets {
		if seen += n; seen >= want && n > 0 {
			if upTo := UpTo(i); upTo != 0 {
				return min(upTo, t.Max)
			}
			break
		}
	}
	return t.Max
}
