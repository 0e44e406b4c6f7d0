package main

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// finder returns another row, or nil.
type finder func(name, op string, shape verbs.Shape) *transport.Result

// bound adds a bound for a ratio to another row.
type bound func(name, op string, limit float64)

// targets returns the targets of a row.
func targets(r *transport.Result, at finder) (all []target.Target) {
	find := func(name, op string) *transport.Result { return at(name, op, r.Shape) }
	add := func(t target.Target) { all = append(all, t) }
	var floor *transport.Result
	if transport.HasFloor(r.Name) {
		floor = find(verbs.Floor, r.Op)
	}
	// ratio adds a bound for a ratio to another row. The floor's ratio is to the same row. If the
	// other row is of r's system, it is to the floor's own one.
	ratio := func(name, op string, of func(r, other *transport.Result) float64, bound func(float64) target.Target) {
		other := find(name, op)
		if other == nil {
			return
		}
		t := bound(of(r, other))
		if name == r.Name {
			other = find(verbs.Floor, op)
		}
		if floor != nil && other != nil {
			t.Floor = of(floor, other)
		}
		add(t)
	}
	speed := func(name, op string, least float64) {
		ratio(name, op, func(r, other *transport.Result) float64 { return other.NS / r.NS },
			func(v float64) target.Target { return target.AtLeast("of "+name+" "+op, v, least) })
	}
	// processor adds a bound for the processor time of both ends, if it is known.
	processor := func(name, op string, most float64) {
		if other := find(name, op); other != nil && r.CPU > 0 && other.CPU > 0 {
			ratio(name, op, func(r, other *transport.Result) float64 { return r.CPU / other.CPU },
				func(v float64) target.Target { return target.AtMost("CPU x "+name, v, most) })
		}
	}
	latency := func(name, op string, most float64) {
		ratio(name, op, func(r, other *transport.Result) float64 { return r.P50 / other.P50 },
			func(v float64) target.Target { return target.AtMost("p50 x "+name, v, most) })
	}
	networked := transport.Networked(r.Name)
	switch {
	case r.Name == transport.Mem && r.Op == verbs.Call && r.Shape.Depth == 1:
		add(target.AtMost("us", r.P50/1e3, 2))
	case r.Name == transport.Mem && r.Op == verbs.Write:
		latency(transport.Copy, verbs.Write, 1.5) // a second copy would make it 2
	case (r.Name == transport.Stubs || r.Name == transport.TCPStubs) && r.Shape.Depth == 1:
		add(target.AtMost("objects", r.Mallocs, 4))
		if r.Name == transport.TCPStubs {
			processor(transport.Tirpc, verbs.Call, 1.5)
		} else {
			processor(transport.Tirpc, verbs.Call, 2)
		}
	case r.Name == transport.TCPStubs && r.Shape.Depth == 32:
		speed(verbs.Framed, verbs.Call, 0.40)
		speed(transport.GoNFS, verbs.Call, 3.5)
		speed(transport.GRPC, verbs.Call, 10)
	case r.Name == transport.Several && r.Shape.Depth > 32:
		one := verbs.Shape{Size: r.Shape.Size, Depth: 32}
		if other := at(transport.RDMATCP, verbs.Call, one); other != nil {
			add(target.AtLeast(fmt.Sprintf("of %s %s %v", transport.RDMATCP, verbs.Call, one), other.NS/r.NS, 2))
		}
	case networked && r.Op == verbs.Call:
		smallCalls(r, floor, add, speed, processor, latency)
	case networked:
		bulk(r, speed, processor)
	}
	return all
}

func smallCalls(r, floor *transport.Result, add func(target.Target), speed, processor, latency bound) {
	switch {
	case r.Shape.Depth == 1:
		latency(verbs.TCP, verbs.Call, 1.5)
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
		tail := target.AtMost("p99/p50", r.Tail, 3)
		if floor != nil {
			tail.Floor = floor.Tail
		}
		add(tail)
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
