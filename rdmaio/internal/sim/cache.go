package sim

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// The reply cache of the servers, with the rule of rdmaio.CacheReplies: a Call is the same as another one by its XID and its
// bytes, as they came, and not by what the simulation knows of it. One that is in progress is waited for. One of another
// connection is answered from the cache only when that connection has ended.

// callKey is what a server knows a Call by.
type callKey struct {
	server int
	xid    uint32
	sum    uint64
}

// cached is a Call that was executed, or is being.
type cached struct {
	key  callKey
	from *end // where it came last
	done bool
}

// retryAfter is how long a Call waits before a server looks again for the one that it repeats.
const retryAfter = time.Millisecond

// lookUp answers a Call from the cache, or executes it.
func (e *end) lookUp(q *engine.Request, p *rpc) {
	w := e.w
	key := callKey{e.i, binary.BigEndian.Uint32(q.Message), maphash.Bytes(w.seed, strip(q.Message, q.Padding, len(p.msg)))}
	c := w.cache[key]
	switch {
	case e.gone: // nobody would hear it
		e.answer(q, engine.Answer{Drop: true})
	case c == nil:
		c = &cached{key: key, from: e}
		w.cache[key] = c
		e.execute(q, p, c)
	case !c.done, c.from != e && !c.from.gone:
		w.note("%s: RPC %d waits for the one before it", e.name, p.tag)
		w.after(retryAfter, e.name+" looks again", func() { e.lookUp(q, p) })
	default:
		c.from = e
		w.fromCache++
		w.after(w.soon(), e.name+" answers from its cache", func() { e.answer(q, e.shape(q, p)) })
	}
}

// finish ends the execution of a Call. One without a reply to keep is forgotten.
func (c *cached) finish(w *world, keep bool) {
	switch {
	case c == nil:
	case keep:
		c.done = true
	default:
		delete(w.cache, c.key)
	}
}
