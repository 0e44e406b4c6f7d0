package sim

import (
	"math/rand/v2"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// This file has the choices for version 2. They come from their own generator, so runs of
// version 1 alone are as they would be without version 2.

// versions are the choices of a run for the versions of both ends.
type versions struct {
	lists  [2][]int         // of each end, in order of preference
	number int              // of the connections; 0: the ends have no common version
	fall   bool             // the client offers version 2, and falls back to version 1
	mixed  bool             // an end has version 2
	own    [2]v2.Properties // of each end
	room   int              // engine.Config.MaxContinued
}

// drawVersions makes these choices. In half of the runs both ends have version 1 alone.
func drawVersions(r *rand.Rand) (v versions) {
	v.lists = [2][]int{{1}, {1}}
	if r.IntN(2) == 0 {
		all := [][]int{{1}, {2}, {1, 2}, {2, 1}}
		v.lists = [2][]int{all[r.IntN(4)], all[r.IntN(4)]}
		switch r.IntN(5) {
		case 0, 1: // more of version 2
			v.lists = [2][]int{all[1+2*r.IntN(2)], all[1+r.IntN(3)]}
		case 2: // more of falling back
			v.lists = [2][]int{all[3], all[0]}
		}
	}
	has := func(i, n int) bool { return v.lists[i][0] == n || len(v.lists[i]) > 1 }
	v.mixed = has(0, 2) || has(1, 2)
	first := v.lists[0][0]
	switch {
	case has(1, first):
		v.number = first
	case first == 2 && has(0, 1):
		v.number, v.fall = 1, true
	}
	for i := range v.own {
		v.own[i] = v2.Properties{
			MaxSend: uint32(4096 + 4*r.IntN(1024)), ReceiveSize: uint32(4096 + 4*r.IntN(1024)), Reverse: v2.ReverseGeneral, Segments: mostSegments,
		}
	}
	v.room = 1 << 17
	return v
}

// apply changes the choices of version 1 where version 2 has other rules.
func (v *versions) apply(d *draw, r *rand.Rand) {
	if !v.mixed {
		return
	}
	d.follows, d.legacy = [2]bool{}, false
	d.rate[Resize], d.rate[Pad], d.rate[NoDone] = 0, 0, 0
	switch {
	case v.number == 0, v.number == 1 && !v.fall && len(v.lists[1]) > 1:
		// Reverse Calls wait for the first message of the client, which may have nothing to send.
		d.credits[1] = 0
		return
	case v.number == 1:
		return
	}
	d.inline = [2]int{int(min(v.own[0].MaxSend, v.own[1].ReceiveSize)), int(min(v.own[1].MaxSend, v.own[0].ReceiveSize))}
	if r.IntN(3) == 0 {
		v.strange(d, r)
	}
	if r.IntN(4) == 0 { // ceilings of 1
		d.credits, d.limits = [2]int{1, 0}, [2]int{1, 1}
	}
}

// strange makes an end a stranger, which has neither chunks nor extensions, and refuses nothing.
func (v *versions) strange(d *draw, r *rand.Rand) {
	i := r.IntN(2)
	d.stranger, d.lazy = i+1, r.IntN(2) == 0
	v.own[i].MaxSend, v.own[i].ReceiveSize = v2.LeastInline, v2.LeastInline
	d.inline = [2]int{v2.LeastInline, v2.LeastInline}
	d.lends[i], d.sendWRs[i], d.reverseChunks, d.onDemand = false, 64, false, [2]bool{}
	for _, f := range []Fault{NoMemory, Refuse, Drop, Narrow, Extend, Over} {
		d.rate[f] = 0
	}
	d.rate[KeepAlive] = 0.1 + 0.9*r.Float64()
}

// chunks reports whether Calls of a side have chunks.
func (d *draw) chunks(from int) bool { return d.stranger == 0 && (from == 0 || d.reverseChunks) }

// isStranger reports whether the end is not the product's.
func (e *end) isStranger() bool { return e.w.draw.stranger == e.i+1 }

// is2 reports whether the connections of the run have version 2.
func (v *versions) is2() bool { return v.number == 2 }

// prefix returns the length of a header without lists.
func (v *versions) prefix() int {
	if v.is2() {
		return header.PrefixSize + 8 // flags and rdma_inv_handle
	}
	return header.PrefixSize
}

// of returns the versions that end i has, for a new engine.
func (v *versions) of(i int, d *draw, b *Bugs) (list []protocol.Version) {
	for _, n := range v.lists[i] {
		if n == 1 {
			list = append(list, new(v1.Version))
			continue
		}
		var two protocol.Version = v2.New(v2.Config{Dialed: i == 0, Own: v.own[i], Invalidate: d.own[i].RemoteInvalidate, Types: types})
		if b.Mute {
			two = mute{two}
		}
		list = append(list, two)
	}
	return list
}

// spoiling is engine.Config.Memory of all ends. It fills memory with poison when that is given
// back, so that a later use is found.
type spoiling struct{}

func (spoiling) Take(n int) []byte { return make([]byte, n) }

func (spoiling) Give(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = poison
	}
}

// configure sets what version 2 needs.
func (e *end) configure(cfg *engine.Config) {
	cfg.Versions = e.w.versions.of(e.i, &e.w.draw, &e.w.cfg.Bugs)
	cfg.OfferTimeout, cfg.OfferXID = 4*chainTimeout, 0xfff00000+uint32(e.w.tally.links)
	cfg.MaxContinued, cfg.Reserve = e.w.versions.room, e.mem.reserve
	cfg.Memory = spoiling{}
}

// issue2 gives the message of a try a shape of version 2: inline, continued, or by chunk. read
// offers data as a read chunk.
func (p *rpc) issue2(e *end, read func(position int, data []byte)) {
	w := e.w
	chunks := w.draw.chunks(p.from)
	if n := len(p.regions); n > 0 && w.draw.own[e.i].RemoteInvalidate && w.rng.IntN(4) > 0 { // R259
		r := p.regions[w.rng.IntN(n)]
		p.call.NamedKey, r.named = r.key, p.xid
	}
	rest := p.msg
	if chunks && w.rng.IntN(2) == 0 {
		rest = without(p.msg, p.cut)
		for _, c := range p.cut {
			read(c.at, p.msg[c.at:c.at+c.n])
		}
	}
	if len(rest) < len(p.msg) || !chunks || w.rng.IntN(2) == 0 {
		p.lent = append([]byte(nil), rest...)
		half := len(p.lent) / 8 * 4
		p.call.Payload = [][]byte{p.lent[:half], p.lent[half:]}
		return
	}
	p.call.Long = true
	read(0, rest)
}
