package xdr

import (
	"encoding/binary"
	"slices"
)

// output is what an Encoder writes. Like the input of a Decoder it has names, so that
// EncodeXDR can be inlined.
type output struct {
	Buf []byte // for generated code: the buffer up to its capacity
	Off int    // for generated code: where the output ends in it
}

// Encoder collects encoded values in a buffer. The zero Encoder is ready and
// allocates its own; it is not for concurrent use.
type Encoder struct {
	output
	start  int // length of buf at Reset: where the stream begins
	noGrow bool

	reduce  Reduction
	base    uint64 // XDR position of buf[start] in the unreduced stream
	removed uint64 // bytes left out of line so far, padding included
	items   []Item
}

// NewEncoder returns an Encoder that appends to buf, which it grows as needed. All
// of buf's capacity is the Encoder's: what turns out not to fit has been begun in it.
func NewEncoder(buf []byte) *Encoder {
	e := new(Encoder)
	e.Reset(buf)
	return e
}

// Reset makes e append to buf, forgets earlier output and items, and keeps
// its settings. The bytes already in buf stay as they are.
func (e *Encoder) Reset(buf []byte) {
	e.Buf, e.Off = buf[:cap(buf)], len(buf)
	e.start = len(buf)
	if len(e.items) != 0 {
		e.dropItems()
	}
}

func (e *Encoder) dropItems() {
	clear(e.items)
	e.items = e.items[:0]
	e.removed = 0
}

// NoGrow limits output to the capacity of the buffer: what does not fit
// is refused with [ErrBuffer] and leaves the output as it was.
func (e *Encoder) NoGrow(on bool) { e.noGrow = on }

// Bytes returns all output, the buffer's first bytes included. It is valid
// until the next write or Reset.
func (e *Encoder) Bytes() []byte { return e.Buf[:e.Off] }

// Len returns how many bytes have been encoded since Reset.
func (e *Encoder) Len() int { return e.Off - e.start }

// Fits reports whether n more bytes fit the buffer as it is. For generated code.
func (e *Encoder) Fits(n int) bool { return n <= len(e.Buf)-e.Off }

// More makes room for n bytes where err says that the buffer was full; any other
// error it returns. For generated code.
func (e *Encoder) More(err *Error, n int) *Error {
	if err != errFull || e.Fits(n) {
		return err
	}
	return e.Grow(n)
}

// errFull is what the encoder of a value says of a buffer that is full: EncodeXDR
// then makes room and tries again.
var errFull = &Error{Code: CodeBuffer}

// Full is the error of an encoder that finds its buffer full. For generated code.
func Full() *Error { return errFull }

// Grow makes room for n more bytes. For generated code.
func (e *Encoder) Grow(n int) *Error {
	if e.noGrow {
		return Fail(CodeBuffer, e.Off, uint64(n), uint64(len(e.Buf)-e.Off), "")
	}
	b := slices.Grow(e.Buf[:e.Off], n)
	e.Buf = b[:cap(b)]
	return nil
}

// Output returns the buffer up to its capacity, and where to go on in it, for an
// encoder written by hand.
func (e *Encoder) Output() ([]byte, int) { return e.Buf, e.Off }

// End makes the bytes up to off part of the output.
func (e *Encoder) End(off int) { e.Off = off }

// Grow returns b extended by n bytes of undefined content. For generated code.
func Grow(b []byte, n int) []byte {
	if n > cap(b)-len(b) {
		b = slices.Grow(b, n)
	}
	return b[:len(b)+n]
}

// Padded rounds n up to a multiple of four, the XDR unit (RFC 4506 §3).
func Padded(n int) int { return (n + 3) &^ 3 }

// Word is a boolean or presence word (RFC 4506 §4.4). For generated code.
func Word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// PutOpaque writes data and its padding into b at off and returns the next
// offset. For generated code, which has seen that there is room.
func PutOpaque[T ~[]byte](b []byte, off int, data T) int {
	n := len(data)
	end := off + Padded(n)
	w := b[off:end:end]
	if len(w) != n {
		binary.BigEndian.PutUint32(w[len(w)-4:], 0)
	}
	copy(w, data)
	return end
}
