package rdmaio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// keptReplies are the replies that did not fit what the Call offered, until the Call comes again
// with more (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3; R208, R209): the procedure is not
// executed twice. Only the runner of the engine looks them up; keep is called by handlers.
type keptReplies struct {
	any atomic.Bool // there may be some; only it may be read without the lock

	mu    sync.Mutex
	list  []keptReply // oldest first
	bytes int
	timer *time.Timer // drops old ones, while there are any
	over  bool        // the connection has ended
}

// keptReply is a reply to the Call with these bytes.
type keptReply struct {
	call  []byte
	reply Message
	size  int
	until time.Time
}

// The limits of keptReplies on a connection, whose memory counts for Config.MaxMemory. A Call whose
// reply was dropped is executed again.
const (
	keptBytes = 1 << 20
	keptTime  = 30 * time.Second
)

// keptOverhead is the memory in bytes that a kept reply takes besides its bytes, and keptItem what
// each of its items takes.
const keptOverhead, keptItem = 256, 64

// keep keeps the reply to a Call that is refused because the reply does not fit. It returns the
// error for the peer: e, which says what to offer, or SYSTEM if the reply is too long to be kept.
func (c *Conn) keep(r *request, m *Message, e header.Error) header.Error {
	system := header.Error{Code: header.ErrSystem}
	if !c.agreed.Load().version.Continues() {
		return system // no version without this has such errors
	}
	k := keptReply{size: keptOverhead + keptItem*len(m.Items) + len(r.Message) + m.Size(nil), until: time.Now().Add(keptTime)}
	if k.size > keptBytes || !c.reserve(k.size) {
		return system
	}
	k.call = bytes.Clone(r.Message)
	k.reply = m.Clone()
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	if c.kept.over { // the peer gets no error any more
		c.reserve(-k.size)
		return e
	}
	c.kept.any.Store(true)
	c.dropKept(keptBytes - k.size)
	c.kept.list = append(c.kept.list, k)
	c.kept.bytes += k.size
	if c.kept.timer == nil {
		c.kept.timer = time.AfterFunc(keptTime, c.expireKept)
	}
	return e
}

// dropKept removes replies that are too old, and the oldest ones until at most this many bytes are
// left. Its caller has locked kept.mu.
func (c *Conn) dropKept(most int) {
	k, now, n := &c.kept, time.Now(), 0
	for n < len(k.list) && (k.bytes > most || !now.Before(k.list[n].until)) {
		k.bytes -= k.list[n].size
		c.reserve(-k.list[n].size)
		n++
	}
	k.list = slices.Delete(k.list, 0, n)
}

// expireKept runs when a reply becomes too old.
func (c *Conn) expireKept() {
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	c.dropKept(keptBytes)
	if k.timer = nil; len(k.list) > 0 {
		k.timer = time.AfterFunc(time.Until(k.list[0].until), c.expireKept)
	}
}

// endKept drops all replies. The connection has ended.
func (c *Conn) endKept() {
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	c.dropKept(0)
	if k.timer != nil {
		k.timer.Stop()
	}
}

// takeKept returns the reply kept for a Call with the same XID and the same bytes, and removes it.
func (c *Conn) takeKept(call []byte) (Message, bool) {
	if !c.kept.any.Load() { // as on nearly all connections
		return Message{}, false
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.dropKept(keptBytes)
	for i := range c.kept.list {
		if k := c.kept.list[i]; bytes.Equal(k.call, call) {
			c.kept.bytes -= k.size
			c.reserve(-k.size)
			c.kept.list = slices.Delete(c.kept.list, i, i+1)
			return k.reply, true
		}
	}
	return Message{}, false
}
