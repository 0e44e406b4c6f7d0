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
	if len(q.Placed) > 0 && q.SinkSize == 0 {
		w.fail("%s: chunks without memory", e.name)
	}
	d := w.soon()
	switch {
	case w.chance(Drop):
		e.dropped = true
		w.after(d, e.name+" drops", func() { e.answer(q, engine.Answer{Drop: true}) })
		return
	case w.chance(Refuse):
		p.narrow = true // it will end as one that does not fit
		w.after(d, e.name+" refuses", func() { e.answer(q, engine.Answer{Refuse: header.ErrChunk}) })
		return
	case w.chance(Slow):
		d += time.Duration(w.rng.IntN(int(2 * chainTimeout)))
	}
	if !w.draw.cache || w.executed[p.tag] == 0 {
		w.executed[p.tag]++
	}
	w.after(d, e.name+" answers", func() { e.answer(q, e.shape(q, p)) })
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
	if header.PrefixSize+q.Lists.Size()+len(p.want) <= e.w.draw.inline[e.i] {
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

// answer hands an answer to the engine, in the memory that it gave.
func (e *end) answer(q *engine.Request, a engine.Answer) {
	q.Answer.Refuse, q.Answer.Drop, q.Answer.Long = a.Refuse, a.Drop, a.Long
	q.Answer.Payload = append(q.Answer.Payload, a.Payload...)
	q.Answer.Data = append(q.Answer.Data, a.Data...)
	q.Answer.Reads = append(q.Answer.Reads, a.Reads...)
	e.step(engine.Event{Kind: engine.EventReply, Request: q})
}
