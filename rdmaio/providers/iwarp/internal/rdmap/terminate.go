package rdmap

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
)

// Sizes of the body of a Terminate, in bytes.
const (
	controlSize  = 4
	lengthSize   = 2
	MaxTerminate = controlSize + lengthSize + ddp.UntaggedSize + ReadRequestSize
)

// The header bits, at their place in the third byte (RFC 5040 §4.8 HdrCt).
const (
	bitLength = 0x80 // M
	bitDDP    = 0x40 // D
	bitRead   = 0x20 // R

	swappedLength = 0x01 // where Linux puts them on little-endian machines
	swappedDDP    = 0x02
	swappedRead   = 0x04
)

// Terminate is the body of a Terminate message (RFC 5040 §4.8).
type Terminate struct {
	// Cause is the error, as RFC 5040 places it.
	Cause Cause

	// Swapped is the error if layer and error type have changed places, as in a message
	// of Linux. Decode sets it, and Append ignores it.
	Swapped Cause

	// Control holds the first four bytes, as received.
	Control [controlSize]byte

	// HeaderSwapped says that the header bits were at the place where Linux puts them.
	HeaderSwapped bool

	HasDDP bool
	Length uint16 // length of the DDP segment, if HasDDP is set
	DDP    ddp.Header

	HasRead bool
	Read    ReadRequest
}

// Append appends the body to b.
func (t *Terminate) Append(b []byte) []byte {
	var buf [MaxTerminate]byte
	buf[0] = t.Cause.Layer<<4 | t.Cause.Type&0xf
	buf[1] = t.Cause.Code
	n := controlSize
	if t.HasDDP { // RFC 5040 Figure 10: with the length of the segment
		buf[2] |= bitLength | bitDDP
		binary.BigEndian.PutUint16(buf[n:], t.Length)
		n += lengthSize
		n += t.DDP.Put(buf[n:])
	}
	if t.HasRead {
		buf[2] |= bitRead
		n += t.Read.Put(buf[n:])
	}
	return append(b, buf[:n]...)
}

// Decode reads a body, as far as it goes: only one of fewer than four bytes is refused.
func (t *Terminate) Decode(b []byte) error {
	if len(b) < controlSize || len(b) > MaxTerminate {
		return fault(BadTerminate, TerminateOp, uint64(len(b)), MaxTerminate)
	}
	high, low := b[0]>>4, b[0]&0xf
	*t = Terminate{Cause: Cause{high, low, b[1]}, Swapped: Cause{low, high, b[1]}, Control: [controlSize]byte(b)}
	bits := b[2]
	if bits&(bitLength|bitDDP|bitRead) == 0 && bits&(swappedLength|swappedDDP|swappedRead) != 0 {
		t.HeaderSwapped = true
		bits = bits&swappedLength<<7 | bits&swappedDDP<<5 | bits&swappedRead<<3
	}
	b = b[controlSize:]
	if bits&(bitLength|bitDDP) != 0 {
		if len(b) < lengthSize {
			return nil
		}
		t.Length = binary.BigEndian.Uint16(b)
		b = b[lengthSize:]
	}
	if bits&bitDDP != 0 {
		if t.DDP.Decode(b) != nil {
			t.DDP = ddp.Header{}
			return nil
		}
		t.HasDDP = true
		b = b[t.DDP.Size():]
	}
	if bits&bitRead != 0 && len(b) >= ReadRequestSize {
		t.HasRead = t.Read.Decode(b[:ReadRequestSize]) == nil
	}
	return nil
}

// Likely returns the reading of the error that makes sense: Swapped if the header bits
// were swapped, or if only that reading is an error that the RFCs have.
func (t *Terminate) Likely() Cause {
	if t.HeaderSwapped || !t.Cause.Known() && t.Swapped.Known() {
		return t.Swapped
	}
	return t.Cause
}
