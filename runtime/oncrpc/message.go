package oncrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ErrMessage reports that a caller or handler passed something that is not an RPC message as
// described at Message.
var ErrMessage = errors.New("oncrpc: not a usable message")

// Message is an RPC message, with some of its items (opaque data or arrays) outside the encoded
// bytes. An xdr.Encoder produces it after Reduce. The carrier decides how each item travels.
//
// Positions and offsets count from the XID, with which Inline must begin:
//
//	enc.Reset(buf)
//	... // encode the Header
//	enc.Reduce(xdr.Reduction{Sites: program.Sites(proc, false)}, uint64(enc.Len()))
//	... // encode the arguments
//	m := oncrpc.Message{Inline: enc.Bytes(), Items: enc.Items()}
//
// Here program is a Program with the bindings of the generated package. Its Sites(proc, true) are
// the results' sites.
type Message struct {
	// Inline is the encoded message without the items and their XDR padding. Its length is a
	// multiple of four. It is the whole message if there are no Items.
	Inline []byte

	// Items are the items, in the order of their positions. Site is ignored. Elements of RPCSEC_GSS
	// are never items, so a message under integrity or privacy has no items (RFC 8166 §8.2.2,
	// §8.2.2.3; R305, R306).
	Items []xdr.Item
}

// XID returns the transaction ID. Inline must have four bytes at least.
func (m *Message) XID() uint32 { return binary.BigEndian.Uint32(m.Inline) }

// Check returns an error if the message is not an RPC message of type want, or would reach the peer
// as another message (R60, R62, R65). The peer could only drop such a message, and its credit would
// be lost. The upper layer checks credentials and verifiers, in both directions (RFC 8167 §8;
// R282).
func (m *Message) Check(want MsgType) error {
	if len(m.Inline) < 8 || len(m.Inline)&3 != 0 {
		return fmt.Errorf("%w: Inline has %d bytes, must have a multiple of 4, and 8 at least for the XID and the type (RFC 5531 §9)", ErrMessage, len(m.Inline))
	}
	if got := MsgType(binary.BigEndian.Uint32(m.Inline[4:])); got != want {
		return fmt.Errorf("%w: message type is %d, must be %d: a Call is 0, a Reply 1 (RFC 5531 §9)", ErrMessage, uint32(got), uint32(want))
	}
	removed, last := uint64(0), 8
	for i := range m.Items {
		it := &m.Items[i]
		if it.Inline < last || it.Inline > len(m.Inline) || it.Inline&3 != 0 {
			return fmt.Errorf("%w: item %d has inline offset %d, must be a multiple of 4 within %d and %d",
				ErrMessage, i, it.Inline, last, len(m.Inline))
		}
		if want := uint64(it.Inline) + removed; it.Position != want {
			return fmt.Errorf("%w: item %d has position %d, must be %d by its inline offset and the items before it: check the base passed to Encoder.Reduce",
				ErrMessage, i, it.Position, want)
		}
		last = it.Inline
		removed += uint64(xdr.Padded(len(it.Data)))
	}
	return nil
}

// CheckReply is Check for the reply to the call with this XID.
func (m *Message) CheckReply(xid uint32) error {
	if err := m.Check(MsgReply); err != nil {
		return err
	}
	if got := m.XID(); got != xid {
		return fmt.Errorf("%w: the reply has XID %#x, must have the Call's, %#x (R16)", ErrMessage, got, xid)
	}
	return nil
}

// Size returns the length of the message in bytes, with those items for which inline returns true.
// If inline is nil, it is the whole length.
func (m *Message) Size(inline func(i int) bool) int {
	n := len(m.Inline)
	for i := range m.Items {
		if inline == nil || inline(i) {
			n += xdr.Padded(len(m.Items[i].Data))
		}
	}
	return n
}

var zeros [3]byte // never written

// Gather appends the message to a list of slices, with those items for which inline returns true,
// and their padding. If inline is nil, it appends the whole message. No byte is copied.
func (m *Message) Gather(to [][]byte, inline func(i int) bool) [][]byte {
	at := 0
	for i := range m.Items {
		it := &m.Items[i]
		if len(it.Data) == 0 || inline != nil && !inline(i) {
			continue
		}
		if it.Inline > at {
			to = append(to, m.Inline[at:it.Inline])
			at = it.Inline
		}
		to = append(to, it.Data)
		if pad := -len(it.Data) & 3; pad > 0 {
			to = append(to, zeros[:pad])
		}
	}
	if at < len(m.Inline) {
		to = append(to, m.Inline[at:])
	}
	return to
}

// Clone returns a copy of the message that shares no memory with it.
func (m *Message) Clone() Message {
	out := Message{Inline: bytes.Clone(m.Inline), Items: append([]xdr.Item(nil), m.Items...)}
	for i := range out.Items {
		out.Items[i].Data = bytes.Clone(out.Items[i].Data)
	}
	return out
}
