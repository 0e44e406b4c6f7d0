package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Every quantile equals the quantile of the sorted samples, or exceeds it by up to one part in 128.
// Merged halves equal the whole.
func TestQuantilesAgreeWithSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []float64{1, 3, 6} {
		var h, left, right Histogram
		all := make([]time.Duration, 20_001)
		for i := range all {
			all[i] = time.Duration(math.Exp(r.NormFloat64()*spread + 9))
			h.Add(all[i])
			if i%3 == 0 {
				left.Add(all[i])
			} else {
				right.Add(all[i])
			}
		}
		left.Merge(&right)
		left.sum, left.squares = h.sum, h.squares // of another order
		if left != h {
			t.Error("two halves are not the whole")
		}
		slices.Sort(all)
		if h.Min() != all[0] || h.Max() != all[len(all)-1] || h.Count() != uint64(len(all)) {
			t.Errorf("%v to %v, %d", h.Min(), h.Max(), h.Count())
		}
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
			want := all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
			got := h.Quantile(q)
			if got < want || float64(got) > float64(want)*(1+1./sub)+1 {
				t.Errorf("spread %v: quantile %v is %v, want %v", spread, q, got, want)
			}
		}
		var n uint64
		for _, b := range h.Buckets() {
			n += b.Count
		}
		if n != h.Count() {
			t.Errorf("%d samples in buckets", n)
		}
	}
}

// The edges: each duration is in the bucket whose top is the next one not below it.
func TestDurationsHaveTheirBuckets(t *testing.T) {
	for _, d := range []time.Duration{0, 1, sub - 1, sub, 2*sub - 1, 2 * sub, 2*sub + 1, 1 << 40, math.MaxInt64} {
		i := bucket(d)
		if top(i) < d || i > 0 && top(i-1) >= d {
			t.Errorf("%d is in bucket %d, up to %d", d, i, top(i))
		}
	}
	var h Histogram
	h.Add(-5)
	if h.Max() != 0 || h.Mean() != 0 || h.Deviation() != 0 || h.Quantile(0.5) != 0 || new(Histogram).Mean() != 0 || new(Histogram).Quantile(1) != 0 {
		t.Error("a negative duration counts as none")
	}
	h.Add(10)
	if h.Mean() != 5 || h.Deviation() != 5 {
		t.Errorf("mean %v, deviation %v", h.Mean(), h.Deviation())
	}
}
