package codec

import (
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Lacks reports whether b does not have n bytes at off. Written in this form, the condition
// makes the compiler drop the bounds checks of b[off:off+n].
func Lacks(b []byte, off, n int) bool { return off < 0 || off > len(b)-n }

// Type is a pointer to a value of a generated type. The functions that take one are small enough
// to be inlined, and then the compiler knows the type and calls its methods directly. So the value,
// the Encoder or Decoder, and the buffer stay on the stack. It is one interface for all these
// functions, because each interface that a type is converted to adds a table to the package.
type Type interface {
	XDRSize() int
	EncodeXDR(*xdr.Encoder) error
	DecodeXDR(*xdr.Decoder) error
	PutXDR(e *xdr.Encoder, b []byte, off int) (int, error)
	GetXDR(d *xdr.Decoder, b []byte, off int) (int, error)
}

// Encode is EncodeXDR of v.
func Encode(e *xdr.Encoder, v Type) (err error) {
	e.Off, err = v.PutXDR(e, e.Buf, e.Off)
	return
}

// To returns an Encoder that appends to b. It is [xdr.NewEncoder] by a name that leaves room for
// the rest of AppendBinary in one line.
func To(b []byte) *xdr.Encoder { return xdr.NewEncoder(b) }

// Out encodes v and returns the output of e.
func Out(e *xdr.Encoder, v Type) ([]byte, error) {
	err := v.EncodeXDR(e)
	return e.Buf[:e.Off], err
}

// Room is called for an encoder that was stopped by err. If the buffer was full, it makes room for
// size bytes, the size of the whole value, in e, and returns nil. Otherwise it returns the error.
// If e is nil, the caller of the encoder makes room.
//
//go:noinline
func Room(e *xdr.Encoder, err error, size int) error {
	if e == nil || err != error(full) || size <= len(e.Buf)-e.Off {
		return err
	}
	return e.Grow(size)
}

// Retry is the end of an encoder for v that was stopped, with the result of Room. If there is room
// now, it encodes v again.
func Retry(e *xdr.Encoder, v Type, err error) (off int, _ error) {
	if err == nil {
		err = v.EncodeXDR(e)
	}
	if e != nil {
		off = e.Off
	}
	return off, err
}

// The functions below are EncodeXDR of compact types, whose encoders make no room themselves. Each
// has one call that is not inlined, as more would make it too large to be inlined.

// Need returns the size of v if the encoder has returned err.
func Need(v Type, err error) int {
	if err == nil {
		return 0
	}
	return v.XDRSize()
}

// made says that there is room now. Callers of EncodeXDR never see it.
var made = new(xdr.Error)

// Ended takes the results of the encoder, and makes room for size bytes if the buffer was full.
func Ended(e *xdr.Encoder, off int, err error, size int) error {
	if err == nil {
		e.Off = off
		return nil
	}
	return ended(e, err, size)
}

//go:noinline
func ended(e *xdr.Encoder, err error, size int) error {
	if err := Room(e, err, size); err != nil {
		return err
	}
	return made
}

// Again encodes v again if err says that there is room now, and returns the error of EncodeXDR.
func Again(e *xdr.Encoder, v Type, err error) error {
	if err == error(made) {
		return v.EncodeXDR(e)
	}
	return err
}

// Word returns a boolean or presence word (RFC 4506 §4.4).
func Word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// PutOpaque writes data and its padding into b at off and returns the next offset. The caller
// has checked that there is room.
func PutOpaque[T ~[]byte](b []byte, off int, data T) int {
	n := len(data)
	end := off + xdr.Padded(n)
	w := b[off:end:end]
	if len(w) != n {
		binary.BigEndian.PutUint32(w[len(w)-4:], 0)
	}
	copy(w, data)
	return end
}

// Reduces reports whether e leaves an item of n bytes at site s out of line. e may be nil.
func Reduces(e *xdr.Encoder, s xdr.Site, n int) bool {
	return e != nil && len(e.Offered.Sites) != 0 && reduces(e, s, n)
}

func reduces(e *xdr.Encoder, s xdr.Site, n int) bool {
	return n > 0 && n >= e.Offered.Min && slices.Contains(e.Offered.Sites, s)
}

// LeaveOut records an item left out of line. Its bytes would have begun at offset off of the
// buffer.
func LeaveOut(e *xdr.Encoder, s xdr.Site, off int, data []byte) {
	e.Left = append(e.Left, xdr.Item{
		Site:     s,
		Position: e.Base + uint64(off-e.Start) + e.Removed,
		Inline:   off,
		Data:     data,
	})
	// R57: the roundup bytes leave the stream with the item.
	e.Removed += uint64(xdr.Padded(len(data)))
}
