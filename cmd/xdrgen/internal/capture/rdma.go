package capture

import "fmt"

// maxReads is the number of outstanding RDMA Reads that are kept for an end. The oldest is
// forgotten for a new one.
const maxReads = 1024

// read is an outstanding RDMA Read.
type read struct {
	sink   uint32 // STag of the sink, or number of the request
	sinkAt uint64
	length uint32
	source uint32 // key of the source
	at     uint64 // and offset there
}

// readSize is the memory for an outstanding RDMA Read, in bytes on 64-bit machines.
const readSize = 32

// send takes a part of a Send.
func (h *half) send(at int64, offset uint32, data []byte, last bool) {
	if offset == 0 {
		h.message, h.messageAt = h.message[:0], h.bufAt
	}
	if uint32(len(h.message)) != offset || len(h.message)+len(data) > h.conn.reader.limits.Message {
		h.message = nil
		if offset != 0 && last {
			h.conn.note(at, "a Send without its beginning, or longer than the limit")
		}
		return
	}
	h.message = append(h.message, data...)
	if last {
		m := h.message
		h.message = nil
		h.rdma(Span{h.messageAt, at}, m)
	}
}

// write takes a part of an RDMA Write: it places data in the memory of the other end.
func (h *half) write(at int64, key uint32, offset uint64, data []byte) {
	h.other().memory.put(key, offset, data, at)
}

// ask takes an RDMA Read request.
func (h *half) ask(r read) {
	if len(h.reads) == maxReads {
		h.reads = h.reads[1:]
	}
	h.reads = append(h.reads, r)
}

// answer takes a part of the response to the other end's Read: data from this end's memory.
func (h *half) answer(at int64, of func(*read) bool, offset func(*read) uint64, data []byte, last bool) {
	o := h.other()
	for i := range o.reads {
		if r := &o.reads[i]; of(r) {
			h.memory.put(r.source, r.at+offset(r), data, at)
			if last {
				o.reads = append(o.reads[:i], o.reads[i+1:]...)
			}
			return
		}
	}
}

// rdma takes a whole Send: an RPC-over-RDMA header and perhaps an RPC message.
func (h *half) rdma(s Span, b []byte) {
	if len(b) == 0 {
		return // the ready-to-receive indication (RFC 6581 §9.2)
	}
	head, ok := decodeHeader(b)
	if !ok {
		h.conn.note(s.First, fmt.Sprintf("a Send of %d bytes without an RPC-over-RDMA header of version 1 or 2", len(b)))
		return
	}
	switch head.kind {
	case failed:
		h.conn.refused(h, s, head)
	case inline, external:
		h.joined(s, head, append([]byte(nil), b[head.size:]...)) // without the room of the header
	}
}

// joined puts the parts of a continued message together (version-two §6.3.2).
func (h *half) joined(s Span, head *rdmaHeader, payload []byte) {
	if p := h.part; p != nil && p.header.xid == head.xid {
		p.payload = append(p.payload, payload...)
		p.header.reads = append(p.header.reads, head.reads...)
		p.header.writes = append(p.header.writes, head.writes...)
		if head.hasReply {
			p.header.reply, p.header.hasReply = head.reply, true
		}
		p.lists += head.memory()
		if s.First = p.first; len(p.payload)+p.lists > h.conn.reader.limits.Message {
			h.part = nil
			h.conn.note(s.Last, "a continued message longer than the limit")
			return
		}
		if head.more {
			return
		}
		head, payload = p.header, p.payload
	} else if head.more {
		h.part = &parted{header: head, payload: payload, first: s.First, lists: head.memory()}
		return
	}
	h.part = nil
	h.conn.carried(h, s, head, payload)
}

// parted is a message whose last part has not come.
type parted struct {
	header  *rdmaHeader
	payload []byte
	first   int64
	lists   int // memory for the chunk lists in all headers
}

// size returns the memory that the parts take. Lists grow by at most their own size.
func (p *parted) size() int { return cap(p.payload) + 2*p.lists }

// carried takes an RPC message over RDMA: a Call, whose chunks come later, or a reply, whose chunks
// have come.
func (c *conn) carried(h *half, s Span, head *rdmaHeader, payload []byte) {
	if head.kind == external && (len(head.reads) > 0 || h.pending(head.xid) == nil && !head.response) || isCall(payload) {
		c.call(h, s, payload, head)
		return
	}
	missing := ""
	limit := c.reader.limits.Message
	if head.kind == external {
		data, last, ok := h.other().memory.collect(head.reply, limit)
		if !ok {
			missing = fmt.Sprintf("the capture lacks the reply chunk, %d bytes", length(head.reply))
		}
		payload, s.Last = data, max(s.Last, last)
	}
	var chunks []Chunk
	for _, w := range head.writes {
		chunk := Chunk{Length: length(w)}
		if data, _, ok := h.other().memory.collect(w, limit); ok {
			chunk.Data = data
		}
		chunks = append(chunks, chunk)
	}
	c.reply(h, s, head.xid, payload, chunks, missing)
}
