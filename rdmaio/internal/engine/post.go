package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// pump posts the Calls, answers and RDMA Reads that fit. Both directions share the send queue and
// its buffers, in strict FIFO order by their tickets: if the first one does not fit, nothing is
// posted (R283). Calls that wait for a credit are skipped.
func (e *Engine) pump() {
	e.stuck = false
	for e.open {
		calls, answers := e.waiting.len() > 0 && e.credit.Free(), e.answers.len() > 0
		if calls && answers {
			calls = (*e.waiting.at(0)).ticket < (*e.answers.at(0)).ticket
		}
		switch {
		case calls:
			if e.stuck = !e.room(1, true); e.stuck {
				e.wantBuffers()
				return
			}
			e.sendCall(e.waiting.pop())
		case answers:
			r := *e.answers.at(0)
			if e.stuck = !e.room(r.need()); e.stuck {
				e.wantBuffers()
				return
			}
			e.answers.pop()
			switch r.state {
			case readQueued:
				e.pull(r)
			case doneQueued:
				e.sendDone(r)
			default:
				e.send(r)
			}
		default:
			return
		}
	}
}

// nextTicket returns the next place in the queue for send queue entries.
func (e *Engine) nextTicket() uint64 {
	e.lastTicket++
	return e.lastTicket
}

// wait queues a request for send queue entries: s is readQueued, queued or doneQueued.
func (e *Engine) wait(r *Request, s requestState) {
	e.to(r, s)
	r.ticket = e.nextTicket()
	e.answers.push(r)
}

// room reports whether a chain of n requests can be posted. With message it needs a send buffer,
// too.
func (e *Engine) room(n int, message bool) bool {
	return e.sqUsed+n <= e.cfg.SendWRs && (!message || len(e.sends.free) > 0)
}

// begin opens a chain of n requests and returns its id. r is the Request that waits for its
// completion, or nil. If this Step has posted another chain just before, for which no Request
// waits, that one becomes quiet: completions of a send queue come in post order, so this chain's
// stands for both.
func (e *Engine) begin(n int, buf *Buffer, r *Request) uint64 {
	e.seq++
	if e.last != none {
		e.eff.Sends[e.last].Flags &^= verbs.SendSignaled
		e.chains.at(e.chains.len() - 1).quiet = true
	}
	e.last = len(e.eff.Sends) + n - 1
	if r != nil {
		e.last = none
		e.awaited++
	}
	e.sqUsed += n
	e.chains.push(chain{id: e.seq, wrs: n, buf: buf, req: r, deadline: e.now + e.cfg.ChainTimeout})
	return e.seq
}

// add appends one request to Effects.Sends.
func (e *Engine) add(wr verbs.SendWR, sge verbs.SGE) {
	e.sges = append(e.sges, sge)
	k := len(e.sges)
	wr.SGL = e.sges[k-1 : k : k]
	e.eff.Sends = append(e.eff.Sends, wr)
}

// message encodes a header and the payload into a send buffer. It returns the buffer and the length
// of the message, or an error if it does not fit.
func (e *Engine) message(m *header.Message, payload [][]byte) (buf *Buffer, n int, err error) {
	buf = e.sends.last()
	mem := buf.Bytes
	mem = mem[:min(len(mem), e.terms.Send)]         // RFC 8166 §3.3.2: header and payload; R37, R44
	b, err := e.version.Append(mem[:0:len(mem)], m) // RFC 8166 §3.2: every Send has a header; R13
	if err != nil {
		return nil, 0, err
	}
	n = len(b)
	for _, p := range payload {
		if len(p) > len(mem)-n { // R33, R37
			return nil, 0, &SizeError{Need: n + len(p), Limit: len(mem)}
		}
		n += copy(mem[n:], p)
	}
	e.sends.take()
	return buf, n, nil
}

// sent handles the completion of a chain. The completions of a send queue come in post order, so it
// is the oldest chain that is not quiet.
func (e *Engine) sent(wc *verbs.WC) {
	for e.chains.len() > 0 && e.chains.at(0).quiet {
		e.finishChain(e.chains.pop())
	}
	if e.chains.len() == 0 || e.chains.at(0).id != wc.WRID {
		e.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("completion of chain %d is out of order", wc.WRID)})
		return
	}
	e.finishChain(e.chains.pop())
}

// finishChain frees the resources of a completed chain, and moves its Request to the next state.
func (e *Engine) finishChain(c chain) {
	e.sqUsed -= c.wrs
	if c.buf != nil {
		e.sends.put(c.buf)
	}
	if c.req == nil {
		return
	}
	e.awaited--
	switch c.req.state {
	case reading:
		e.read(c.req)
	case sentReads:
		e.to(c.req, awaitingDone)
	case doneSent: // the credit was in use until the peer could know (R106)
		e.credit.Ended()
		e.release(c.req)
	default:
		e.release(c.req)
	}
}
