package rdmaio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// keptReplies holds the replies that did not fit the memory that the Call offered, until the Call
// comes again and offers more (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3; R208, R209). So the
// procedure is not executed twice. Only the runner of the engine looks them up; keep is called by
// handlers.
type keptReplies struct {
	*host
	any atomic.Bool // there may be some; only it may be read without the lock

	mu    sync.Mutex
	list  []keptReply // oldest first
	bytes int
	timer *time.Timer // drops old ones, while there are any
	over  bool        // the connection is closed
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
func (k *keptReplies) keep(call []byte, m *Message, e header.Error) header.Error {
	system := header.Error{Code: header.ErrSystem}
	if !k.agreed.Load().version.Continues() {
		return system // no version without this has such errors
	}
	kept := keptReply{size: keptOverhead + keptItem*len(m.Items) + len(call) + m.Size(nil), until: time.Now().Add(keptTime)}
	if kept.size > keptBytes || !k.reserve(kept.size) {
		return system
	}
	kept.call = bytes.Clone(call)
	kept.reply = m.Clone()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over { // the peer gets no error any more
		k.reserve(-kept.size)
		return e
	}
	k.any.Store(true)
	k.drop(keptBytes - kept.size)
	k.list = append(k.list, kept)
	k.bytes += kept.size
	if k.timer == nil {
		k.timer = time.AfterFunc(keptTime, k.expire)
	}
	return e
}

// drop removes replies that are too old, and the oldest ones until at most this many bytes are
// left. mu must be held.
func (k *keptReplies) drop(most int) {
	now, n := time.Now(), 0
	for n < len(k.list) && (k.bytes > most || !now.Before(k.list[n].until)) {
		k.bytes -= k.list[n].size
		k.reserve(-k.list[n].size)
		n++
	}
	k.list = slices.Delete(k.list, 0, n)
}

// expire runs when a reply becomes too old.
func (k *keptReplies) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(keptBytes)
	if k.timer = nil; len(k.list) > 0 {
		k.timer = time.AfterFunc(time.Until(k.list[0].until), k.expire)
	}
}

// end drops all replies. The connection is down.
func (k *keptReplies) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.drop(0)
	if k.timer != nil {
		k.timer.Stop()
	}
}

// take returns the reply kept for a Call with the same XID and the same bytes, and removes it.
func (k *keptReplies) take(call []byte) (Message, bool) {
	if !k.any.Load() { // as on nearly all connections
		return Message{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(keptBytes)
	for i := range k.list {
		if kept := k.list[i]; bytes.Equal(kept.call, call) {
			k.bytes -= kept.size
			k.reserve(-kept.size)
			k.list = slices.Delete(k.list, i, i+1)
			return kept.reply, true
		}
	}
	return Message{}, false
}
