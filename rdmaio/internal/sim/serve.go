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

// serve is the handler of either side: it looks at a Call, executes it or remembers that it
// did, and answers in its time.
func (e *end) serve(q *engine.Request) {
	w := e.w
	var p *rpc
	if len(q.Message) >= headSize {
		p = w.rpcs[binary.BigEndian.Uint64(q.Message[8:])]
	}
	if p == nil || p.from == e.i || !bytes.Equal(strip(q.Message, q.Padding, len(p.msg)), p.msg) {
		w.fail("%s: a Call of %d bytes that nobody made", e.name, len(q.Message))
		w.after(0, e.name+" refuses", func() { e.answer(q, engine.Answer{Refuse: header.ErrChunk}) })
		return
	}
	if len(q.Placed) > 0 && q.AssemblySize == 0 {
		w.fail("%s: chunks without memory", e.name)
	}
	if w.draw.cache {
		e.lookUp(q, p)
		return
	}
	e.execute(q, p, nil)
}

// execute is what a handler does with a Call. c is its entry in the cache, if there is one.
func (e *end) execute(q *engine.Request, p *rpc, c *cached) {
	w := e.w
	d := w.soon()
	over := func(how string, keep bool, answer func() engine.Answer) {
		w.after(d, e.name+how, func() {
			c.finish(w, keep)
			e.answer(q, answer())
		})
	}
	switch {
	case w.chance(Drop):
		e.dropped = true
		over(" drops", false, func() engine.Answer { return engine.Answer{Drop: true} })
		return
	case w.chance(Refuse):
		p.narrow = true // it will end as one that does not fit
		over(" refuses", false, func() engine.Answer { return engine.Answer{Refuse: header.ErrChunk} })
		return
	case w.chance(Slow):
		d += time.Duration(w.rng.IntN(int(2 * chainTimeout)))
	}
	w.executed[p.tag]++
	over(" answers", true, func() engine.Answer { return e.shape(q, p) })
}

// shape chooses how a reply goes: inline if it fits, else by the reply chunk.
func (e *end) shape(q *engine.Request, p *rpc) engine.Answer {
	var a engine.Answer
	for i, c := range q.Lists.Writes {
		data := p.fill[i]
		switch room := header.Total(c); {
		case uint64(len(data)) > room:
			return engine.Answer{Refuse: header.ErrChunk}
		case len(data) == 0:
			a.Data = append(a.Data, verbs.SGE{})
		default:
			a.Data = append(a.Data, verbs.SGE{MR: &region{bytes: data}, Length: len(data)})
		}
	}
	if header.PrefixSize+q.Lists.Size()+len(p.want) <= e.link.inline[e.i] {
		half := len(p.want) / 8 * 4
		a.Payload = [][]byte{p.want[:half], p.want[half:]}
		return a
	}
	if uint64(len(p.want)) > header.Total(q.Lists.Reply) {
		if e.w.draw.lends(p) {
			return e.lendReply(q, p)
		}
		return engine.Answer{Refuse: header.ErrChunk}
	}
	a.Long = verbs.SGE{MR: &region{bytes: p.want}, Length: len(p.want)}
	return a
}

// answer hands an answer to the engine, in memory of its own, and in the memory that the engine gave. It is the handler's
// memory until the engine releases the Request: what the engine still takes from it then is poison.
func (e *end) answer(q *engine.Request, a engine.Answer) {
	q.Answer.Refuse, q.Answer.Drop = a.Refuse, a.Drop
	for _, b := range a.Payload {
		q.Answer.Payload = append(q.Answer.Payload, e.give(q, b))
	}
	for _, s := range append(a.Data, a.Long) {
		if s.MR != nil {
			s.MR = &region{bytes: e.give(q, s.MR.(*region).bytes)}
		}
		q.Answer.Data = append(q.Answer.Data, s)
	}
	last := len(q.Answer.Data) - 1
	q.Answer.Long, q.Answer.Data = q.Answer.Data[last], q.Answer.Data[:last]
	q.Answer.Reads = append(q.Answer.Reads, a.Reads...)
	e.step(engine.Event{Kind: engine.EventReply, Request: q})
	if e.w.cfg.ReleaseEarly {
		e.released(q)
	}
}

// give returns a copy that is the handler's memory for a Request.
func (e *end) give(q *engine.Request, b []byte) []byte {
	b = bytes.Clone(b)
	e.given[q] = append(e.given[q], b)
	return b
}
