package sample

import (
	"math"

	"github.com/rpcrdma/rpcrdma/bench/codec/dirplus"
)

// elements is the number of elements in the arrays of numbers.
const elements = 1 << 20

// Words is an array of numbers of 4 bytes.
func Words() *dirplus.Words {
	v := make(dirplus.Words, elements)
	for i := range v {
		v[i] = int32(i * 0x01234567)
	}
	return &v
}

// Doubles is an array of numbers of 8 bytes.
func Doubles() *dirplus.Doubles {
	v := make(dirplus.Doubles, elements)
	for i := range v {
		v[i] = math.Sqrt(float64(i)) // no NaN, so that values can be compared
	}
	return &v
}
