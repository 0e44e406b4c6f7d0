package capture

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/tcp"
)

// half is one direction of a connection, and the end that sends in it. The other end writes to this
// end's memory and reads from it.
type half struct {
	conn   *conn
	index  int // of conn.halves; 0 is the end that sent the first packet
	stream tcp.Half

	synced bool   // the protocol's next frame begins where the bytes do
	buf    []byte // bytes of an unfinished frame, or those in which no protocol was found yet
	bufAt  int64  // when their first byte came

	record  record
	message []byte // of a Send that is not whole
	part    *parted

	messageAt int64
	memory    memory
	reads     []read // requests of this end without a complete response
	calls     calls  // of this end, without a reply
}

func (h *half) other() *half { return &h.conn.halves[1-h.index] }

// size returns the memory that is kept for the half, in bytes.
func (h *half) size() int {
	n := h.stream.Held() + cap(h.buf) + cap(h.record.message) + cap(h.message) + h.memory.size() + h.calls.size()
	n += cap(h.reads) * readSize
	if h.part != nil {
		n += h.part.size()
	}
	return n
}

// maxSearched is the number of bytes that a protocol is looked for in, from the start of a segment.
const maxSearched = 512

// Bytes implements tcp.Receiver.
func (h *half) Bytes(at int64, b []byte) {
	if h.synced {
		h.feed(at, b)
		return
	}
	if len(h.buf) == 0 {
		h.bufAt = at
	}
	// The beginning of a message may be in two segments, or this segment may be its beginning.
	for _, try := range [][]byte{append(h.buf, b...), b} {
		carrier, more := h.conn.find(try)
		if carrier != "" {
			before := try[:len(try)-len(b)]
			h.conn.carrier, h.synced, h.buf = carrier, true, nil
			if len(before) > 0 {
				h.feed(h.bufAt, before)
			}
			h.feed(at, b)
			return
		}
		if more && len(try) < maxSearched {
			h.buf = append([]byte(nil), try...)
			return
		}
		h.buf = nil
	}
	h.conn.unknown += int64(len(b))
	if len(b) > 2 && b[0] == 0x16 && b[1] == 3 && !h.conn.tls {
		h.conn.tls = true
		h.conn.note(at, "TLS: what follows is encrypted")
	}
}

// Gap implements tcp.Receiver.
func (h *half) Gap(at int64, n uint32) {
	if h.conn.carrier == "" {
		h.lose()
		return
	}
	text := fmt.Sprintf("the capture lacks %d bytes", n)
	switch {
	case h.record.nonempty && h.conn.carrier == TCP:
		text += ", and the rest of a message"
	case len(h.buf) > 0 || len(h.message) > 0:
		text += ", and the rest of a frame"
	}
	h.conn.note(at, text)
	h.lose()
}

// lose forgets unfinished frames. The protocol is looked for again in the next segment.
func (h *half) lose() {
	h.synced, h.buf, h.record, h.message, h.part = false, nil, record{}, nil, nil
}

// feed takes bytes of the carrier that was found.
func (h *half) feed(at int64, b []byte) {
	var err error
	if h.conn.carrier == TCP {
		err = h.record.add(at, b, h.conn.reader.limits.Message, h.recorded)
	} else {
		if len(h.buf) == 0 {
			h.bufAt = at
		}
		h.buf = append(h.buf, b...)
		n := len(h.buf)
		if h.conn.carrier == IWARP {
			err = h.iwarp(at)
		} else {
			err = h.segments(at)
		}
		if len(h.buf) < n { // without the room of the frames that were taken
			h.buf = append([]byte(nil), h.buf...)
		}
	}
	if err != nil {
		h.conn.note(at, err.Error())
		h.lose()
	}
}

// recorded takes a whole message of record marking.
func (h *half) recorded(s Span, b []byte, dropped int) {
	if dropped > 0 {
		h.conn.note(s.First, fmt.Sprintf("a message of %d bytes: only the first %d are decoded", len(b)+dropped, len(b)))
	}
	h.conn.rpc(h, s, b)
}

// find returns the carrier whose frame begins with bytes, and whether more bytes are needed to know
// that. Once the carrier of a connection is known, only its frames are looked for.
func (c *conn) find(b []byte) (found Carrier, more bool) {
	if len(b) == 0 {
		return "", true
	}
	if (c.carrier == "" || c.carrier == IWARP) && isFPDU(b) && sealed(b) {
		return IWARP, false // whatever else it may be
	}
	if c.carrier == "" || c.carrier == TCP {
		yes, wait := plausible(b, maxRecord)
		if yes {
			return TCP, false
		}
		more = wait
	}
	if c.carrier == "" || c.carrier == IWARP {
		if startup(b) > 0 || isFPDU(b) {
			return IWARP, false
		}
		more = more || len(b) < mpaHead && bytes.HasPrefix(mpaRequest, b[:min(len(b), 13)])
	}
	if c.carrier == "" || c.carrier == RDMATCP {
		if isHello(b) || isSegment(b) {
			return RDMATCP, false
		}
		more = more || b[0] == 1 && len(b) < 32
	}
	return "", more
}

// maxRecord is the longest first fragment that is taken for the beginning of record marking.
const maxRecord = 64 << 20
