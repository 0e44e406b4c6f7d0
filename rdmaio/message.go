package rdmaio

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Message is an RPC message, with some of its items (opaque data or arrays) outside the encoded
// bytes. An xdr.Encoder produces it after Reduce. The transport decides how each item travels.
//
// Positions and offsets count from the XID, with which Inline must begin:
//
//	enc.Reset(buf)
//	... // encode the RPC header
//	enc.Reduce(xdr.Reduction{Sites: program.Sites(proc, false)}, uint64(enc.Len()))
//	... // encode the arguments
//	m := rdmaio.Message{Inline: enc.Bytes(), Items: enc.Items()}
//
// Here program is an oncrpc.Program with the bindings of the generated package. Its Sites(proc,
// true) are those of the results.
type Message struct {
	// Inline is the encoded message without the items and their XDR padding. Its length is a
	// multiple of four. It is the whole message if there are no Items.
	Inline []byte

	// Items are the items, in the order of their positions. Site is ignored. Elements of RPCSEC_GSS
	// are never items, and a message under integrity or privacy has none (RFC 8166 §8.2.2,
	// §8.2.2.3; R305, R306).
	Items []xdr.Item
}

// xid returns the first word.
func (m *Message) xid() uint32 { return binary.BigEndian.Uint32(m.Inline) }

// The types of an RPC message, its second word (RFC 5531 §9).
const (
	typeCall  = 0
	typeReply = 1
)

// check returns an error if the message is not an RPC message of type want, or would reach the peer
// as another message (R60, R62, R65). The peer could only drop such a message, and its credit would
// be lost. The upper layer checks credentials and verifiers, in both directions (RFC 8167 §8;
// R282).
func (m *Message) check(want uint32) error {
	if len(m.Inline) < 8 || len(m.Inline)&3 != 0 {
		return fmt.Errorf("%w: Inline has %d bytes, must have a multiple of 4, and 8 at least for the XID and the type (RFC 5531 §9)", ErrMessage, len(m.Inline))
	}
	if got := binary.BigEndian.Uint32(m.Inline[4:]); got != want {
		return fmt.Errorf("%w: message type is %d, must be %d: a Call is 0, a Reply 1 (RFC 5531 §9)", ErrMessage, got, want)
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

// checkPosition returns an error if item i has a position that a read chunk cannot have.
func (m *Message) checkPosition(i int) error {
	if at := m.Items[i].Position; at > 1<<32-1 {
		return fmt.Errorf("%w: item %d has position %d, which does not fit 32 bits (RFC 8166 §3.4.5)", ErrMessage, i, at)
	}
	return nil
}

// size returns the length of the message with all items inline for which back returns true.
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

// pieces appends the message, with those items inline, to a list of slices.
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
