package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// ready reports whether the first request in the queue, which must not be empty, can be posted,
// or with inside, if it may be while a continued message is sent.
func (rs *responder) ready(inside bool) bool {
	switch r := *rs.answers.at(0); {
	case r.state == readQueued:
		return true
	case r.state == doneQueued:
		return !inside
	case r.hdr.Kind == header.KindError:
		return rs.account.Free(protocol.ClassError)
	default:
		return !inside && rs.account.Free(protocol.ClassAnswer)
	}
}

// post posts a queued request, for which there is room.
func (rs *responder) post(r *Request) {
	switch r.state {
	case readQueued:
		rs.pull(r)
	case doneQueued:
		rs.sendDone(r)
	default:
		rs.send(r)
	}
}

// need returns the entries of the send queue that a queued request takes next, and whether it sends
// a message. most is the size of the send queue: if that cannot hold all Writes of an answer and
// its Send, batches of half of it go before.
func (r *Request) need(most int) (wrs int, message bool) {
	if r.state == readQueued {
		return r.pulling.batch, false
	}
	if n := r.unwritten() + 1; n <= most {
		return n, true
	}
	return most / 2, false
}

// completed moves a Request to the next state when the chain that it waits for has completed.
func (rs *responder) completed(r *Request) {
	switch r.state {
	case reading:
		rs.read(r)
	case sentReads:
		rs.to(r, awaitingDone)
	case doneSent: // the credit was in use until the peer could know (R106)
		rs.account.Ended()
		rs.release(r)
	default:
		rs.release(r)
	}
}
