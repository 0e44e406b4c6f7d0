package replycache

import (
	"container/list"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Config configures New. A nil *Config has the default in every field.
type Config struct {
	// Idempotent reports whether a procedure may be executed twice without harm. The cache neither
	// looks up nor keeps its Calls. If nil, the handler's method Idempotent of this form is used,
	// which rpc.Handler has. If the handler has no such method, the Calls of all procedures go
	// through the cache.
	Idempotent func(program, version, procedure uint32) bool

	// Client returns the identity of the client that sent a Call: the same on each of its
	// connections, and different for every other client. An upper layer with sessions knows it. If
	// nil, the host of Conn.RemoteAddr is used, which several clients may share: New says what that
	// means.
	Client func(*oncrpc.Request) string

	// Grace is the longest time for which a Call is held back if an equal one came on another
	// connection of the same client and that connection is up. If zero, the default is 90 s. If
	// negative, no Call is held back. It is not used with Client.
	//
	// It should be at least the time after which the carriers give up a silent peer, which is 30 s
	// by default, and longer than any proxy between keeps a connection to the server whose client
	// has gone.
	Grace time.Duration

	// Entries is the largest number of replies kept for one source. If zero, the default is 1024.
	// If negative, there is no limit. The oldest go first. A source is a client as named by Client,
	// or else an IPv4 address or an IPv6 /64, as in package rdmatcp.
	Entries int

	// Bytes is the largest size of the replies kept for one source in bytes, with 256 for each
	// reply. If zero, the default is 16 MiB. If negative, there is no limit.
	Bytes int

	// MaxBytes is the same for all sources together. If zero, the default is 256 MiB. If negative,
	// there is no limit. The replies of the source that has most go first.
	MaxBytes int

	// MaxSources is the largest number of sources. If zero, the default is 1024. If negative, there
	// is no limit. The source that was silent longest goes first.
	MaxSources int

	// Age is the time for which a reply is kept. If zero, the default is 5 min.
	Age time.Duration

	// MaxReply is the size of the largest reply that is kept in bytes, items included. If zero, the
	// default is 64 KiB. If negative, there is no limit but Bytes. A Call with a larger reply is
	// executed again when it is sent again; Stats.TooLarge counts them.
	MaxReply int
}

// entryBytes is about the memory that an entry takes besides its reply.
const entryBytes = 256

// settled returns the configuration with its defaults.
func (cfg *Config) settled(h oncrpc.Handler) Config {
	var s Config
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
		s.Grace = 90 * time.Second
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

// New returns a Handler that passes Calls to h, and executes no Call twice that is not
// idempotent. A Call that a client sends again is answered with the reply to the first one, through
// the chunks that it offers this time. If the first one is in progress, it waits for that reply
// (RFC 5531 §8; R288, T121). Two Calls are the same if the client, the XID and every byte of the
// message are.
//
// By default a client is known by its identity, and without one by its host, or over UDP by its
// host and port. An identity comes from host authentication, from the verified certificate of TLS,
// or from RPCSEC_GSS. Several clients may share a host or an identity. A client sends a
// Call again only after it has lost the connection. Therefore a Call is never answered with the
// reply to a Call of another connection that is up. It is held back, because a server may learn of
// the loss later than the client, and both connections are probed (oncrpc.Prober): one whose client
// has gone is closed soon. A connection whose peer answers may still have lost its client, if a
// proxy answers. So the Call waits for Config.Grace. If the other connection is still up then, the
// Call is another client's and is executed. One case remains: a client makes the same Call with the
// same XID as another client of its host whose connection is down, and gets that reply. Clients
// that begin with a fixed XID need a Config.Client.
//
// A Call whose connection closes before it was executed is dropped, because its client may have
// sent it again already. If h drops a Call whose connection is closed, the same Calls that wait for
// its reply are served as if it had not come, each on its own connection. So h must not drop a Call
// that it has executed. If h drops one whose connection is up, as a replay for example (RFC 2203
// §5.3.3.1), those that wait are dropped with it.
//
// If h panics or exits its goroutine and has not answered the Call, the reply to it is SYSTEM_ERR
// when it is sent again, because it may have been executed in part.
func New(h oncrpc.Handler, cfg *Config) *Cache {
	return &Cache{
		cfg: cfg.settled(h), next: h, seed: maphash.MakeSeed(),
		entries: make(map[callKey][]*cached), sources: make(map[string]*replySource),
	}
}

// Cache is the Handler that New returns.
type Cache struct {
	cfg  Config
	next oncrpc.Handler
	seed maphash.Seed

	mu      sync.Mutex
	entries map[callKey][]*cached // one for each connection that is up
	sources map[string]*replySource
	recent  list.List // of *replySource, the one silent longest first
	swept   time.Time
	stats   Stats
}

// Stats holds the counts of a Cache. Those above Sources only grow.
type Stats struct {
	Hits     uint64 // Calls answered with a reply that was kept
	Waited   uint64 // Calls that waited for the reply to the same Call in progress
	Delayed  uint64 // Calls held back for Config.Grace
	TooLarge uint64 // replies larger than MaxReply, whose Calls would be executed again
	Evicted  uint64 // replies removed before their Age to make room

	Sources int // sources known now
	Entries int // replies kept now
	Running int // Calls in progress now
	Bytes   int // size of the replies kept now, with 256 for each
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Sources = len(c.sources)
	return s
}

// callKey identifies a Call. Two Calls with the same key are the same.
type callKey struct {
	client string
	xid    uint32
	sum    uint64 // hash of the whole message
}

// cached is a Call that was executed, or is in progress.
type cached struct {
	key     callKey
	source  *replySource
	from    oncrpc.Conn    // that brought it last
	done    *list.Element  // in source.order; nil: in progress
	at      time.Time      // when it was done
	reply   oncrpc.Message // shares no memory
	waiting []*oncrpc.Request
}

// replySource holds the entries of one source.
type replySource struct {
	name    string
	recent  *list.Element
	order   list.List // of *cached with a reply, oldest first
	running int       // Calls in progress
	bytes   int
}

// ReplyBound implements oncrpc.Bounder.
func (c *Cache) ReplyBound(program, version, procedure uint32) int {
	return oncrpc.BoundOf(c.next, program, version, procedure)
}

// NonBlocking implements oncrpc.NonBlocker. The Cache itself does not block.
func (c *Cache) NonBlocking(program, version, procedure uint32) bool {
	return oncrpc.NonBlocking(c.next, program, version, procedure)
}

// IsNull implements oncrpc.NullKnower.
func (c *Cache) IsNull(program, version uint32) bool { return oncrpc.IsNull(c.next, program, version) }

// ServeRPC implements oncrpc.Handler.
func (c *Cache) ServeRPC(r *oncrpc.Request) {
	program, version, procedure, _ := oncrpc.Procedure(r.Message)
	if c.cfg.Idempotent(program, version, procedure) {
		c.next.ServeRPC(r)
		return
	}
	xid, _, _ := oncrpc.Peek(r.Message)
	key := callKey{xid: xid, sum: maphash.Bytes(c.seed, r.Message)}
	source := ""
	if c.cfg.Client != nil {
		key.client = c.cfg.Client(r)
		source = key.client
	} else {
		key.client, source = clientOf(r)
	}
	c.serve(r, key, source, time.Time{})
}

// serve answers a Call from the cache or passes it to the handler. It may be held back first: until
// a time, or for Grace if that is zero.
func (c *Cache) serve(r *oncrpc.Request, key callKey, source string, until time.Time) {
	now := time.Now()
	c.mu.Lock()
	c.sweep(now)
	e, others := c.find(key, r.Conn())
	switch {
	case r.Conn().Err() != nil:
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
	case len(others) > 0 && c.cfg.Grace > 0 && (until.IsZero() || now.Before(until)):
		if until.IsZero() {
			until = now.Add(c.cfg.Grace)
			c.stats.Delayed++
		}
		c.keepUntil(key, until)
		c.mu.Unlock()
		probe(append(others, r.Conn()), c.cfg.Grace)
		go c.hold(r, key, source, others, until)
	default:
		e = c.add(key, source, r.Conn())
		c.mu.Unlock()
		rec := &recorder{Responder: r.Responder, cache: c, entry: e}
		r.Responder = rec
		returned := false
		defer func() {
			if !returned { // it panicked, or exited its goroutine
				rec.ended()
			}
		}()
		c.next.ServeRPC(r)
		returned = true
	}
}

// find returns the entry from which a Call of a connection is answered. If there is no such entry,
// it returns the other connections, still up, on which the same Call came. A connection is known by
// its channel Done: a Responder may have a context for each Call. c.mu must be held.
func (c *Cache) find(key callKey, from oncrpc.Conn) (found *cached, others []oncrpc.Conn) {
	for _, e := range c.entries[key] {
		switch {
		case e.from.Done() == from.Done():
			return e, nil
		case c.cfg.Client != nil || e.from.Err() != nil:
			found = e
		case len(others) < maxHeldFor:
			others = append(others, e.from)
		}
	}
	if found != nil {
		found.from = from // it now belongs to this connection while that is up
	}
	return found, others
}

// keepUntil keeps the replies to a Call that is held back until then, although they may be too old
// before. c.mu must be held.
func (c *Cache) keepUntil(key callKey, until time.Time) {
	for _, e := range c.entries[key] {
		if young := until.Add(-c.cfg.Age); e.done != nil && e.at.Before(young) {
			e.at = young
			e.source.order.MoveToBack(e.done)
		}
	}
}

// maxHeldFor is the largest number of connections for which a Call is held back. A client that lost
// its connection has one.
const maxHeldFor = 8

// hold waits until one of the connections in others is down, until a time at most, and then serves
// the Call. A client that has lost several connections may have called on all of them, and the
// reply may now belong to another one that the server takes to be up. Then serve holds it again.
func (c *Cache) hold(r *oncrpc.Request, key callKey, source string, others []oncrpc.Conn, until time.Time) {
	gone, over := make(chan struct{}, len(others)), make(chan struct{})
	for _, from := range others {
		go func() {
			select {
			case <-from.Done():
				gone <- struct{}{}
			case <-over:
			}
		}()
	}
	grace := time.NewTimer(time.Until(until))
	defer grace.Stop()
	select {
	case <-gone:
	case <-grace.C:
	case <-r.Conn().Done():
	}
	close(over)
	r.Serve(oncrpc.HandlerFunc(func(r *oncrpc.Request) { c.serve(r, key, source, until) }))
}

// add makes an entry for a Call that is about to be executed. c.mu must be held.
func (c *Cache) add(key callKey, name string, from oncrpc.Conn) *cached {
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

// recorder passes the answer of a Call to the cache before it goes.
type recorder struct {
	oncrpc.Responder
	cache    *Cache
	entry    *cached
	answered atomic.Bool
}

// Reply implements oncrpc.Responder.
func (r *recorder) Reply(m oncrpc.Message, done func(error)) {
	if !r.answered.Swap(true) {
		seen := m // a copy, or every m would be on the heap
		r.cache.executed(r.entry, &seen, false)
	}
	r.Responder.Reply(m, done)
}

// ended keeps SYSTEM_ERR as the reply if the handler did not answer. The handler may have executed
// the Call, or a part of it.
func (r *recorder) ended() {
	if !r.answered.Swap(true) {
		b, _ := oncrpc.NewReply(r.entry.key.xid, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
		r.cache.executed(r.entry, &oncrpc.Message{Inline: b}, false)
	}
}

// Drop implements oncrpc.Responder.
func (r *recorder) Drop(done func(error)) {
	if !r.answered.Swap(true) {
		r.cache.executed(r.entry, nil, r.Conn().Err() != nil)
	}
	r.Responder.Drop(done)
}

// executed keeps a reply and answers the Calls that waited for it. m is nil if the Call was
// dropped, and lost reports whether that was after the end of its connection.
func (c *Cache) executed(e *cached, m *oncrpc.Message, lost bool) {
	keep := m != nil && m.Size(nil) <= c.cfg.MaxReply
	var reply oncrpc.Message
	if keep {
		reply = m.Clone()
	}
	c.mu.Lock()
	s, waiting := e.source, e.waiting
	e.waiting, e.reply = nil, reply
	s.running--
	c.stats.Running--
	if keep {
		e.done, e.at = s.order.PushBack(e), time.Now()
		c.stats.Entries++
		c.charge(s, entryBytes+reply.Size(nil))
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
		reply = m.Clone() // the handler may use its memory again before they are sent
	}
	for _, r := range waiting {
		switch {
		case m != nil:
			r.Reply(reply, nil)
		case lost:
			go r.Serve(c) // the handler may have locked something
		default:
			r.Drop(nil)
		}
	}
}

func (c *Cache) charge(s *replySource, n int) {
	s.bytes += n
	c.stats.Bytes += n
}

// largest returns the source with the most bytes. It looks at all sources, but is called only when
// the cache has MaxBytes.
func (c *Cache) largest() (most *replySource) {
	for _, s := range c.sources {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most
}

// evict removes the oldest reply of a source before its Age.
func (c *Cache) evict(s *replySource) {
	c.stats.Evicted++
	c.remove(s.order.Front().Value.(*cached))
}

// remove removes a reply.
func (c *Cache) remove(e *cached) {
	e.source.order.Remove(e.done)
	c.stats.Entries--
	c.charge(e.source, -entryBytes-e.reply.Size(nil))
	c.unlist(e)
}

// unlist removes an entry from the map.
func (c *Cache) unlist(e *cached) {
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

// forget removes a source that has no entries.
func (c *Cache) forget(s *replySource) {
	c.recent.Remove(s.recent)
	delete(c.sources, s.name)
}

// sweep removes the replies that are too old. It does so eight times in Age. c.mu must be held.
func (c *Cache) sweep(now time.Time) {
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
