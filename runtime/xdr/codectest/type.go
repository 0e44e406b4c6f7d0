package codectest

import (
	"encoding"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Value is a pointer to a generated type.
type Value interface {
	xdr.Value
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	ResetXDR()
}

// Checker is a pointer to a type that was generated with views. It may be nil.
type Checker interface {
	xdr.Checkable
	CheckXDR([]byte) (int, error)
}

// Type is a generated type and its properties that the compiler computed.
type Type struct {
	Name  string
	New   func() Value
	Check Checker           // nil if the package has no views
	View  func([]byte) any  // nil if the type has no view
	Scan  func([]byte) Scan // nil if the type has none
	// Lists has the lists that a scan yields, in the order on the wire.
	Lists []List
	// Min and Max are the bounds of its encodings, in bytes. If Max is negative, there is no
	// upper bound.
	Min, Max int64
	// Amplification is the number of bytes that a decoded value may retain for each byte of its
	// encoding. If zero, the compiler found no bound.
	Amplification int64
	Wires         []string // valid encodings, hexadecimal

	// The optional methods; nil if the type does not have them. Clone and Equal are called with
	// values that New made.
	Clone  func(v Value) (Value, error)
	Equal  func(v, w Value) bool
	Stream func(v Value) Stream
}

// Stream are the methods of a type that is written to an io.Writer and read from an io.Reader.
type Stream interface {
	EncodeTo(w io.Writer) error
	DecodeFrom(r io.Reader, limit int) error
}

// Scan is a generated scan of an unchecked message.
type Scan interface {
	Err() error
	End() (int, error)
}

// List is a list or array that a scan yields, by a method that returns an iter.Seq.
type List struct {
	Path   string // the Go fields that lead to it: ".Field.Field"
	Method string
}

func (t *Type) wires() ([][]byte, error) {
	var out [][]byte
	for _, s := range t.Wires {
		b, err := hex.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("%s: wire %q: %w", t.Name, s, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// check tests one property of a type on one valid encoding.
type check struct {
	name string
	run  func(t *Type, wire []byte) error
}

func checks() []check {
	return []check{
		{"round trip", roundTrip},
		{"bounds", bounds},
		{"truncation", truncation},
		{"trailing", trailing},
		{"readers agree", agree},
		{"room", room},
		{"words replaced", mutations},
		{"moves between modes", moves},
		{"allocations", allocations},
		{"refusals", refusals},
		{"stream", stream},
		{"text", printed},
	}
}
