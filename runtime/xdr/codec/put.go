package codec

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The functions of this file write a part of a value into b at off and return the next offset.
// Encoders of compact types call them; others have the same code written out. The caller adds the
// path to their errors.

// PutWord writes a number of 32 bits.
func PutWord(b []byte, off int, x uint32) (int, error) {
	if Lacks(b, off, 4) {
		return 0, full
	}
	binary.BigEndian.PutUint32(b[off:off+4:off+4], x)
	return off + 4, nil
}

// PutHyper writes a number of 64 bits.
func PutHyper(b []byte, off int, x uint64) (int, error) {
	if Lacks(b, off, 8) {
		return 0, full
	}
	binary.BigEndian.PutUint64(b[off:off+8:off+8], x)
	return off + 8, nil
}

// PutEnum writes an enumerator.
func PutEnum[T Enumerator](b []byte, off int, x T) (int, error) {
	if !x.Valid() {
		return 0, Fail(xdr.CodeEnum, off, uint64(uint32(x)), 0, "")
	}
	return PutWord(b, off, uint32(x))
}

// PutFixed writes opaque data of fixed length.
func PutFixed(b []byte, off int, data []byte) (int, error) {
	if Lacks(b, off, xdr.Padded(len(data))) {
		return 0, full
	}
	return PutOpaque(b, off, data), nil
}

// PutCounted writes the length and then the bytes of opaque data, which has at most most bytes.
func PutCounted[T ~[]byte](b []byte, off int, data T, most uint32) (int, error) {
	off, err := putCount(b, off, len(data), most)
	if err != nil {
		return 0, err
	}
	if Lacks(b, off, xdr.Padded(len(data))) {
		return 0, full
	}
	return PutOpaque(b, off, data), nil
}

// PutItem is PutCounted for data that may leave the stream, at placement site s.
func PutItem[T ~[]byte](e *xdr.Encoder, b []byte, off int, s xdr.Site, data T, most uint32) (int, error) {
	if Reduces(e, s, len(data)) {
		off, err := putCount(b, off, len(data), most)
		if err == nil {
			LeaveOut(e, s, off, data)
		}
		return off, err
	}
	return PutCounted(b, off, data, most)
}

// putCount writes the length of opaque data.
func putCount(b []byte, off, n int, most uint32) (int, error) {
	if uint64(n) > uint64(most) {
		return 0, Fail(xdr.CodeBound, off, uint64(n), uint64(most), "")
	}
	return PutWord(b, off, uint32(n))
}
