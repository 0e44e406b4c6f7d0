package xchar

import (
	"fmt"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
)

// Characteristics describe one endpoint of a connection.
type Characteristics struct {
	// ReceiveSize is the size of the smallest posted Receive in bytes (section 3.1).
	ReceiveSize uint32

	// RemoteInvalidation reports whether a responder may reply to this endpoint with Send With
	// Invalidate (section 3.2).
	RemoteInvalidation bool

	// Backward is the support of backward requests (section 3.3).
	Backward wire.BackwardSupport
}

// DefaultReceiveSize is the receive size, in bytes, of an endpoint that has not announced another.
const DefaultReceiveSize = 4096

// Defaults returns the characteristics of an endpoint that has not described itself: table 1.
func Defaults() Characteristics { // draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3; R234, R235, R236
	return Characteristics{ReceiveSize: DefaultReceiveSize, Backward: wire.BackwardSizeLimited}
}

// Value is one characteristic with its value.
type Value struct {
	ID   wire.ID
	Word uint32 // as in XDR: bytes; 0 or 1; a wire.BackwardSupport
}

// ReceiveSize returns a receive size of n bytes.
func ReceiveSize(n uint32) Value { return Value{wire.IDReceiveBufferSize, n} }

// RemoteInvalidation returns the acceptance of remote invalidation.
func RemoteInvalidation(accepted bool) Value {
	v := Value{ID: wire.IDRemoteInvalidation}
	if accepted {
		v.Word = 1
	}
	return v
}

// Backward returns a level of support for backward requests.
func Backward(level wire.BackwardSupport) Value {
	return Value{wire.IDBackwardSupport, uint32(level)}
}

// String returns the name and the value.
func (v Value) String() string {
	switch v.ID {
	case wire.IDReceiveBufferSize:
		return fmt.Sprintf("receive size %d", v.Word)
	case wire.IDRemoteInvalidation:
		return fmt.Sprintf("remote invalidation %t", v.Word != 0)
	case wire.IDBackwardSupport:
		return fmt.Sprintf("backward support %v", wire.BackwardSupport(v.Word))
	}
	return fmt.Sprintf("characteristic %d", v.ID)
}

// valid returns an error unless v is a known characteristic with a value of its type.
func (v Value) valid() error {
	s, known := slotOf(v.ID)
	switch {
	case !known:
		return fmt.Errorf("xchar: found characteristic %d, expected 1, 2 or 3 (section 3, table 1)", v.ID)
	case s == invalidation && v.Word > 1:
		return fmt.Errorf("xchar: remote invalidation is %d, expected 0 or 1 (section 3.2): use RemoteInvalidation", v.Word)
	case s == backward && !wire.BackwardSupport(v.Word).Valid():
		return fmt.Errorf("xchar: backward support is %d, expected 0 to 3 (section 3.3)", v.Word)
	}
	return nil
}

// wire returns v as messages carry it.
func (v Value) wire() wire.Value {
	return wire.Value{Which: v.ID, Data: []byte{byte(v.Word >> 24), byte(v.Word >> 16), byte(v.Word >> 8), byte(v.Word)}}
}

// slot is the index of a known characteristic in the arrays of an Endpoint.
type slot int

const (
	receiveSize  slot = wire.IDReceiveBufferSize - 1
	invalidation slot = wire.IDRemoteInvalidation - 1
	backward     slot = wire.IDBackwardSupport - 1
	slots             = 3
)

// slotOf returns the slot of a characteristic, and whether it is known.
func slotOf(id wire.ID) (slot, bool) {
	return slot(id) - 1, id >= 1 && id <= slots
}

func (s slot) value(word uint32) Value { return Value{wire.ID(s + 1), word} }

// words returns the values of c by slot.
func (c Characteristics) words() [slots]uint32 {
	return [slots]uint32{c.ReceiveSize, RemoteInvalidation(c.RemoteInvalidation).Word, uint32(c.Backward)}
}

// characteristics returns values by slot with their types.
func characteristics(words [slots]uint32) Characteristics {
	return Characteristics{
		ReceiveSize:        words[receiveSize],
		RemoteInvalidation: words[invalidation] != 0,
		Backward:           wire.BackwardSupport(words[backward]),
	}
}

// decode returns the value of a known characteristic. The data must be one value of its type, no
// byte less and no byte more.
func (s slot) decode(data []byte) (uint32, error) {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §2.1; R232
	switch s {
	case receiveSize:
		var v wire.ReceiveBufferSize
		err := v.UnmarshalBinary(data)
		return uint32(v), err
	case invalidation:
		var v wire.RemoteInvalidation
		err := v.UnmarshalBinary(data)
		return RemoteInvalidation(bool(v)).Word, err
	default:
		var v wire.BackwardSupportLevel
		err := v.UnmarshalBinary(data)
		return uint32(v), err
	}
}
