package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var errMemory = errors.New("sim: no memory")

// serve is the handler of both sides. It checks a Call, executes it or finds it in the cache, and
// answers after a while.
func (e *end) serve(q *engine.Request) {
	w := e.w
	var p *rpc
	if len(q.Message) >= headSize {
		p = w.calls.rpcs[binary.BigEndian.Uint64(q.Message[8:])]
	}
	if p == nil || p.from == e.i || !bytes.Equal(strip(q.Message, q.Padding, len(p.msg)), p.msg) {
		w.fail("%s: a Call of %d bytes that was never made", e.name, len(q.Message))
		w.after(0, e.name+" refuses", func() { e.answer(q, engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}) })
		return
	}
	if len(q.Placed) > 0 && q.AssemblySize == 0 {
		w.fail("%s: chunks without an assembly buffer", e.name)
	}
	if w.draw.cache {
		e.lookUp(q, p)
		return
	}
	e.execute(q, p, nil)
}

// execute executes a Call, or makes a fault of the handler. c is its entry in the cache, or nil.
func (e *end) execute(q *engine.Request, p *rpc, c *cached) {
	w := e.w
	d := w.soon()
	end := func(how string, keep bool, answer func() engine.Answer) {
		w.after(d, e.name+how, func() {
			c.finish(w, keep)
			e.answer(q, answer())
		})
	}
	switch {
	case w.chance(Drop):
		e.dropped = true
		end(" drops", false, func() engine.Answer { return engine.Answer{Drop: true} })
		return
	case w.chance(Refuse):
		p.narrow = true // it ends like an RPC that does not fit
		end(" refuses", false, func() engine.Answer { return engine.Answer{Refuse: header.Error{Code: header.ErrChunk}} })
		return
	case w.chance(Slow):
		d += time.Duration(w.rng.IntN(int(2 * chainTimeout)))
	}
	w.calls.executed[p.tag]++
	end(" answers", true, func() engine.Answer { return e.shape(q, p) })
}

// shape plans a reply: inline if it fits, else in the reply chunk, or in read chunks.
func (e *end) shape(q *engine.Request, p *rpc) engine.Answer {
	var a engine.Answer
	for i, c := range q.Lists.Writes {
		data := p.fill[i]
		switch room := header.Total(c); {
		case uint64(len(data)) > room:
			return engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}
		case len(data) == 0:
			a.Data = append(a.Data, verbs.SGE{})
		default:
			a.Data = append(a.Data, verbs.SGE{MR: &region{bytes: data}, Length: len(data)})
		}
	}
	fits := e.w.versions.prefix()+q.Lists.Size()+len(p.want) <= e.link.inline[e.i]
	if !fits && e.w.versions.is2() { // R166: it is continued
		fits = uint64(len(p.want)) > header.Total(q.Lists.Reply) || e.w.rng.IntN(2) == 0
	}
	if fits {
		half := len(p.want) / 8 * 4
		a.Payload = [][]byte{p.want[:half], p.want[half:]}
		return a
	}
	if uint64(len(p.want)) > header.Total(q.Lists.Reply) {
		if e.w.draw.mayOfferReadChunks(p) {
			return e.offerReadChunks(q, p)
		}
		return engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}
	}
	a.Long = verbs.SGE{MR: &region{bytes: p.want}, Length: len(p.want)}
	return a
}

// answer passes a copy of an answer to the engine. The copy is the handler's memory. It is filled
// with poison when the engine releases the Request, so a later use is found.
func (e *end) answer(q *engine.Request, a engine.Answer) {
	q.Answer.Refuse, q.Answer.Drop = a.Refuse, a.Drop
	for _, b := range a.Payload {
		q.Answer.Payload = append(q.Answer.Payload, e.mem.give(q, b))
	}
	for _, s := range append(a.Data, a.Long) {
		if s.MR != nil {
			s.MR = &region{bytes: e.mem.give(q, s.MR.(*region).bytes)}
		}
		q.Answer.Data = append(q.Answer.Data, s)
	}
	last := len(q.Answer.Data) - 1
	q.Answer.Long, q.Answer.Data = q.Answer.Data[last], q.Answer.Data[:last]
	q.Answer.Reads = append(q.Answer.Reads, a.Reads...)
	e.step(engine.Event{Kind: engine.EventReply, Request: q})
	if e.w.cfg.ReleaseEarly {
		e.mem.released(q)
	}
}
