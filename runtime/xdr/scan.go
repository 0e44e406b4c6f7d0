package xdr

import "math"

// This file is what generated scans stand on.

// Scan is where a scan stands in its message. For generated code.
type Scan struct {
	B    []byte // the message, unchecked from Off on
	Off  int    // the offset of the next byte
	At   int    // the number of the place in the message: lists have one each
	Left int    // where a list was broken off, how many elements are known to follow
}

// wrongPlace is beyond all places: something is wrong.
const wrongPlace = math.MaxInt

// Fail ends the scan: something is wrong at the place. It returns false.
func (s *Scan) Fail() bool {
	s.At = wrongPlace
	return false
}

// Err returns what is wrong, if something is. A scan does not know it, but a
// check of the message finds it: v is the message's type.
func (s *Scan) Err(v Checkable) error {
	if s.At != wrongPlace {
		return nil
	}
	if _, err := v.SkipXDR(new(Checker), s.B, 0); err != nil {
		return err
	}
	return nil
}

// LeadWord is the word at off that leads on to the first element of a list, or counts
// an array's elements, and the offset after it. Where it is not there the word is one
// that no list has, and the offset negative. For generated code.
func LeadWord(b []byte, off int) (word uint32, next int) {
	if Lacks(b, off, 4) {
		return math.MaxUint32, -1
	}
	return Uint32(b, off), off + 4
}

// PassOpaque is the offset after opaque data or a string of at most most bytes at
// off, negative where it is wrong. For generated code.
func PassOpaque(b []byte, off int, most uint32) int {
	if Lacks(b, off, 4) {
		return -1
	}
	n := Uint32(b, off)
	off += 4
	if n > most || (uint64(n)+3)&^3 > uint64(len(b)-off) || !ZeroPad(b, off, int(n)) {
		return -1
	}
	return off + Padded(int(n))
}

// Passed is the offset that a check-only reader returned, negative where it
// refused. For generated code.
func Passed(off int, err *Error) int {
	if err != nil {
		return -1
	}
	return off
}
