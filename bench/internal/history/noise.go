package history

import (
	"fmt"
	"slices"
)

// maxSpread is the largest spread of a quiet run.
const maxSpread = 1.25

// Noise says how much other work disturbed a run. It is measured by the reference rows, which have
// nothing of this project in them: their times should be the same in all rounds.
type Noise struct {
	// Spread is the median, over the reference rows, of the third quartile of the rounds divided by
	// the first. It is 0 if no such row was measured.
	Spread float64 `json:"spread"`
}

// Spread returns the third quartile divided by the first of the sorted times of a row.
func Spread(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 || sorted[n/4] <= 0 {
		return 0
	}
	return sorted[n-1-n/4] / sorted[n/4]
}

// NewNoise returns the Noise of a run by the spreads of its rows.
func NewNoise(spreads []float64) Noise {
	if len(spreads) == 0 {
		return Noise{}
	}
	s := slices.Sorted(slices.Values(spreads))
	return Noise{Spread: s[len(s)/2]}
}

// Quiet reports whether the figures of a run can be compared with those of others.
func (n Noise) Quiet() bool { return n.Spread > 0 && n.Spread <= maxSpread }

// String returns the noise in words, with its criterion.
func (n Noise) String() string {
	switch {
	case n.Spread == 0:
		return "noise unknown: no reference row was measured"
	case n.Quiet():
		return fmt.Sprintf("quiet: reference rows spread by %.2f, at most %.2f", n.Spread, maxSpread)
	}
	return fmt.Sprintf("noisy: reference rows spread by %.2f, over %.2f", n.Spread, maxSpread)
}
