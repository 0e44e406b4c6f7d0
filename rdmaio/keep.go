package rdmaio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// keptReplies are the replies that did not fit what the Call offered, until the Call comes again
// with more (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3; R208, R209): the procedure is not
// executed twice. Only the runner of the engine looks them up; keep is called by handlers.
type keptReplies struct {
	any atomic.Bool // there may be some; only it may be read without the lock

	mu    sync.Mutex
	list  []keptReply // oldest first
	bytes int
}

// keptReply is a reply to the Call with these bytes.
type keptReply struct {
	call  []byte
	reply Message
	size  int
	until time.Time
}

// The limits of keptReplies on a connection. A Call whose reply was dropped is executed again.
const (
	keptBytes = 1 << 20
	keptTime  = 30 * time.Second
)

// keep keeps the reply to a Call that is refused because the reply does not fit. It returns the
// error for the peer: e, which says what to offer, or SYSTEM if the reply is too long to be kept.
func (c *Conn) keep(r *Request, m *Message, e header.Error) header.Error {
	system := header.Error{Code: header.ErrSystem}
	if !c.agreed.Load().version.Continues() {
		return system // no version without this has such errors
	}
	k := keptReply{call: bytes.Clone(r.Message), until: time.Now().Add(keptTime)}
	k.size = len(k.call) + m.size(all)
	if k.size > keptBytes {
		return system
	}
	k.reply.Inline = bytes.Clone(m.Inline)
	for _, it := range m.Items {
		k.reply.Items = append(k.reply.Items, xdr.Item{Site: it.Site, Position: it.Position, Inline: it.Inline, Data: bytes.Clone(it.Data)})
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.any.Store(true)
	c.kept.drop(keptBytes - k.size)
	c.kept.list = append(c.kept.list, k)
	c.kept.bytes += k.size
	return e
}

// drop removes replies that are too old, and the oldest ones until at most this many bytes are
// left.
func (k *keptReplies) drop(most int) {
	now := time.Now()
	for len(k.list) > 0 && (k.bytes > most || now.After(k.list[0].until)) {
		k.bytes -= k.list[0].size
		k.list = slices.Delete(k.list, 0, 1)
	}
}

// takeKept returns the reply kept for a Call with the same XID and the same bytes, and removes it.
func (c *Conn) takeKept(call []byte) (Message, bool) {
	if !c.kept.any.Load() { // as on nearly all connections
		return Message{}, false
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.drop(keptBytes)
	for i := range c.kept.list {
		if k := c.kept.list[i]; bytes.Equal(k.call, call) {
			c.kept.bytes -= k.size
			c.kept.list = slices.Delete(c.kept.list, i, i+1)
			return k.reply, true
		}
	}
	return Message{}, false
}
