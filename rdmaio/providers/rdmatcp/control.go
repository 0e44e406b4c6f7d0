package rdmatcp

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// MessageType is the type of a message on the wire (draft-williams-rdmatcp-00 §3.4, Type).
type MessageType uint8

// The types of messages, with their numbers on the wire.
const (
	SendMessage MessageType = iota
	WriteMessage
	ReadRequestMessage
	ReadResponseMessage
)

// String returns the name of the type in the draft.
func (t MessageType) String() string { return segment.Type(t).String() }

// ControlData is the data that a message of the peer carried for the client protocol:
// bits of the header, and control data (draft-williams-rdmatcp-00 §3.4, Res and CLEN; R341).
type ControlData struct {
	QPNum  uint32
	Type   MessageType
	Number uint32 // the message's number; of a Read_Response, our Read_Request's
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

// beginControl prepares for the control data of a message, at its first segment.
func (f *framer) beginControl(h *segment.Header) {
	if !h.Begin {
		return
	}
	if h.Type != segment.ReadResponse {
		f.res, f.controlLen = h.Res, 0
	}
	if f.raw != nil && f.raw.Control != nil {
		b := f.controlData(h)
		b.res, b.data = h.Res, b.data[:0]
	}
}

// Control implements stream.Framer: it records the control data of an accepted segment. The parts
// of a message's control data may come in any of its segments. The profile needs only its own
// words, and ignores a Read_Response's. RawConfig.Control gets all. None of it is payload
// (draft-williams-rdmatcp-00 §3.4, CLEN; R351).
func (f *framer) Control(_ *stream.Frame, control []byte) error {
	h := &f.head
	if f.raw == nil {
		if h.Type != segment.ReadResponse {
			f.controlLen += copy(f.control[f.controlLen:], control)
		}
		return nil
	}
	if f.raw.Control == nil {
		return nil
	}
	b := f.controlData(h)
	if n := len(b.data) + len(control); n > f.raw.MaxControl {
		return &stream.Refusal{
			Reason: stream.ReasonFormat, Number: h.Number,
			What: fmt.Sprintf("%v with %d bytes of control data, want at most %d (RawConfig.MaxControl)", h.Type, n, f.raw.MaxControl),
		}
	}
	b.data = append(b.data, control...)
	return nil
}

// controlData returns the control data of the message that is open in the segment's group (§4).
func (f *framer) controlData(h *segment.Header) *controlData {
	if h.Type == segment.ReadResponse {
		return &f.rawControl[1]
	}
	return &f.rawControl[0]
}

// Observe implements stream.Framer: it calls RawConfig.Control after the last CRC of a message was
// checked.
func (f *framer) Observe(_ *stream.Frame, qpNum uint32) {
	h := &f.head
	b := f.controlData(h)
	if b.res != 0 || len(b.data) > 0 {
		f.raw.Control(ControlData{QPNum: qpNum, Type: MessageType(h.Type), Number: h.Number, Res: b.res, Data: b.data})
	}
	if cap(b.data) > controlMemory {
		b.data = nil
	}
}

// attach returns stream.Config.Attach: the additions of RawConfig.Attach to requests.
func (raw *RawConfig) attach() func(qpNum uint32, wrs []verbs.SendWR) []stream.Extra {
	if raw.Attach == nil {
		return nil
	}
	return func(qpNum uint32, wrs []verbs.SendWR) []stream.Extra {
		all := make([]stream.Extra, len(wrs))
		for i := range wrs {
			if wrs[i].Opcode == verbs.LocalInvalidate {
				continue
			}
			if res, control := raw.Attach(qpNum, wrs[i]); res != 0 || len(control) > 0 {
				all[i] = &controlData{res: res, data: bytes.Clone(control)}
			}
		}
		return all
	}
}

// Check implements stream.Extra. It returns an error for control data that cannot be sent (§3.4
// Res, CLEN).
func (b *controlData) Check() error {
	if n := len(b.data); b.res > 0xf || n%4 != 0 || n > segment.MaxControl {
		return fmt.Errorf("RawConfig.Attach returned bits %#x and %d bytes of control data, want bits up to 0xf and a multiple of 4 of at most %d bytes (draft-williams-rdmatcp-00 §3.4 Res, CLEN): %w",
			b.res, n, segment.MaxControl, verbs.ErrInvalidWR)
	}
	return nil
}
