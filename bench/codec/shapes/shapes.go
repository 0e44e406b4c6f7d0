// Package shapes holds the same codec written in different shapes, to learn
// which one a code generator should emit. The shapes check what package hand
// checks where that bears on time; none is meant for use.
package shapes

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
)

var be = binary.BigEndian

var (
	errShort = errors.New("short")
	errFlag  = errors.New("bad flag")
	errEnum  = errors.New("bad enumerator")
)

// Shape is one way to write one operation on one message.
type Shape struct {
	Message string // a, b or d
	Op      string // encode, decode, or union: a decode by layout of the union
	Name    string
	// Run works on wire, which has the message's size.
	Run func(wire []byte) (int, error)
}

// All returns every shape; hand is the first of each message and operation.
func All() []Shape {
	var all []Shape
	for _, m := range []struct {
		name string
		h    *hand.Header
	}{{"a", sample.A()}, {"b", sample.B()}} {
		all = append(all, headerEncoders(m.name, m.h)...)
		all = append(all, headerDecoders(m.name)...)
		all = append(all, unionDecoders(m.name)...)
	}
	all = append(all, dirplusEncoders(sample.D())...)
	all = append(all, dirplusDecoders()...)
	return append(all, threadedDecoders()...)
}
