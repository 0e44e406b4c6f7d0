package sim

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// The reply cache of the servers follows the rules of replycache.New. Two Calls are the same
// if their XIDs and bytes are, whichever RPC of the simulation they belong to. A repeated Call
// waits while the first one is in progress. A Call of another connection is answered from the cache
// only when that connection is closed.

// callKey identifies a Call at a server.
type callKey struct {
	server int
	xid    uint32
	sum    uint64
}

// cached is a Call that was executed or is being executed.
type cached struct {
	key  callKey
	from *end // the connection that it came on last
	done bool
}

// replies are the reply caches of the servers.
type replies struct {
	cache map[callKey]*cached
	seed  maphash.Seed
}

func newReplies() replies { return replies{make(map[callKey]*cached), maphash.MakeSeed()} }

// retryAfter is the time that a repeated Call waits before the server looks for the first one
// again.
const retryAfter = time.Millisecond

// lookUp answers a Call from the cache, or executes it.
func (e *end) lookUp(q *engine.Request, p *rpc) {
	w := e.w
	key := callKey{e.i, binary.BigEndian.Uint32(q.Message), maphash.Bytes(w.replies.seed, strip(q.Message, q.Padding, len(p.msg)))}
	c := w.replies.cache[key]
	switch {
	case e.gone: // the reply could not be sent
		e.answer(q, engine.Answer{Drop: true})
	case c == nil:
		c = &cached{key: key, from: e}
		w.replies.cache[key] = c
		e.execute(q, p, c)
	case !c.done, c.from != e && !c.from.gone:
		w.note("%s: RPC %d waits for the one before it", e.name, p.tag)
		w.after(retryAfter, e.name+" looks again", func() { e.lookUp(q, p) })
	default:
		c.from = e
		w.tally.fromCache++
		w.after(w.soon(), e.name+" answers from its cache", func() { e.answer(q, e.shape(q, p)) })
	}
}

// finish notes that a Call was executed. Without keep there is no reply, so the entry is removed.
func (c *cached) finish(w *world, keep bool) {
	switch {
	case c == nil:
	case keep:
		c.done = true
	default:
		delete(w.replies.cache, c.key)
	}
}
