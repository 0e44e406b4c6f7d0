package hand

import "fmt"

// Fault is the kind of an error in a message or in a value to encode.
type Fault uint8

// The faults, in the words of RFC 4506.
const (
	// Short: the input ends before the item, or the buffer is too small.
	Short Fault = iota + 1
	// BadBool: a boolean or presence word is neither 0 nor 1 (RFC 4506 §4.4, §4.19).
	BadBool
	// BadEnum: the number is no declared enumerator (RFC 4506 §4.3).
	BadEnum
	// BadPad: a padding byte is not zero (RFC 4506 §3, §4.10).
	BadPad
	// TooLong: a length is over the declared maximum (RFC 4506 §4.10).
	TooLong
)

var faultText = [...]string{
	Short:   "fewer bytes than the item needs",
	BadBool: "flag is neither 0 nor 1",
	BadEnum: "number is no declared enumerator",
	BadPad:  "padding is not zero",
	TooLong: "length is over the declared maximum",
}

// Error is a fault at a byte offset of the message.
type Error struct {
	Fault  Fault
	Offset int // bytes from the start of the message to the item at fault
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("xdr: offset %d: %s", e.Offset, faultText[e.Fault])
}

// fail is kept out of line, so that the encoders and decoders stay small.
//
//go:noinline
func fail(f Fault, off int) error { return &Error{Fault: f, Offset: off} }
