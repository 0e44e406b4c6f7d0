package rdmaio

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Message is an RPC message with some of its items beside it: what an
// xdr.Encoder gives after Reduce, and the transport decides how each travels. Items may be empty: then Inline
// is the whole message.
//
// Positions and offsets count from the message's XID, so Inline is to begin there:
//
//	enc.Reset(buf); /* RPC header */; enc.Reduce(r, uint64(enc.Len())); /* arguments */
//	m := rdmaio.Message{Inline: enc.Bytes(), Items: enc.Items()}
type Message struct {
	Inline []byte // the message without the items and their roundup
	// Items are in order of position; Site is ignored. Elements of RPCSEC_GSS are never items,
	// and a message under integrity or privacy has none (RFC 8166 §8.2.2, §8.2.2.3; R305, R306).
	Items []xdr.Item
}

// XID is the first word.
func (m *Message) xid() uint32 { return binary.BigEndian.Uint32(m.Inline) }

// The types of an RPC message, its second word (RFC 5531 §9).
const (
	typeCall  = 0
	typeReply = 1
)

// check refuses what is no RPC message of type want, or would come out at the other
// end as another message (R60, R62, R65). The peer could only drop such a
// message, and the credit that it cost. Credentials and verifiers are the upper layer's, in both
// directions alike (RFC 8167 §8; R282).
func (m *Message) check(want uint32) error {
	if len(m.Inline) < 8 || len(m.Inline)&3 != 0 {
		return fmt.Errorf("%w: %d inline bytes, must be a multiple of 4 and hold the XID and the type (RFC 5531 §9)", ErrMessage, len(m.Inline))
	}
	if got := binary.BigEndian.Uint32(m.Inline[4:]); got != want {
		return fmt.Errorf("%w: its type is %d, must be %d: a Call is 0, a Reply 1 (RFC 5531 §9)", ErrMessage, got, want)
	}
	removed, last := uint64(0), 8
	for i := range m.Items {
		it := &m.Items[i]
		if it.Inline < last || it.Inline > len(m.Inline) || it.Inline&3 != 0 {
			return fmt.Errorf("%w: item %d belongs at inline offset %d, must be a multiple of 4 within %d and %d",
				ErrMessage, i, it.Inline, last, len(m.Inline))
		}
		if want := uint64(it.Inline) + removed; it.Position != want {
			return fmt.Errorf("%w: item %d has position %d, but by its inline offset and the items before it belongs at %d: was base right in Encoder.Reduce?",
				ErrMessage, i, it.Position, want)
		}
		last = it.Inline
		removed += uint64(xdr.Padded(len(it.Data)))
	}
	return nil
}

// reachable refuses an item whose position a read chunk cannot have.
func (m *Message) reachable(i int) error {
	if at := m.Items[i].Position; at > 1<<32-1 {
		return fmt.Errorf("%w: item %d has position %d, which does not fit 32 bits (RFC 8166 §3.4.5)", ErrMessage, i, at)
	}
	return nil
}

// size is the length of the message with all items for which back is true put back inline.
func (m *Message) size(back func(i int) bool) int {
	n := len(m.Inline)
	for i := range m.Items {
		if back(i) {
			n += xdr.Padded(len(m.Items[i].Data))
		}
	}
	return n
}

var zeros [3]byte // never written

// pieces appends the message, with those items put back, as a list of slices.
func (m *Message) pieces(to [][]byte, back func(i int) bool) [][]byte {
	at := 0
	for i := range m.Items {
		it := &m.Items[i]
		if !back(i) || len(it.Data) == 0 {
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

func all(int) bool  { return true }
func none(int) bool { return false }
