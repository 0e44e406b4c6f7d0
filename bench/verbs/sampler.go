package verbs

import (
	"slices"
	"time"
)

// every is the part of the calls whose time a Sampler records.
const every = 16

// Sampler records the times of some calls: to look at the clock for each takes a part of a call.
// One goroutine at a time uses it.
type Sampler struct {
	slots []sampled
	took  []time.Duration
}

// sampled is a slot with one call at a time.
type sampled struct {
	calls int
	began time.Time // zero: the call is not recorded
}

// NewSampler returns a Sampler of calls in a number of slots.
func NewSampler(slots int) *Sampler { return &Sampler{slots: make([]sampled, slots)} }

// Reset forgets all times.
func (s *Sampler) Reset() { s.took = s.took[:0] }

// Begin is called when the call of a slot begins.
func (s *Sampler) Begin(slot int) {
	at := &s.slots[slot]
	if at.calls%every == 0 {
		at.began = time.Now()
	}
	at.calls++
}

// End is called when it is over.
func (s *Sampler) End(slot int) {
	if at := &s.slots[slot]; !at.began.IsZero() {
		s.took = append(s.took, time.Since(at.began))
		at.began = time.Time{}
	}
}

// Times returns the times that were recorded, which are valid until Reset.
func (s *Sampler) Times() []time.Duration { return s.took }

// Percentiles returns p50 and p99 in ns, or zeros if there are no times.
func (s *Sampler) Percentiles() (p50, p99 float64) { return Percentiles(s.took) }

// Percentiles returns p50 and p99 of times in ns, or zeros if there are no times.
func Percentiles(took []time.Duration) (p50, p99 float64) {
	if len(took) == 0 {
		return 0, 0
	}
	all := slices.Clone(took)
	slices.Sort(all)
	at := func(q float64) float64 { return float64(all[min(len(all)-1, int(q*float64(len(all))))]) }
	return at(0.50), at(0.99)
}
