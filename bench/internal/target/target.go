// Package target compares figures with their targets.
package target

import "fmt"

// Target is an upper bound of a figure (a time) or a lower one (a relative speed). A figure may
// miss it by a quarter: the machine is not the one that it was set on, and neither is quiet.
type Target struct {
	What  string  `json:"what"` // the meaning of Value, with its unit
	Value float64 `json:"value"`
	Most  float64 `json:"at_most,omitempty"`
	Least float64 `json:"at_least,omitempty"`
	Met   bool    `json:"met"`
	Near  bool    `json:"near,omitempty"` // missed by less than a quarter

	// Floor is the value that the wire protocol allows: what its messages reach without this
	// project's code. It is 0 if that is unknown.
	Floor float64 `json:"floor,omitempty"`
}

// AtMost returns a Target with an upper bound.
func AtMost(what string, value, bound float64) Target {
	return Target{What: what, Value: value, Most: bound, Met: value <= bound, Near: value > bound && value <= bound*1.25}
}

// AtLeast returns a Target with a lower bound.
func AtLeast(what string, value, bound float64) Target {
	return Target{What: what, Value: value, Least: bound, Met: value >= bound, Near: value < bound && value >= bound/1.25}
}

// String returns the target in the form "us 1.50 (<= 2: met)".
func (t Target) String() string {
	sign, bound := "<=", t.Most
	if t.Least > 0 {
		sign, bound = ">=", t.Least
	}
	return fmt.Sprintf("%s %.2f (%s %.4g: %s)", t.What, t.Value, sign, bound, t.Verdict())
}

// Verdict returns "met", "near" or "missed".
func (t Target) Verdict() string {
	switch {
	case t.Met:
		return "met"
	case t.Near:
		return "near"
	}
	return "missed"
}
