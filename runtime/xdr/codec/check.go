package codec

import (
	"encoding/binary"
	"math"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

const (
	defaultElements = 1 << 16
	defaultDepth    = 128
)

// limit returns what a field of xdr.Limits stands for.
func limit(set, def int) int {
	switch {
	case set > 0:
		return set
	case set < 0:
		return math.MaxInt
	}
	return def
}

// Refuses reports whether the rule that code stands for is in force. A nil Checker is for bytes
// that have been checked: it refuses nothing. Generated code asks only if the rule is broken.
// The function is inlined: a call in the condition of a list's loop would make checking a message
// with lists 15 % slower.
func Refuses(c *xdr.Checker, code xdr.Code) bool {
	return c != nil && (c.Options == nil || !allows(&c.Options.Lenient, code))
}

// allows reports whether the rule that code stands for is off.
func allows(l *xdr.Lenient, code xdr.Code) bool {
	switch code {
	case xdr.CodePadding:
		return l.Padding
	case xdr.CodeBool:
		return l.Booleans
	case xdr.CodeEnum:
		return l.Enums
	}
	return false
}

// Enter counts one level of a type that contains itself. If it succeeds, [Leave] must follow,
// unless reading fails.
func Enter(c *xdr.Checker, off int) *xdr.Error {
	if c == nil {
		return nil
	}
	most := defaultDepth
	if c.Options != nil {
		most = limit(c.Options.Limits.MaxDepth, defaultDepth)
	}
	if c.Depth >= most {
		return Fail(xdr.CodeDepth, off, uint64(c.Depth)+1, uint64(most), "")
	}
	c.Depth++
	return nil
}

// Leave undoes [Enter].
func Leave(c *xdr.Checker) {
	if c != nil {
		c.Depth--
	}
}

// MaxElements returns the largest count of an array whose elements take no bytes on the wire.
func MaxElements(c *xdr.Checker) int {
	switch {
	case c == nil:
		return math.MaxInt
	case c.Options == nil:
		return defaultElements
	}
	return limit(c.Options.Limits.MaxElements, defaultElements)
}

// DecoderOf returns the Decoder whose items out of line c looks for, or nil.
func DecoderOf(c *xdr.Checker) *xdr.Decoder {
	if c == nil {
		return nil
	}
	return c.Decoder
}

// ZeroPad reports whether the padding after n bytes of opaque data at off is zero (RFC 4506 §3).
// The caller has checked that the padding is in b.
func ZeroPad(b []byte, off, n int) bool { return n&3 == 0 || PadBits(b, off, n) == 0 }

// PadBits returns the padding after n bytes of opaque data at off, as the last bits of a number.
func PadBits(b []byte, off, n int) uint64 {
	end := off + xdr.Padded(n)
	return uint64(binary.BigEndian.Uint32(b[end-4:end]) << (8 * (n & 3)) >> (8 * (n & 3)))
}
