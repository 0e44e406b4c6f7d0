// Package measure times cases against each other on a noisy machine: every round runs every case
// once, so that a disturbance affects all of them, and the result is the median of the rounds.
package measure

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// Case is work to time.
type Case struct {
	Name string
	// Run does the work n times and returns the time that it took.
	Run func(n int) (time.Duration, error)
}

// Loop returns a Run for work in this process; work repeats it n times.
func Loop(work func(n int) error) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		err := work(n)
		return time.Since(start), err
	}
}

// Result is the cost of a case per repetition.
type Result struct {
	Name   string    `json:"name"`
	NS     float64   `json:"ns"`     // median of Rounds
	Low    float64   `json:"low_ns"` // fastest round
	High   float64   `json:"high_ns"`
	Allocs float64   `json:"allocs"` // heap objects, this process only
	Rounds []float64 `json:"-"`
}

// Interleaved times cases in the given number of rounds. The repetitions of a
// case are fixed before the first round, so that one round takes it about slice.
func Interleaved(cases []Case, rounds int, slice time.Duration) ([]Result, error) {
	repeat := make([]int, len(cases))
	results := make([]Result, len(cases))
	for i, c := range cases {
		n, err := calibrate(c, slice)
		if err != nil {
			return nil, err
		}
		repeat[i] = n
		results[i].Name = c.Name
		if results[i].Allocs, err = allocs(c, min(n, 100)); err != nil {
			return nil, err
		}
	}
	for round := range rounds {
		for j := range cases {
			// Each round starts at another case: no case always follows the
			// same neighbour.
			i := (j + round) % len(cases)
			took, err := cases[i].Run(repeat[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cases[i].Name, err)
			}
			ns := float64(took.Nanoseconds()) / float64(repeat[i])
			results[i].Rounds = append(results[i].Rounds, ns)
		}
	}
	for i := range results {
		r := &results[i]
		slices.Sort(r.Rounds)
		r.Low, r.High = r.Rounds[0], r.Rounds[len(r.Rounds)-1]
		r.NS = median(r.Rounds)
	}
	return results, nil
}

// calibrate returns the number of runs of c that take about slice, at least 1. It also warms c up.
// It measures again where c seems to take long enough: after a disturbance, the count would be too
// small for every round.
func calibrate(c Case, slice time.Duration) (int, error) {
	const tries = 3
	for n := 1; ; n *= 2 {
		least := time.Duration(math.MaxInt64)
		for range tries {
			took, err := c.Run(n)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", c.Name, err)
			}
			if least = min(least, took); least < slice/4 {
				break
			}
		}
		if least >= slice/4 {
			return max(1, int(float64(n)*float64(slice)/float64(least))), nil
		}
	}
}

// allocs returns the heap objects c makes per repetition.
func allocs(c Case, n int) (float64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Run(n)
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / uint64(n)), err
}

// median of sorted values.
func median(v []float64) float64 {
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}
