package main

import (
	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// targets returns the targets of a row. find returns another row of the same shape, or nil.
func targets(r verbs.Result, find func(name, op string) *verbs.Result) []target.Target {
	var all []target.Target
	// speed adds a bound for the speed relative to another row.
	speed := func(name, op string, bound float64) {
		if other := find(name, op); other != nil {
			all = append(all, target.AtLeast("of "+name+" "+op, other.NS/r.NS, bound))
		}
	}
	switch {
	case r.Name == verbs.TCP || r.Name == verbs.Framed || r.Name == verbs.FramedGo || r.Name == verbs.Segments:
	case r.Name == verbs.Mem:
		if r.Op == verbs.Call {
			all = append(all, target.AtMost("us", r.NS/1e3, 2))
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
			all = append(all, target.AtMost("x tcp", r.NS/other.NS, 1.7))
		}
	default:
		if r.CPU > 0 {
			all = append(all, target.AtMost("CPU ns/B", r.CPU/float64(r.Shape.Size), 0.6))
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

// idleTarget returns the bounds of the memory of an idle connection at each end.
func idleTarget(i verbs.Idle) target.Target {
	return target.AtMost("KiB an end", float64(max(i.Client, i.Server))/1024, 64)
}
