package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
)

// calls are the Calls of one end that have no reply yet, by XID.
type calls struct {
	byXID map[uint32]*waiting
	first *waiting // the oldest
	last  *waiting
	bytes int
	most  int // entries that byXID has had: a map keeps the room of those removed
}

const (
	callSize = 512 // memory of a Call without its message
	xidSize  = 24  // memory of an entry in byXID
	fewCalls = 64  // entries whose room an empty map may keep
)

// size returns what the calls take, in bytes.
func (l *calls) size() int { return l.bytes + l.most*xidSize }

// waiting is an element of a list.
type waiting struct {
	call       *Call
	prev, next *waiting
}

// cost returns what a Call takes that waits for its reply, in bytes.
func cost(c *Call) int {
	n := callSize + cap(c.Message)
	if c.header != nil {
		n += c.header.memory()
	}
	return n
}

func (l *calls) add(c *Call) {
	if l.byXID == nil {
		l.byXID = map[uint32]*waiting{}
	}
	w := &waiting{call: c, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last, l.byXID[c.XID] = w, w
	l.bytes += cost(c)
	l.most = max(l.most, len(l.byXID))
}

// remove removes and returns the Call with an XID, or returns nil.
func (l *calls) remove(xid uint32) *Call {
	w := l.byXID[xid]
	if w == nil {
		return nil
	}
	if delete(l.byXID, xid); len(l.byXID) == 0 && l.most > fewCalls {
		l.byXID, l.most = nil, 0
	}
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	l.bytes -= cost(w.call)
	return w.call
}

// all returns the calls, the oldest first.
func (l *calls) all() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for w := l.first; w != nil; w = w.next {
			if !yield(w.call) {
				return
			}
		}
	}
}

// pending returns the Call of the other end with an XID, or nil.
func (h *half) pending(xid uint32) *Call {
	if w := h.other().calls.byXID[xid]; w != nil {
		return w.call
	}
	return nil
}

// rpc takes an RPC message without a header before it.
func (c *conn) rpc(h *half, s Span, b []byte) {
	switch {
	case isCall(b):
		c.call(h, s, b, nil)
	case isReply(b):
		c.reply(h, s, binary.BigEndian.Uint32(b), b, nil, "")
	default:
		c.note(s.First, fmt.Sprintf("a message of %d bytes, expected an RPC message", len(b)))
	}
}

// call takes a Call. Its header is nil without RDMA.
func (c *conn) call(h *half, s Span, b []byte, head *rdmaHeader) {
	if head != nil {
		head.writes, head.reply = nil, nil // the reply has them again
	}
	n := &Call{Connection: c.named(h.index), Reverse: c.reverse(h.index), Sent: s, Whole: s.Last, header: head}
	if head != nil && head.kind == external {
		n.XID, n.HasCall, n.Message = head.xid, true, b
	} else if !n.call(b) {
		return
	}
	if old := h.calls.byXID[n.XID]; old != nil {
		if bytes.Equal(old.call.Message, b) {
			h.calls.bytes -= cost(old.call)
			old.call.Copies++ // sent again
			old.call.header = head
			h.calls.bytes += cost(old.call)
			return
		}
		c.emit(h, h.calls.remove(n.XID))
	}
	if len(h.calls.byXID) >= c.reader.limits.Calls {
		old := h.calls.remove(h.calls.first.call.XID)
		old.Notes = append(old.Notes, "too many calls without a reply: not waited for")
		c.emit(h, old)
	}
	h.calls.add(n)
}

// reply takes a reply.
func (c *conn) reply(h *half, s Span, xid uint32, b []byte, chunks []Chunk, missing string) {
	n := h.other().calls.remove(xid)
	if n == nil {
		n = &Call{Connection: c.named(1 - h.index), Reverse: c.reverse(1 - h.index), XID: xid}
	}
	if n.Answered, n.Chunks, n.HasReply = s, chunks, true; missing == "" {
		n.reply(b)
	} else {
		n.Notes, n.CutReply, n.Status.Text = append(n.Notes, missing), true, "reply not in the capture"
	}
	c.emit(h.other(), n)
}

// refused takes an error of RPC-over-RDMA. Either end may send one: of a Call, or of a reply.
func (c *conn) refused(h *half, s Span, head *rdmaHeader) {
	n := h.other().calls.remove(head.xid)
	if n == nil {
		c.note(s.First, fmt.Sprintf("RDMA_ERROR %s about XID %#x", head.name, head.xid))
		return
	}
	n.HasReply, n.Answered, n.Status = true, s, Status{Text: "RDMA_ERROR " + head.name}
	c.emit(h.other(), n)
}

// emit reports a call of an end, with its chunks.
func (c *conn) emit(h *half, n *Call) {
	head := n.header
	n.header = nil
	if head != nil && (head.kind == external || len(head.reads) > 0) {
		message, last, missing := head.unreduced(n.Message, &h.memory, c.reader.limits.Message)
		n.Whole = max(n.Whole, last)
		if missing != "" {
			n.Notes, n.Cut = append(n.Notes, missing), true
		}
		if head.kind == external && !isCall(message) {
			n.Message, n.Args = message, len(message)
			n.HasCall = false
		} else {
			n.call(message)
		}
	}
	c.reader.handler.Call(n)
}
