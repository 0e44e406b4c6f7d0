package codec

import (
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Lacks reports whether b does not have n bytes at off. Written in this form, the condition
// makes the compiler drop the bounds checks of b[off:off+n].
func Lacks(b []byte, off, n int) bool { return off < 0 || off > len(b)-n }

// Retry is the end of an encoder that was stopped by err, with the offset and error to return. If
// the buffer is full, it makes room for size bytes in e, and calls again, which encodes the whole
// value once more. If e is nil, the caller does that.
//
//go:noinline
func Retry(e *xdr.Encoder, err *xdr.Error, size int, again func() (int, error)) (int, error) {
	switch {
	case e == nil:
		return 0, err
	case err != full || size <= len(e.Buf)-e.Off:
		return e.Off, err
	}
	if err := e.Grow(size); err != nil {
		return e.Off, err
	}
	return again()
}

// More makes room for size bytes in e, whose buffer is full. It reports whether there is room now,
// or sets the error to return.
func More(e *xdr.Encoder, size int, err *error) bool {
	if size <= len(e.Buf)-e.Off {
		return false
	}
	*err = e.Grow(size)
	return *err == nil
}

// Encoded is the end of EncodeXDR, with the results of the encoder.
func Encoded(e *xdr.Encoder, off int, err error) error {
	if err == nil {
		e.Off = off
	}
	return err
}

// Output returns the output of e and err, for AppendBinary.
func Output(e *xdr.Encoder, err error) ([]byte, error) { return e.Buf[:e.Off], err }

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
