package xdr

import "slices"

// Encoder collects encoded values in a buffer. The zero Encoder is ready for use and
// allocates its own buffer. An Encoder must not be used concurrently.
type Encoder struct {
	encoderState
	noGrow bool
}

// NewEncoder returns an Encoder that appends to buf and grows it as needed. The Encoder may
// write to all of buf's capacity, even when encoding fails.
func NewEncoder(buf []byte) *Encoder {
	// A literal, and not Reset, which would move a buffer on the stack to the heap.
	return &Encoder{encoderState: encoderState{Buf: buf[:cap(buf)], Off: len(buf), Start: len(buf)}}
}

// Reset makes e append to buf. It discards earlier output and items, and keeps e's settings.
// The bytes in buf stay as they are.
func (e *Encoder) Reset(buf []byte) {
	e.Buf, e.Off = buf[:cap(buf)], len(buf)
	e.Start = len(buf)
	if len(e.Left) != 0 {
		e.dropItems()
	}
}

func (e *Encoder) dropItems() {
	clear(e.Left)
	e.Left = e.Left[:0]
	e.Removed = 0
}

// NoGrow sets whether output is limited to the capacity of the buffer. If it is, a value that
// does not fit fails with [ErrBuffer] and leaves the output unchanged.
func (e *Encoder) NoGrow(on bool) { e.noGrow = on }

// Grow makes room for n more bytes of output.
func (e *Encoder) Grow(n int) error {
	if n <= len(e.Buf)-e.Off {
		return nil
	}
	return e.grow(n)
}

func (e *Encoder) grow(n int) error {
	if e.noGrow {
		return &Error{Code: CodeBuffer, Offset: e.Off, Found: uint64(n), Want: uint64(len(e.Buf) - e.Off)}
	}
	// The new buffer is made from nothing, so that the old one may be on the stack. Like append, it
	// doubles short buffers and grows long ones by a quarter.
	size := len(e.Buf) + len(e.Buf)/4 + 192
	if len(e.Buf) < 256 {
		size = 2 * len(e.Buf)
	}
	b := slices.Grow([]byte(nil), max(size, e.Off+n))
	b = b[:cap(b)]
	copy(b, e.Buf[:e.Off])
	e.Buf = b
	return nil
}

// Next appends n bytes of undefined content to the output and returns them for the caller to
// fill in. It is for encoders written by hand.
func (e *Encoder) Next(n int) ([]byte, error) {
	if err := e.Grow(n); err != nil {
		return nil, err
	}
	e.Off += n
	return e.Buf[e.Off-n : e.Off : e.Off], nil
}

// Bytes returns all output, including what the buffer held at Reset. The slice is valid until
// the next write or Reset.
func (e *Encoder) Bytes() []byte { return e.Buf[:e.Off] }

// Len returns the number of bytes encoded since Reset.
func (e *Encoder) Len() int { return e.Off - e.Start }

// Padded returns n rounded up to a multiple of four, the XDR unit (RFC 4506 §3).
func Padded(n int) int { return (n + 3) &^ 3 }
