package ladder

import (
	"cmp"
	"slices"
)

// MaxCalls is the number of calls that a Join keeps from each capture.
const MaxCalls = 200000

// Times are the times of a call in a capture, in nanoseconds.
type Times struct {
	First int64 // first byte of the Call
	Whole int64 // last byte of the Call, with its chunks
	Reply int64 // first byte of the reply
	Last  int64 // last byte of the reply
}

// Seen is a call in one of the captures.
type Seen struct {
	Key     Key
	Name    string // of the procedure
	Outcome string // status or results
	Failed  bool   // the call had an error
	Times
}

// Key identifies a call at both ends.
type Key struct {
	XID, Program, Version, Procedure uint32
	Hash                             uint64 // of the Call
}

// short is a Key without the hash, for a capture that lacks a part of the Call.
func (k Key) short() Key {
	k.Hash = 0
	return k
}

// Join collects the calls of both captures. Its zero value is ready.
type Join struct {
	client, server []Seen
	leftOut        int
}

// Client adds a call with a reply from the client's capture.
func (j *Join) Client(s Seen) { j.client = j.add(j.client, s) }

// Server adds a call with a reply from the server's capture.
func (j *Join) Server(s Seen) { j.server = j.add(j.server, s) }

func (j *Join) add(list []Seen, s Seen) []Seen {
	if len(list) == MaxCalls {
		j.leftOut++
		return list
	}
	return append(list, s)
}

// Rung is a call that both captures have. Its times, in nanoseconds, are by the client's clock.
type Rung struct {
	Seen           // as the client saw it
	Arrived  int64 // the server had the whole Call
	Answered int64 // the server sent the reply's first byte
}

// Waited returns the time from the first byte of the Call to its last one: windows, credits and
// lost segments delay it.
func (r *Rung) Waited() int64 { return r.Whole - r.First }

// Sent returns the time until the server had the Call.
func (r *Rung) Sent() int64 { return r.Arrived - r.Whole }

// Served returns the time until the server sent the first byte of the reply.
func (r *Rung) Served() int64 { return r.Answered - r.Arrived }

// Received returns the time until the client had the reply.
func (r *Rung) Received() int64 { return r.Last - r.Answered }

// Took returns the sum of the four times.
func (r *Rung) Took() int64 { return r.Last - r.First }

// Ladder is the result of a Join.
type Ladder struct {
	Rungs      []Rung // by the time of their first byte
	ClientOnly int    // calls that the server's capture lacks
	ServerOnly int
	LeftOut    int // calls beyond MaxCalls
	Clock      Clock
}

// Clock is the estimate of the difference between the clocks of the captures.
type Clock struct {
	Ahead int64 // nanoseconds by which the server's clock is later than the client's
	Error int64 // at most, if the clocks run equally fast

	// Drift is set if no difference fits all calls, because one clock is faster or was set. Some
	// calls then arrive before they are sent, by at most Error.
	Drift bool
}

// Ladder joins the calls.
func (j *Join) Ladder() Ladder {
	pairs, l := j.pairs()
	l.LeftOut = j.leftOut
	if len(pairs) == 0 {
		return l
	}
	l.Clock = estimate(pairs)
	for _, p := range pairs {
		l.Rungs = append(l.Rungs, Rung{
			Seen: p.client, Arrived: p.server.Whole - l.Clock.Ahead, Answered: p.server.Reply - l.Clock.Ahead,
		})
	}
	slices.SortStableFunc(l.Rungs, func(a, b Rung) int { return cmp.Compare(a.First, b.First) })
	return l
}

type pair struct{ client, server Seen }

// pairs finds the calls that both captures have. Calls with equal keys are paired in their order.
func (j *Join) pairs() (out []pair, l Ladder) {
	whole, short := map[Key][]int{}, map[Key][]int{}
	for i, s := range j.server {
		whole[s.Key] = append(whole[s.Key], i)
		short[s.Key.short()] = append(short[s.Key.short()], i)
	}
	used := make([]bool, len(j.server))
	take := func(m map[Key][]int, k Key) (Seen, bool) {
		for list := m[k]; len(list) > 0; list = m[k] {
			i := list[0]
			m[k] = list[1:]
			if !used[i] {
				used[i] = true
				return j.server[i], true
			}
		}
		return Seen{}, false
	}
	var rest []Seen
	for _, c := range j.client {
		if s, ok := take(whole, c.Key); ok {
			out = append(out, pair{c, s})
		} else {
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		if s, ok := take(short, c.Key.short()); ok {
			out = append(out, pair{c, s})
		} else {
			l.ClientOnly++
		}
	}
	l.ServerOnly = len(j.server) - len(out)
	return out, l
}

// estimate returns the difference of the clocks.
func estimate(pairs []pair) Clock {
	first := true
	var least, most int64
	for _, p := range pairs {
		c, s := p.client.Times, p.server.Times
		low, high := max(s.Reply-c.Reply, s.Last-c.Last), min(s.First-c.First, s.Whole-c.Whole)
		if first {
			least, most, first = low, high, false
		}
		least, most = max(least, low), min(most, high)
	}
	clock := Clock{Ahead: least + (most-least)/2, Error: (most - least + 1) / 2}
	if least > most {
		clock.Error, clock.Drift = (least-most+1)/2, true
	}
	return clock
}

// Swapped reports whether the captures are probably in the wrong order: calls last longer at the
// server.
func (l *Ladder) Swapped() bool {
	n := 0
	for i := range l.Rungs {
		if r := &l.Rungs[i]; r.Served() > r.Took() {
			n++
		}
	}
	return n > len(l.Rungs)/2
}
