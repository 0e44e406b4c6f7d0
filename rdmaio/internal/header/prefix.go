package header

import "encoding/binary"

// PrefixSize is the length in bytes of the four words that every message of every version begins
// with.
const PrefixSize = 16

// ErrorProcedure is the procedure of an RDMA_ERROR in every version (RFC 8166 §4.1).
const ErrorProcedure = 4

// Prefix has the first four words of a message (RFC 8166 §4.2; R15).
type Prefix struct {
	XID, Vers, Credit, Proc uint32
}

// DecodePrefix decodes the prefix of b. ok is false if b is too short.
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

// SetCredit sets the credit value of the encoded message b (RFC 8166 §4.2.3).
func SetCredit(b []byte, value uint32) { binary.BigEndian.PutUint32(b[8:], value) }

// MsgType is the second word of an RPC message (RFC 5531 §9).
type MsgType uint32

// The message types.
const (
	Call  MsgType = 0
	Reply MsgType = 1
)

// RPC decodes the first two words of an RPC message. ok is false if b is too short. RPC does not
// read beyond len(b), where bytes of an earlier message may be (T20).
func RPC(b []byte) (xid uint32, t MsgType, ok bool) {
	if len(b) < 8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(b), MsgType(binary.BigEndian.Uint32(b[4:])), true
}
