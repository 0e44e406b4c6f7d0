package codec

import (
	"math"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Scan is the state of a generated scan: an offset into its message, and the number of the next
// place. Each list of the message is a place, and so is each point where the arms of a union meet.
type Scan struct {
	B    []byte // the message, unchecked from Off on
	Off  int    // the offset of the next byte
	At   int    // the number of the next place
	Left int    // if the loop over a list stopped early, how many elements are known to follow
}

// wrongPlace is the place of a scan whose input is invalid. It is beyond all others.
const wrongPlace = math.MaxInt

// Fail stops the scan, because the input is invalid at Off. It returns false.
func (s *Scan) Fail() bool {
	s.At = wrongPlace
	return false
}

// Err returns an error if the input is invalid. A scan only detects errors; Err finds out which
// by a check of the whole message. v is a value of the message's type.
func (s *Scan) Err(v xdr.Checkable) error {
	if s.At != wrongPlace {
		return nil
	}
	if _, err := v.SkipXDR(new(xdr.Checker), s.B, 0); err != nil {
		return err
	}
	return nil
}

// LeadWord returns the word at off, which is a list's presence word or an array's count, and the
// offset after it. If b is too short, the offset is negative and the word one that no list has.
func LeadWord(b []byte, off int) (word uint32, next int) {
	if Lacks(b, off, 4) {
		return math.MaxUint32, -1
	}
	return Uint32(b, off), off + 4
}

// PassOpaque returns the offset after opaque data or a string of at most most bytes at off, or a
// negative offset if it is invalid.
func PassOpaque(b []byte, off int, most uint32) int {
	if Lacks(b, off, 4) {
		return -1
	}
	n := Uint32(b, off)
	off += 4
	if n > most || (uint64(n)+3)&^3 > uint64(len(b)-off) || !ZeroPad(b, off, int(n)) {
		return -1
	}
	return off + xdr.Padded(int(n))
}

// Passed returns the offset that SkipXDR returned, or a negative one if it returned an error.
func Passed(off int, err *xdr.Error) int {
	if err != nil {
		return -1
	}
	return off
}
