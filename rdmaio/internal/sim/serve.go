package sim

import (
	"bytes"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

var errMemory = errors.New("sim: no memory")

// serve checks a Call, refuses it or passes it to the handler of this side.
func (e *end) serve(q *engine.Request) {
	w := e.w
	var p *rpc
	if len(q.Message) >= headSize {
		p = w.calls.rpcs[tagOf(q.Message)]
	}
	if cancel.IsCall(q.Message) {
		e.given.serve(q)
		return
	}
	if p == nil || p.from == e.i || !bytes.Equal(strip(q.Message, q.Padding, len(p.msg)), p.msg) {
		w.fail("%s: a Call of %d bytes that was never made", e.name, len(q.Message))
		w.after(0, e.name+" refuses", func() { e.answer(q, engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}) })
		return
	}
	if len(q.Places()) > 0 && q.AssemblySize == 0 {
		w.fail("%s: chunks without an assembly buffer", e.name)
	}
	if w.chance(Refuse) {
		p.narrow = true // it ends like an RPC that does not fit
		w.after(w.soon(), e.name+" refuses", func() { e.answer(q, engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}) })
		return
	}
	message := strip(q.Message, q.Padding, len(p.msg))
	if e.i == 1 && w.limit != nil {
		w.limit.admit(q, e, p, message)
		return
	}
	e.pass(q, p, message)
}

// execute executes a Call and answers it after a while, or drops it.
func (r *responder) execute() {
	w, p, request := r.e.w, r.p, r.request
	r.began = true
	answer := request.Responder // the cache's, if there is one
	d := w.soon()
	switch {
	case w.chance(Drop):
		w.after(d, r.e.name+" gives up", func() { answer.Drop(nil) })
		return
	case w.chance(Slow):
		d += time.Duration(w.rng.IntN(int(2 * chainTimeout)))
	}
	reply := bytes.Clone(p.want)
	w.log.executed(p, r.e, reply)
	w.after(d, r.e.name+" has executed", func() { answer.Reply(oncrpc.Message{Inline: reply}, nil) })
}

// shape plans a reply: inline if it fits, else in the reply chunk, or in read chunks.
func (e *end) shape(q *engine.Request, p *rpc, reply []byte) engine.Answer {
	var a engine.Answer
	for i, c := range q.Offered().Writes {
		data, res := p.fill[i], a.WithResults()
		switch room := header.Total(c); {
		case uint64(len(data)) > room:
			return engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}
		case len(data) == 0:
			res.Data = append(res.Data, verbs.SGE{})
		default:
			res.Data = append(res.Data, verbs.SGE{MR: &region{bytes: data}, Length: len(data)})
		}
	}
	fits := e.w.versions.prefix()+q.Offered().Size()+len(reply) <= e.link.inline[e.i]
	if !fits && e.w.versions.is2() { // R166: it is continued
		fits = uint64(len(reply)) > header.Total(q.Offered().Reply) || e.w.rng.IntN(2) == 0
	}
	if fits {
		half := len(reply) / 8 * 4
		a.Payload = [][]byte{reply[:half], reply[half:]}
		return a
	}
	if uint64(len(reply)) > header.Total(q.Offered().Reply) {
		if e.w.draw.mayOfferReadChunks(p) {
			return e.offerReadChunks(q, p, reply)
		}
		return engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}
	}
	a.WithResults().Long = verbs.SGE{MR: &region{bytes: reply}, Length: len(reply)}
	return a
}

// answer passes a copy of an answer to the engine. The copy is the handler's memory. It is filled
// with poison when the engine releases the Request, so a later use is found.
func (e *end) answer(q *engine.Request, a engine.Answer) {
	q.Answer.Refuse, q.Answer.Drop = a.Refuse, a.Drop
	for _, b := range a.Payload {
		q.Answer.Payload = append(q.Answer.Payload, e.mem.give(q, b))
	}
	if res := a.Results; res != nil {
		to := q.Answer.WithResults()
		for _, s := range append(res.Data, res.Long) {
			if s.MR != nil {
				s.MR = &region{bytes: e.mem.give(q, s.MR.(*region).bytes)}
			}
			to.Data = append(to.Data, s)
		}
		last := len(to.Data) - 1
		to.Long, to.Data = to.Data[last], to.Data[:last]
		to.Reads = append(to.Reads, res.Reads...)
	}
	e.step(engine.Event{Kind: engine.EventReply, Request: q})
	if e.w.cfg.Bugs.ReleaseEarly {
		e.mem.released(q)
	}
}
