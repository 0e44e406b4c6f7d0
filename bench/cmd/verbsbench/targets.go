package main

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// A target bounds a figure of a provider, from above (a time) or from below (a
// speed in relation to another's). A figure may miss it by a quarter: this
// machine is not the one that it was set on, and neither is quiet.
type target struct {
	What  string  `json:"what"` // what Value is, with its unit
	Value float64 `json:"value"`
	Most  float64 `json:"at_most,omitempty"`
	Least float64 `json:"at_least,omitempty"`
	Met   bool    `json:"met"`
	Near  bool    `json:"near,omitempty"` // missed by less than a quarter
}

func atMost(what string, value, bound float64) target {
	return target{What: what, Value: value, Most: bound, Met: value <= bound, Near: value > bound && value <= bound*1.25}
}

func atLeast(what string, value, bound float64) target {
	return target{What: what, Value: value, Least: bound, Met: value >= bound, Near: value < bound && value >= bound/1.25}
}

func (t target) String() string {
	sign, bound := "<=", t.Most
	if t.Least > 0 {
		sign, bound = ">=", t.Least
	}
	verdict := "missed"
	switch {
	case t.Met:
		verdict = "met"
	case t.Near:
		verdict = "near"
	}
	return fmt.Sprintf("%s %.2f (%s %.4g: %s)", t.What, t.Value, sign, bound, verdict)
}

// targets returns what is asked of a row. find gives another row of the same
// shape, or nil.
func targets(r verbs.Result, find func(name, op string) *verbs.Result) []target {
	var all []target
	// speed adds a bound for r's speed in relation to another row's.
	speed := func(name, op string, bound float64) {
		if other := find(name, op); other != nil {
			all = append(all, atLeast("of "+name+" "+op, other.NS/r.NS, bound))
		}
	}
	switch {
	case r.Name == verbs.TCP || r.Name == verbs.Framed || r.Name == verbs.FramedGo || r.Name == verbs.Segments:
	case r.Name == verbs.Mem:
		if r.Op == verbs.Call {
			all = append(all, atMost("us", r.NS/1e3, 2))
		}
	case r.Op == verbs.Call && r.Shape.Depth > 1:
		// Meant for whole RPCs: a provider alone must do better.
		if r.Shape.Depth > 32 {
			speed(verbs.FramedGo, verbs.Call, 0.65)
			break
		}
		speed(verbs.Framed, verbs.Call, 0.40)
		speed(verbs.FramedGo, verbs.Call, 0.70)
	case r.Op == verbs.Call:
		if other := find(verbs.TCP, verbs.Call); other != nil {
			all = append(all, atMost("x tcp", r.NS/other.NS, 1.7))
		}
	default:
		if r.CPU > 0 {
			all = append(all, atMost("CPU ns/B", r.CPU/float64(r.Shape.Size), 0.6))
		}
		// These bounds are meant for what an RPC moves either way: to the server
		// by a Read, to the client by a Write.
		switch {
		case r.Shape.Size < 1<<20:
			speed(verbs.TCP, verbs.Write, 0.45)
			speed(verbs.Segments, verbs.Write, 0.80)
		case r.Shape.Depth == 1:
			speed(verbs.TCP, verbs.Write, 0.55)
		default:
			speed(verbs.Segments, verbs.Write, 0.85)
		}
		if r.Op == verbs.Write {
			speed(r.Name, verbs.Read, 0.95)
		}
	}
	return all
}

// idleTarget bounds the memory of a resting connection, either end.
func idleTarget(i verbs.Idle) target {
	return atMost("KiB an end", float64(max(i.Client, i.Server))/1024, 64)
}
