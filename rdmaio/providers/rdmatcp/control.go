package rdmatcp

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// ControlData is what a message carried for the client protocol: its own bits of
// the header, and control data (§3.4 Res; CLEN, control data).
type ControlData struct {
	QPNum  uint32
	Type   segment.Type
	Number uint32 // of the message; a Read_Response has that of our Read_Request
	Res    uint8  // the 4 bits of the first segment
	Data   []byte // of all segments, in their order; the provider's own again when the call returns
}

// bigControl is the control data of a message whose memory is not kept.
const bigControl = 4 << 10

// controlData is what a message carries: one to be sent, or the open one of a group so
// far.
type controlData struct {
	res  uint8
	data []byte
}

// recordControl notes what a segment that was accepted carries beside its payload, which
// may come in any segment of a message, in parts. The profile has no use for that
// of an answer and none for more than its own words; a raw user is shown all.
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
		return q.refuse(reasonFormat, h.Number, 0, fmt.Sprintf("more than %d bytes of control data (RawConfig.MaxControl)", raw.MaxControl))
	}
	b.data = append(b.data, control...)
	return nil
}

// controlData finds what belongs to the segment's group (§4).
func (in *incoming) controlData(h *segment.Header) *controlData {
	if h.Type == segment.ReadResponse {
		return &in.rawControl[1]
	}
	return &in.rawControl[0]
}

// deliverControl hands up what a message carried, when its last CRC is right. mu is not held.
func (q *queuePair) deliverControl(h *segment.Header) {
	raw := q.dev.cfg.Raw
	if raw == nil || raw.Control == nil || !h.End {
		return
	}
	b := q.in.controlData(h)
	if b.res != 0 || len(b.data) > 0 {
		raw.Control(ControlData{QPNum: q.Num(), Type: h.Type, Number: h.Number, Res: b.res, Data: b.data})
	}
	if cap(b.data) > bigControl {
		b.data = nil
	}
}

// requestControl asks a raw user what goes control with requests; nil if there is none to
// ask. mu is not held.
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

// check says what cannot be sent (§3.4 Res, CLEN).
func (b *controlData) check() error {
	if n := len(b.data); b.res > 0xf || n%4 != 0 || n > segment.MaxControl {
		return fmt.Errorf("RawConfig.Attach gives bits %#x and %d bytes of control data, want 4 bits and whole words of at most %d bytes: %w", b.res, n, segment.MaxControl, verbs.ErrInvalidWR)
	}
	return nil
}
