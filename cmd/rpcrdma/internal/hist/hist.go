// Package hist counts durations in buckets whose width grows with the duration: any number of
// samples takes 60 kB, and quantiles are exact to one part in 128.
package hist

import (
	"math"
	"math/bits"
	"time"
)

// Each power of two is split into sub buckets. Durations below sub nanoseconds have a bucket each.
const (
	subBits = 7
	sub     = 1 << subBits
	buckets = (63 - subBits + 1) * sub
)

// Histogram counts durations. The zero value is empty. It is not safe for concurrent use: give each
// worker its own, and Merge them.
type Histogram struct {
	counts   [buckets]uint64
	n        uint64
	sum      float64 // ns
	squares  float64
	min, max time.Duration
}

// bucket returns the index of the bucket of a duration.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < sub {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return shift*sub + int(v>>shift)
}

// top returns the longest duration of a bucket.
func top(i int) time.Duration {
	if i < 2*sub {
		return time.Duration(i)
	}
	shift := i/sub - 1
	return time.Duration((uint64(i%sub+sub+1) << shift) - 1)
}

// Add counts a duration. A negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	h.sum += float64(d)
	h.squares += float64(d) * float64(d)
	h.counts[bucket(d)]++
}

// Merge adds the samples of o.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
	h.squares += o.squares
	for i, c := range o.counts {
		h.counts[i] += c
	}
}

// Count returns the number of samples.
func (h *Histogram) Count() uint64 { return h.n }

// Min returns the shortest sample, exactly; 0 if there are none.
func (h *Histogram) Min() time.Duration { return h.min }

// Max returns the longest sample, exactly; 0 if there are none.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean returns the mean of the samples, exact except for rounding; 0 if there are none.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Deviation returns the standard deviation of the samples; 0 if there are none.
func (h *Histogram) Deviation() time.Duration {
	if h.n == 0 {
		return 0
	}
	mean := h.sum / float64(h.n)
	return time.Duration(math.Sqrt(max(0, h.squares/float64(h.n)-mean*mean)))
}

// Quantile returns a duration that a share q of the samples do not exceed, q between 0 and 1. It is
// at most one part in 128 above the least such duration.
func (h *Histogram) Quantile(q float64) time.Duration {
	want := max(1, uint64(math.Ceil(q*float64(h.n))))
	var seen uint64
	for i, c := range h.counts {
		if seen += c; seen >= want && c > 0 {
			return min(max(top(i), h.min), h.max)
		}
	}
	return h.max
}

// Bucket is a range of durations, and the number of samples in it.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// Buckets returns the buckets that have samples, shortest first.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	for i, c := range h.counts {
		if c > 0 {
			out = append(out, Bucket{UpTo: top(i), Count: c})
		}
	}
	return out
}
