package codectest

import (
	"encoding"
	"encoding/hex"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Value is a pointer to a generated type.
type Value interface {
	xdr.Value
	xdr.Checkable
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	CheckXDR([]byte) (int, error)
	ResetXDR()
}

// Type is a generated type and what the compiler knows of it.
type Type struct {
	Name string
	New  func() Value
	View func([]byte) any // nil where the type has no view
	// Each are the iterators over its lists and arrays, by the path of Go fields
	// that leads there: func([]byte) iter.Seq2[T, error].
	Each map[string]any
	// Min and Max bound its encodings, in bytes; a negative Max is none.
	Min, Max int64
	// Amplification is how many bytes of memory a decoded value may hang on to
	// for each byte of its encoding; 0 where the compiler found no bound.
	Amplification int64
	Wires         []string // valid encodings, hexadecimal
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

// check is one property of a type, shown on one valid encoding.
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
		{"words replaced", mutations},
		{"moves between modes", moves},
		{"allocations", allocations},
		{"refusals", refusals},
	}
}
