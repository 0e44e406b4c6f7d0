package capture

import (
	"fmt"
	"slices"
)

// rdmaSegment is a part of a chunk: memory of the requester.
type rdmaSegment struct {
	handle, length uint32
	offset         uint64
}

// readSegment is a part of a read chunk. Segments with one position are one chunk.
type readSegment struct {
	position uint32
	rdmaSegment
}

// rdmaHeader is an RPC-over-RDMA header of version 1 (RFC 8166 §4) or 2
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6).
type rdmaHeader struct {
	xid, version uint32
	kind         headerKind
	name         string // of another header type, or of an error
	more         bool   // version 2: the next header continues the message
	response     bool   // version 2: it belongs to a reply
	reads        []readSegment
	writes       [][]rdmaSegment
	reply        []rdmaSegment // of the reply chunk
	hasReply     bool
	size         int // bytes of the header
}

// What the elements of lists take, in bytes on 64-bit machines.
const (
	readSegmentSize = 24
	writeChunkSize  = 24 // without its segments
	segmentSize     = 16
)

// memory returns what the chunk lists take, in bytes.
func (h *rdmaHeader) memory() int {
	n := cap(h.reads)*readSegmentSize + cap(h.writes)*writeChunkSize + cap(h.reply)*segmentSize
	for _, w := range h.writes {
		n += cap(w) * segmentSize
	}
	return n
}

type headerKind uint8

const (
	inline   headerKind = iota // RDMA_MSG: the message follows
	external                   // RDMA_NOMSG: the message is in a chunk
	failed                     // RDMA_ERROR
	other                      // without an RPC message
)

// The flags of version 2.
const (
	flagResponse = 1
	flagMore     = 2
)

// errorNames are the names in rpcrdma2_errcode.
var errorNames = []string{
	"", "RDMA2_ERR_VERS", "RDMA2_ERR_BAD_XDR", "RDMA2_ERR_INVAL_HTYPE", "RDMA2_ERR_INVAL_FLAG", "RDMA2_ERR_READ_CHUNKS",
	"RDMA2_ERR_WRITE_CHUNKS", "RDMA2_ERR_SEGMENTS", "RDMA2_ERR_WRITE_RESOURCE", "RDMA2_ERR_REPLY_RESOURCE", "RDMA2_ERR_SYSTEM",
}

// decodeHeader reads the header at the start of a Send. It returns false for other bytes.
func decodeHeader(b []byte) (*rdmaHeader, bool) {
	w := words{b: b}
	h := &rdmaHeader{xid: w.next(), version: w.next()}
	w.next() // credits
	kind := w.next()
	switch h.version {
	case 1:
		h.one(&w, kind)
	case 2:
		flags := w.next()
		h.response, h.more = flags&flagResponse != 0, flags&flagMore != 0
		h.two(&w, kind)
	default:
		return nil, false
	}
	h.size = w.off
	return h, !w.fail
}

// one reads the rest of a version 1 header.
func (h *rdmaHeader) one(w *words, kind uint32) {
	switch kind {
	case 0:
		h.lists(w)
	case 1:
		h.kind = external
		h.lists(w)
	case 2: // RDMA_MSGP
		w.next()
		w.next()
		h.lists(w)
	case 4:
		h.kind = failed
		switch code := w.next(); code {
		case 1:
			low := w.next()
			h.name = fmt.Sprintf("ERR_VERS (%d to %d)", low, w.next())
		case 2:
			h.name = "ERR_CHUNK"
		default:
			h.name = fmt.Sprintf("error %d", code)
		}
	default:
		h.kind = other
	}
}

// two reads the rest of a version 2 header.
func (h *rdmaHeader) two(w *words, kind uint32) {
	switch kind {
	case 0, 1:
		if kind == 1 {
			h.kind = external
		}
		w.next() // key to invalidate
		h.lists(w)
	case 4:
		h.kind = failed
		code := w.next()
		h.name = name(errorNames, code, "error")
		switch code {
		case 1:
			low := w.next()
			h.name += fmt.Sprintf(" (%d to %d)", low, w.next())
		case 5, 6, 7, 9:
			h.name += fmt.Sprintf(" (%d)", w.next())
		case 8:
			chunk := w.next()
			h.name += fmt.Sprintf(" (chunk %d needs %d bytes)", chunk, w.next())
		}
	default:
		h.kind = other
	}
}

// lists reads the three chunk lists. They have no more elements than bytes in the header.
func (h *rdmaHeader) lists(w *words) {
	for w.next() == 1 {
		h.reads = append(h.reads, readSegment{w.next(), w.segment()})
	}
	for w.next() == 1 {
		h.writes = append(h.writes, w.chunk())
	}
	if w.next() == 1 {
		h.reply, h.hasReply = w.chunk(), true
	}
}

// chunk reads the segments of a write chunk.
func (w *words) chunk() []rdmaSegment {
	n := w.next()
	if uint64(n)*16 > uint64(len(w.b)-w.off) {
		w.fail, w.off = true, len(w.b)
		return nil
	}
	out := make([]rdmaSegment, n)
	for i := range out {
		out[i] = w.segment()
	}
	return out
}

func (w *words) segment() rdmaSegment {
	return rdmaSegment{handle: w.next(), length: w.next(), offset: w.long()}
}

// length returns the bytes of segments.
func length(all []rdmaSegment) (n uint64) {
	for _, s := range all {
		n += uint64(s.length)
	}
	return n
}

// collect removes the bytes of segments from memory. It returns false, and the bytes before, if a
// part is not there or the limit is exceeded.
func (m *memory) collect(all []rdmaSegment, limit int) (data []byte, time int64, ok bool) {
	for _, s := range all {
		if s.length == 0 {
			continue
		}
		b, at, ok := m.take(s.handle, s.offset, uint64(s.length))
		if !ok || len(data)+len(b) > limit {
			return data, time, false
		}
		data, time = append(data, b...), max(time, at)
	}
	return data, time, true
}

// unreduced puts the read chunks of a Call back into the message (RFC 8166 §3.4.5): each at its
// position. A chunk may lack the padding of its item. It returns the time of the last byte, and the
// name of the first missing part.
func (h *rdmaHeader) unreduced(payload []byte, m *memory, limit int) (message []byte, last int64, missing string) {
	if len(h.reads) == 0 {
		return payload, 0, ""
	}
	reads := slices.Clone(h.reads)
	slices.SortStableFunc(reads, func(a, b readSegment) int { return int(int64(a.position) - int64(b.position)) })
	for len(reads) > 0 {
		position := reads[0].position
		var chunk []rdmaSegment
		for len(reads) > 0 && reads[0].position == position {
			chunk, reads = append(chunk, reads[0].rdmaSegment), reads[1:]
		}
		if position == 0 { // RFC 8166 §3.5.3: the message without the items of the other chunks
			data, at, ok := m.collect(chunk, limit)
			if payload, last = append(data, payload...), at; !ok {
				return payload, last, fmt.Sprintf("the capture lacks a Call in a read chunk, %d bytes", length(chunk))
			}
			continue
		}
		before := uint64(position)
		if uint64(len(message)) > before || before-uint64(len(message)) > uint64(len(payload)) {
			return append(message, payload...), last, fmt.Sprintf("a read chunk has the position %d, which the message does not have", position)
		}
		n := int(before) - len(message)
		message, payload = append(message, payload[:n]...), payload[n:]
		data, at, ok := m.collect(chunk, limit-len(message))
		message, last = append(message, data...), max(last, at)
		if !ok {
			return message, last, fmt.Sprintf("the capture lacks the read chunk at position %d, %d bytes", position, length(chunk))
		}
		message = append(message, make([]byte, -len(message)&3)...)
	}
	return append(message, payload...), last, ""
}
