package rdmaio

import (
	"bytes"
	"container/list"
	"context"
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ReplyCacheConfig configures CacheReplies. nil is fine: zero fields are the defaults named with them.
type ReplyCacheConfig struct {
	// Idempotent reports whether a procedure may be executed twice without harm. Its Calls pass the cache by: they are
	// neither looked up nor kept. If nil, the handler's own method Idempotent of this form is used, which rpc.Handler
	// has; without one, the Calls of all procedures go through the cache.
	Idempotent func(program, version, procedure uint32) bool

	// Client returns the identity of the client that sent a Call, the same on each of its connections and different from
	// that of every other client, as an upper layer with sessions knows it. If nil, the default is the host of
	// Conn.RemoteAddr, which several clients may share: see CacheReplies for what that means.
	Client func(*Request) string

	// Grace is the time for which a Call is held back that equals one of another connection of the same host, while that
	// connection stands. It is not used with Client. If zero, the default is 1 s. If negative, no Call is held back.
	Grace time.Duration

	// Entries and Bytes are the number of replies kept for one source, and their size in bytes with 256 for each; the oldest
	// go first. A source is a client named by Client, or else an IPv4 address or an IPv6 /64, as package rdmatcp counts them.
	// If zero, the defaults are 1024 and 16 MiB. If negative, there is no limit.
	Entries, Bytes int

	// MaxBytes and MaxSources are the same for all sources together. The source that has most gives way to the others; of too
	// many sources the one that was silent longest is forgotten.
	// If zero, the defaults are 256 MiB and 1024. If negative, there is no limit.
	MaxBytes, MaxSources int

	// Age is how long a reply is kept. If zero, the default is 5 min.
	Age time.Duration

	// MaxReply is the size in bytes, items included, of the largest reply that is kept. A Call with a larger one is executed
	// again when it is sent again; ReplyCacheStats.TooLarge counts them. If zero, the default is 64 KiB. If
	// negative, there is no limit but Bytes.
	MaxReply int
}

// entryBytes is what an entry costs besides its reply, about.
const entryBytes = 256

// settled returns the configuration with its defaults.
func (cfg *ReplyCacheConfig) settled(h Handler) ReplyCacheConfig {
	var s ReplyCacheConfig
	if cfg != nil {
		s = *cfg
	}
	limit := func(f *int, def int) {
		switch {
		case *f == 0:
			*f = def
		case *f < 0:
			*f = int(^uint(0) >> 1)
		}
	}
	limit(&s.Entries, 1024)
	limit(&s.Bytes, 16<<20)
	limit(&s.MaxBytes, 256<<20)
	limit(&s.MaxSources, 1024)
	limit(&s.MaxReply, 64<<10)
	if s.Age == 0 {
		s.Age = 5 * time.Minute
	}
	if s.Grace == 0 {
		s.Grace = time.Second
	}
	if s.Idempotent == nil {
		s.Idempotent = func(_, _, _ uint32) bool { return false }
		if k, ok := h.(interface {
			Idempotent(program, version, procedure uint32) bool
		}); ok {
			s.Idempotent = k.Idempotent
		}
	}
	return s
}

// CacheReplies returns a Handler that passes Calls on to h and executes none twice that is not idempotent: a Call that a
// client sends again is answered with the reply to the first, through whatever chunks it offers this time, or waits
// for that reply while the first is in progress (RFC 5531 §8; R288, T121). Two Calls are the same if
// the client, the XID and every byte of the message are.
//
// By default a client is known by its host only, where several may live. So a Call is never answered from what another
// connection brought while that one stands: clients send a Call again after they lost the connection. An equal Call is
// held back for ReplyCacheConfig.Grace, since a server may learn of the loss later than the client; if the
// other connection still stands then, it is another client's, and executed. What is left is two clients of
// one host of which the second makes the same Call with the same XID after the first has gone: clients that begin with
// a fixed XID need a ReplyCacheConfig.Client to be told apart.
//
// A Call whose connection has gone before it was executed is dropped: its client may have sent it again already.
func CacheReplies(h Handler, cfg *ReplyCacheConfig) *ReplyCache {
	return &ReplyCache{
		cfg: cfg.settled(h), next: h, seed: maphash.MakeSeed(),
		entries: make(map[callKey][]*cached), sources: make(map[string]*replySource),
	}
}

// ReplyCache is the Handler that CacheReplies returns.
type ReplyCache struct {
	cfg  ReplyCacheConfig
	next Handler
	seed maphash.Seed

	mu      sync.Mutex
	entries map[callKey][]*cached // one for each connection that stands
	sources map[string]*replySource
	recent  list.List // of *replySource, the longest silent first
	swept   time.Time
	stats   ReplyCacheStats
}

// ReplyCacheStats counts what a ReplyCache did.
type ReplyCacheStats struct {
	Hits     uint64 // Calls answered with a reply that was kept
	Waited   uint64 // Calls that waited for the reply to the same Call in progress
	Held     uint64 // Calls held back since another connection of their host, still standing, brought the same
	TooLarge uint64 // replies larger than MaxReply, whose Calls would be executed again
	Evicted  uint64 // replies that went before their Age, for want of room

	// State.
	Sources, Entries, Running int
	Bytes                     int // of replies, with 256 for each entry
}

// Stats returns the counts.
func (c *ReplyCache) Stats() ReplyCacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Sources = len(c.sources)
	return s
}

// callKey is what two Calls that are the same have in common.
type callKey struct {
	client string
	xid    uint32
	sum    uint64 // of the whole message
	n      int
}

// cached is a Call that was executed, or is in progress.
type cached struct {
	key     callKey
	source  *replySource
	from    context.Context // of the connection that brought it last
	done    *list.Element   // in source.order; nil: in progress
	at      time.Time       // when it was done
	reply   Message         // with memory of its own
	waiting []*Request
}

// replySource is what is kept for one source.
type replySource struct {
	name    string
	recent  *list.Element
	order   list.List // of *cached with a reply, oldest first
	running int       // Calls in progress
	bytes   int
}

// ServeRPC implements Handler.
func (c *ReplyCache) ServeRPC(r *Request) {
	rpc := r.conn.rpcOf(r.Message)
	if c.cfg.Idempotent(rpc.Program, rpc.Version, rpc.Procedure) {
		c.next.ServeRPC(r)
		return
	}
	key := callKey{xid: rpc.XID, sum: maphash.Bytes(c.seed, r.Message), n: len(r.Message)}
	source := ""
	if c.cfg.Client != nil {
		key.client = c.cfg.Client(r)
		source = key.client
	} else {
		key.client, source = hostOf(r.conn.RemoteAddr())
	}
	c.serve(r, key, source, c.cfg.Grace > 0)
}

// serve answers a Call from the cache or has it executed. hold says that it may be held back first.
func (c *ReplyCache) serve(r *Request, key callKey, source string, hold bool) {
	c.mu.Lock()
	c.sweep(time.Now())
	e, others := c.find(key, r.conn.ctx)
	switch {
	case r.conn.ctx.Err() != nil:
		c.mu.Unlock()
		r.Drop(nil)
	case e != nil && e.done == nil:
		e.waiting = append(e.waiting, r)
		c.stats.Waited++
		c.mu.Unlock()
	case e != nil:
		c.stats.Hits++
		c.mu.Unlock()
		r.Reply(e.reply, nil) // nothing writes to it any more
	case hold && len(others) > 0:
		c.stats.Held++
		c.mu.Unlock()
		go c.hold(r, key, source, others)
	default:
		e = c.add(key, source, r.conn.ctx)
		c.mu.Unlock()
		r.tap = func(m *Message) { c.executed(e, m) }
		c.next.ServeRPC(r)
	}
}

// find returns the entry that a Call of a connection is to be answered from, and else the connections, still standing, that
// brought the same Call. mu is locked.
func (c *ReplyCache) find(key callKey, from context.Context) (found *cached, others []context.Context) {
	for _, e := range c.entries[key] {
		switch {
		case e.from == from:
			return e, nil
		case c.cfg.Client != nil || e.from.Err() != nil:
			found = e
		case len(others) < maxHeldFor:
			others = append(others, e.from)
		}
	}
	if found != nil {
		found.from = from // and of no other connection while this one stands
	}
	return found, others
}

// maxHeldFor is how many connections a Call is held back for. A client that lost its connection has one.
const maxHeldFor = 8

// hold waits until a connection that brought the same Call is gone, for as long as Grace, and serves the Call then.
func (c *ReplyCache) hold(r *Request, key callKey, source string, others []context.Context) {
	gone := make(chan struct{}, 1)
	for _, from := range others {
		defer context.AfterFunc(from, func() {
			select {
			case gone <- struct{}{}:
			default:
			}
		})()
	}
	grace := time.NewTimer(c.cfg.Grace)
	defer grace.Stop()
	select {
	case <-gone:
	case <-grace.C:
	case <-r.conn.ctx.Done():
	}
	r.conn.dispatch(r, HandlerFunc(func(r *Request) { c.serve(r, key, source, false) }))
}

// add begins an entry. mu is locked.
func (c *ReplyCache) add(key callKey, name string, from context.Context) *cached {
	s := c.sources[name]
	if s == nil {
		s = &replySource{name: name}
		s.recent = c.recent.PushBack(s)
		c.sources[name] = s
	} else {
		c.recent.MoveToBack(s.recent)
	}
	e := &cached{key: key, source: s, from: from}
	c.entries[key] = append(c.entries[key], e)
	s.running++
	c.stats.Running++
	for el := c.recent.Front(); el != nil && len(c.sources) > c.cfg.MaxSources; {
		next := el.Next()
		if s := el.Value.(*replySource); s.running == 0 {
			for s.order.Len() > 0 {
				c.evict(s)
			}
			c.forget(s)
		}
		el = next
	}
	return e
}

// executed keeps a reply, and answers those who waited for it. nil: there is none.
func (c *ReplyCache) executed(e *cached, m *Message) {
	keep := m != nil && m.bytes() <= c.cfg.MaxReply
	var reply Message
	if keep {
		reply = m.clone()
	}
	c.mu.Lock()
	s, waiting := e.source, e.waiting
	e.waiting, e.reply = nil, reply
	s.running--
	c.stats.Running--
	if keep {
		e.done, e.at = s.order.PushBack(e), time.Now()
		c.stats.Entries++
		c.charge(s, entryBytes+reply.bytes())
		for s.order.Len() > c.cfg.Entries || s.bytes > c.cfg.Bytes {
			c.evict(s)
		}
		for c.stats.Bytes > c.cfg.MaxBytes {
			c.evict(c.largest())
		}
	} else {
		if m != nil {
			c.stats.TooLarge++
		}
		c.unlist(e)
	}
	c.mu.Unlock()
	if m != nil && !keep && len(waiting) > 0 {
		reply = m.clone() // they may send it for longer than the handler's memory is ours
	}
	for _, r := range waiting {
		if m == nil {
			r.Drop(nil)
		} else {
			r.Reply(reply, nil)
		}
	}
}

func (c *ReplyCache) charge(s *replySource, n int) {
	s.bytes += n
	c.stats.Bytes += n
}

// largest returns the source that has most. There are MaxSources to look at, and only when there is MaxBytes of replies.
func (c *ReplyCache) largest() (most *replySource) {
	for _, s := range c.sources {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most
}

// evict lets the oldest reply of a source go before its time.
func (c *ReplyCache) evict(s *replySource) {
	c.stats.Evicted++
	c.remove(s.order.Front().Value.(*cached))
}

// remove lets a reply go.
func (c *ReplyCache) remove(e *cached) {
	e.source.order.Remove(e.done)
	c.stats.Entries--
	c.charge(e.source, -entryBytes-e.reply.bytes())
	c.unlist(e)
}

// unlist takes an entry out of those that Calls are looked up in.
func (c *ReplyCache) unlist(e *cached) {
	list := c.entries[e.key]
	if len(list) == 1 {
		delete(c.entries, e.key)
		return
	}
	for i := range list {
		if list[i] == e {
			list[i] = list[len(list)-1]
			list[len(list)-1] = nil
			c.entries[e.key] = list[:len(list)-1]
			return
		}
	}
}

// forget ends a source of which nothing is kept.
func (c *ReplyCache) forget(s *replySource) {
	c.recent.Remove(s.recent)
	delete(c.sources, s.name)
}

// sweep lets go what is too old, eight times an Age. mu is locked.
func (c *ReplyCache) sweep(now time.Time) {
	if now.Sub(c.swept) < c.cfg.Age/8 {
		return
	}
	c.swept = now
	for _, s := range c.sources {
		for s.order.Len() > 0 {
			e := s.order.Front().Value.(*cached)
			if now.Sub(e.at) < c.cfg.Age {
				break
			}
			c.remove(e)
		}
		if s.order.Len() == 0 && s.running == 0 {
			c.forget(s)
		}
	}
}

// hostOf returns the host of an address, and the source that it counts as: its IPv4 address, or the network of its IPv6
// address, within which a host can change it as it likes.
func hostOf(addr string) (host, source string) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host, host
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return host, ip.String()
	}
	net, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host, host
	}
	return host, net.String()
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
