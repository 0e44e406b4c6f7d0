package rdmaio

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ReplyCacheConfig configures CacheReplies. nil is fine: zero fields are the defaults named with them.
type ReplyCacheConfig struct {
	// Entries and Bytes are how much is kept for one client; the oldest replies go first. Default 1024 and 16 MiB.
	Entries, Bytes int

	// Age is how long a reply is kept. Default 5 min.
	Age time.Duration

	// MaxReply is how large a reply, its items included, is worth keeping, bytes: larger ones
	// belong to procedures that may well be executed again. Default 64 KiB.
	MaxReply int

	// Client tells who sent a Call, the same on each of his connections. Default: the
	// host of Conn.RemoteAddr.
	Client func(*Request) string
}

// CacheReplies makes a Handler of another one that executes no Call twice: one that
// a client sends again, as a rule on another connection, is answered with the reply that there was,
// through whatever places and chunks it offers this time, or when there is one (RFC 5531 §8;
// R288, T121). A Call is the same if client, XID, program, version, procedure and the rest of the message are.
func CacheReplies(h Handler, cfg *ReplyCacheConfig) Handler {
	c := &replyCache{next: h, seed: maphash.MakeSeed(), clients: make(map[string]*clientCache)}
	if cfg != nil {
		c.cfg = *cfg
	}
	def := func(f *int, n int) {
		if *f == 0 {
			*f = n
		}
	}
	def(&c.cfg.Entries, 1024)
	def(&c.cfg.Bytes, 16<<20)
	def(&c.cfg.MaxReply, 64<<10)
	if c.cfg.Age == 0 {
		c.cfg.Age = 5 * time.Minute
	}
	if c.cfg.Client == nil {
		c.cfg.Client = func(r *Request) string {
			host, _, err := net.SplitHostPort(r.Conn().RemoteAddr())
			if err != nil {
				return r.Conn().RemoteAddr()
			}
			return host
		}
	}
	return c
}

// replyCache is the handler.
type replyCache struct {
	cfg  ReplyCacheConfig
	next Handler
	seed maphash.Seed

	mu      sync.Mutex
	clients map[string]*clientCache
	swept   time.Time
}

// clientCache is what is kept of one client.
type clientCache struct {
	entries map[callKey]*list.Element // of *cached
	order   list.List                 // oldest first
	bytes   int
}

// callKey tells Calls apart.
type callKey struct {
	xid uint32
	sum uint64 // of the whole message
	n   int
}

// cached is a Call that was executed, or is being.
type cached struct {
	key     callKey
	at      time.Time
	done    bool
	reply   Message // with memory of its own
	waiting []*Request
}

// ServeRPC implements Handler.
func (c *replyCache) ServeRPC(r *Request) {
	key := callKey{xid: binary.BigEndian.Uint32(r.Message), sum: maphash.Bytes(c.seed, r.Message), n: len(r.Message)}
	who := c.cfg.Client(r)
	now := time.Now()
	c.mu.Lock()
	c.sweep(now)
	cl := c.clients[who]
	if cl == nil {
		cl = &clientCache{entries: make(map[callKey]*list.Element)}
		c.clients[who] = cl
	}
	if el, ok := cl.entries[key]; ok {
		e := el.Value.(*cached)
		if !e.done {
			e.waiting = append(e.waiting, r)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		r.Reply(e.reply, nil) // which nobody writes to any more
		return
	}
	e := &cached{key: key, at: now}
	cl.entries[key] = cl.order.PushBack(e)
	cl.trim(&c.cfg)
	c.mu.Unlock()
	r.tap = func(m *Message) { c.executed(cl, e, m) }
	c.next.ServeRPC(r)
}

// executed keeps a reply, and answers those who waited for it. nil: there is none.
func (c *replyCache) executed(cl *clientCache, e *cached, m *Message) {
	keep := m != nil && m.bytes() <= c.cfg.MaxReply
	var reply Message
	if keep {
		reply = m.clone()
	}
	c.mu.Lock()
	waiting := e.waiting
	e.waiting, e.done, e.reply = nil, true, reply
	if el, ok := cl.entries[e.key]; ok && el.Value == e {
		if keep {
			cl.bytes += reply.bytes()
			cl.trim(&c.cfg)
		} else {
			delete(cl.entries, e.key)
			cl.order.Remove(el)
		}
	}
	c.mu.Unlock()
	if m != nil && !keep && len(waiting) > 0 {
		reply = m.clone() // for these, who may send it for longer than the handler's memory is ours
	}
	for _, r := range waiting {
		if m == nil {
			r.Drop(nil)
		} else {
			r.Reply(reply, nil)
		}
	}
}

// trim lets the oldest replies go while there is too much. Calls in progress stay: credits bound them.
func (cl *clientCache) trim(cfg *ReplyCacheConfig) {
	for el := cl.order.Front(); el != nil && (cl.order.Len() > cfg.Entries || cl.bytes > cfg.Bytes); {
		next := el.Next()
		if e := el.Value.(*cached); e.done {
			cl.remove(el)
		}
		el = next
	}
}

func (cl *clientCache) remove(el *list.Element) {
	e := cl.order.Remove(el).(*cached)
	delete(cl.entries, e.key)
	cl.bytes -= e.reply.bytes()
}

// sweep lets go what is too old, now and then. mu is locked.
func (c *replyCache) sweep(now time.Time) {
	if now.Sub(c.swept) < c.cfg.Age/8 {
		return
	}
	c.swept = now
	for who, cl := range c.clients {
		for el := cl.order.Front(); el != nil; {
			next := el.Next()
			if e := el.Value.(*cached); e.done && now.Sub(e.at) >= c.cfg.Age {
				cl.remove(el)
			}
			el = next
		}
		if cl.order.Len() == 0 {
			delete(c.clients, who)
		}
	}
}

// clone copies a message to memory of its own.
func (m *Message) clone() Message {
	out := Message{Inline: bytes.Clone(m.Inline), Items: append([]xdr.Item(nil), m.Items...)}
	for i := range out.Items {
		out.Items[i].Data = bytes.Clone(out.Items[i].Data)
	}
	return out
}

// bytes is the length of all that a message has.
func (m *Message) bytes() int {
	n := len(m.Inline)
	for i := range m.Items {
		n += len(m.Items[i].Data)
	}
	return n
}
