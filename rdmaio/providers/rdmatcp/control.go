package rdmatcp

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// ControlData is the data that a message of the peer carried for the client protocol:
// bits of the header, and control data (§3.4 Res; CLEN, control data).
type ControlData struct {
	QPNum  uint32
	Type   segment.Type
	Number uint32 // the message's number; that of our Read_Request for a Read_Response
	Res    uint8  // the 4 bits of the first segment
	Data   []byte // the data of all segments, in order; valid until the call returns
}

// controlMemory is the size of the largest buffer for control data that a connection
// keeps for its next message.
const controlMemory = 4 << 10

// controlData is the same of one message: one to be sent, or an open one, as far as it
// has come.
type controlData struct {
	res  uint8
	data []byte
}

// recordControl records the control data of an accepted segment. The parts of a
// message's control data may come in any of its segments. The profile needs only its
// own words, and none of a Read_Response. RawConfig.Control gets all.
func (q *queuePair) recordControl(h *segment.Header, control []byte) error {
	in, raw := &q.in, q.dev.cfg.Raw
	if raw == nil {
		if h.Type != segment.ReadResponse {
			in.controlLen += copy(in.control[in.controlLen:], control)
		}
		return nil
	}
	if raw.Control == nil {
		return nil
	}
	b := in.controlData(h)
	if h.Begin {
		b.res, b.data = h.Res, b.data[:0]
	}
	if len(b.data)+len(control) > raw.MaxControl {
		q.mu.Lock()
		defer q.mu.UnlockNotify()
		return q.refuse(reasonFormat, h.Number, 0, fmt.Sprintf("%v with %d bytes of control data, want at most %d (RawConfig.MaxControl)",
			h.Type, len(b.data)+len(control), raw.MaxControl))
	}
	b.data = append(b.data, control...)
	return nil
}

// controlData returns the control data of the open message of the segment's group (§4).
func (in *incoming) controlData(h *segment.Header) *controlData {
	if h.Type == segment.ReadResponse {
		return &in.rawControl[1]
	}
	return &in.rawControl[0]
}

// deliverControl calls RawConfig.Control after the last CRC of a message was checked.
// mu is not held.
func (q *queuePair) deliverControl(h *segment.Header) {
	raw := q.dev.cfg.Raw
	if raw == nil || raw.Control == nil || !h.End {
		return
	}
	b := q.in.controlData(h)
	if b.res != 0 || len(b.data) > 0 {
		raw.Control(ControlData{QPNum: q.Num(), Type: h.Type, Number: h.Number, Res: b.res, Data: b.data})
	}
	if cap(b.data) > controlMemory {
		b.data = nil
	}
}

// requestControl returns what RawConfig.Attach adds to requests, or nil without Attach.
// mu is not held.
func (q *queuePair) requestControl(wrs []verbs.SendWR) []*controlData {
	raw := q.dev.cfg.Raw
	if raw == nil || raw.Attach == nil {
		return nil
	}
	all := make([]*controlData, len(wrs))
	for i := range wrs {
		if wrs[i].Opcode == verbs.LocalInvalidate {
			continue
		}
		if res, control := raw.Attach(q.Num(), wrs[i]); res != 0 || len(control) > 0 {
			all[i] = &controlData{res: res, data: bytes.Clone(control)}
		}
	}
	return all
}

// check returns an error for control data that cannot be sent (§3.4 Res, CLEN).
func (b *controlData) check() error {
	if n := len(b.data); b.res > 0xf || n%4 != 0 || n > segment.MaxControl {
		return fmt.Errorf("RawConfig.Attach returned bits %#x and %d bytes of control data, want bits up to 0xf and a multiple of 4 of at most %d bytes (draft-williams-rdmatcp-00 §3.4 Res, CLEN): %w",
			b.res, n, segment.MaxControl, verbs.ErrInvalidWR)
	}
	return nil
}
