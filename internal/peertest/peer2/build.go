package peer2

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
)

// Props returns a CONNPROP (§6.4.4).
func Props(xid uint32, set ...Property) Message { return Message{XID: xid, Type: ConnProp, Set: set} }

// Prop returns a property whose value is a number.
func Prop(id, value uint32) Property {
	return Property{id, binary.BigEndian.AppendUint32(nil, value)}
}

// Value returns the numeric value of a property in the set of m, and whether it is there.
func (m *Message) Value(id uint32) (uint32, bool) {
	for _, p := range m.Set {
		if p.ID == id && len(p.Data) == 4 {
			return binary.BigEndian.Uint32(p.Data), true
		}
	}
	return 0, false
}

// Call returns a Call that is all inline.
func Call(xid uint32, rpc []byte) Message { return Message{XID: xid, Type: Msg, Payload: rpc} }

// Reply returns a Reply that is all inline.
func Reply(xid uint32, rpc []byte) Message {
	return Message{XID: xid, Type: Msg, Flags: Response, Payload: rpc}
}

// Grant returns a message that grants credits alone (§6.4.2).
func Grant() Message { return Message{Type: NoMsg} }

// Err returns an ERROR (§6.4.3).
func Err(xid, code uint32, args ...uint32) Message {
	return Message{XID: xid, Type: Error, Flags: Response, Code: code, Args: args}
}

// Unused returns a Reply to a Call with its write chunks and reply chunk, all unused (§4.4.6).
func (m *Message) Unused(rpc []byte) Message {
	unused := func(list []peertest.Segment) []peertest.Segment {
		out := make([]peertest.Segment, len(list))
		for i, s := range list {
			s.Length = 0
			out[i] = s
		}
		return out
	}
	r := Reply(m.XID, rpc)
	for _, c := range m.Writes {
		r.Writes = append(r.Writes, unused(c))
	}
	if m.Reply != nil {
		r.Reply = unused(m.Reply)
	}
	return r
}

// Split returns a message as the parts of a sequence, cut before these bytes of its payload
// (§4.5.2). Its chunks go with the last part.
func (m Message) Split(cuts ...int) []Message {
	var parts []Message
	from := 0
	for _, at := range cuts {
		part := Message{XID: m.XID, Vers: m.Vers, Credit: m.Credit, Type: m.Type, Flags: m.Flags | More, Payload: m.Payload[from:at]}
		parts = append(parts, part)
		from = at
	}
	m.Payload = m.Payload[from:]
	return append(parts, m)
}
