package header

import "encoding/binary"

// PrefixSize is the length of the words that all versions begin with.
const PrefixSize = 16

// Prefix is those words (RFC 8166 §4.2; R15).
type Prefix struct {
	XID, Vers, Credit, Proc uint32
}

// DecodePrefix reads the prefix; false if b is shorter than that.
func DecodePrefix(b []byte) (p Prefix, ok bool) {
	if len(b) < PrefixSize {
		return p, false
	}
	return Prefix{
		XID:    binary.BigEndian.Uint32(b),
		Vers:   binary.BigEndian.Uint32(b[4:]),
		Credit: binary.BigEndian.Uint32(b[8:]),
		Proc:   binary.BigEndian.Uint32(b[12:]),
	}, true
}

// MsgType is the second word of an RPC message (RFC 5531 §9): who sends it.
type MsgType uint32

// The message types.
const (
	Call  MsgType = 0
	Reply MsgType = 1
)

// RPC reads the first two words of an RPC message; false if they are not
// there. It looks at b only, never at what an earlier message left behind it (T20).
func RPC(b []byte) (xid uint32, t MsgType, ok bool) {
	if len(b) < 8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(b), MsgType(binary.BigEndian.Uint32(b[4:])), true
}
