package main

import (
	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// finder returns another row of the same shape, or nil.
type finder func(name, op string) *transport.Result

// bound adds a bound for a ratio to another row.
type bound func(name, op string, limit float64)

// targets returns the targets of a row.
func targets(r *transport.Result, find finder) (all []target.Target) {
	add := func(t target.Target) { all = append(all, t) }
	// speed adds a bound for the speed relative to another row.
	speed := func(name, op string, least float64) {
		if other := find(name, op); other != nil {
			add(target.AtLeast("of "+name+" "+op, other.NS/r.NS, least))
		}
	}
	// processor adds a bound for the processor time of both ends relative to another row.
	processor := func(name, op string, most float64) {
		if other := find(name, op); other != nil && r.CPU > 0 && other.CPU > 0 {
			add(target.AtMost("CPU x "+name, r.CPU/other.CPU, most))
		}
	}
	networked := transport.Networked(r.Name)
	switch {
	case r.Name == transport.Mem && r.Op == verbs.Call && r.Shape.Depth == 1:
		add(target.AtMost("us", r.P50/1e3, 2))
	case r.Name == transport.Mem && r.Op == verbs.Write:
		if one := find(transport.Copy, verbs.Write); one != nil {
			add(target.AtMost("p50 x copy", r.P50/one.P50, 1.5)) // a second copy would make it 2
		}
	case (r.Name == transport.Stubs || r.Name == transport.TCPStubs) && r.Shape.Depth == 1:
		add(target.AtMost("objects", r.Mallocs, 4))
	case r.Name == transport.TCPStubs && r.Shape.Depth == 32:
		speed(verbs.Framed, verbs.Call, 0.40)
		speed(transport.GoNFS, verbs.Call, 3.5)
		speed(transport.GRPC, verbs.Call, 10)
	case networked && r.Op == verbs.Call:
		smallCalls(r, find, add, speed, processor)
	case networked:
		bulk(r, speed, processor)
	}
	return all
}

func smallCalls(r *transport.Result, find finder, add func(target.Target), speed, processor bound) {
	switch {
	case r.Shape.Depth == 1:
		if other := find(verbs.TCP, verbs.Call); other != nil {
			add(target.AtMost("p50 x tcp", r.P50/other.P50, 1.5))
		}
		// The caller provides the memory of the reply: the remaining objects are the server's.
		add(target.AtMost("objects", r.Mallocs, 2))
	case r.Shape.Depth > 32:
		speed(verbs.FramedGo, verbs.Call, 0.65)
	default:
		speed(verbs.Framed, verbs.Call, 0.60)
		speed(verbs.FramedGo, verbs.Call, 0.85)
		speed(transport.GRPC, verbs.Call, 6)
		speed(transport.NetRPC, verbs.Call, 3.5)
		processor(verbs.Framed, verbs.Call, 2)
		add(target.AtMost("p99/p50", r.Tail, 3))
	}
}

func bulk(r *transport.Result, speed, processor bound) {
	if r.Op == verbs.Read {
		speed(r.Name, verbs.Write, 1)
	} else {
		switch {
		case r.Shape.Size < 64<<10:
			speed(verbs.Framed, verbs.Write, 0.70)
			processor(verbs.Framed, verbs.Write, 1.6)
		case r.Shape.Size < 1<<20:
			speed(verbs.TCP, verbs.Write, 0.60)
			speed(verbs.Segments, verbs.Write, 0.70)
			speed(transport.GRPC, verbs.Write, 2)
			processor(verbs.Segments, verbs.Write, 1.45)
		case r.Shape.Depth == 1:
			speed(verbs.TCP, verbs.Write, 0.65)
		default:
			speed(verbs.Segments, verbs.Write, 0.90)
			speed(transport.GRPC, verbs.Write, 2)
		}
	}
}

// idleTarget returns the bound of the memory of an idle connection, at both ends.
func idleTarget(i *transport.Idle) target.Target {
	return target.AtMost("KiB of both ends", float64(i.Client+i.Server)/1024, 64)
}
