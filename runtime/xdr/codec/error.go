package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// The functions that build errors are kept out of line, so that the codecs stay small.

// full is the error of an encoder that finds its buffer full.
var full = &xdr.Error{Code: xdr.CodeBuffer}

// Full returns the error of an encoder that finds its buffer full. [Retry] then makes room and
// tries again. The error is shared, and callers never see it.
func Full() *xdr.Error { return full }

// unread is the error of reading after a part that failed. Callers never see it.
var unread = &xdr.Error{Code: xdr.CodeShort}

// Fail returns an Error. path is the path of the innermost step, with "[]" for each index.
//
//go:noinline
func Fail(code xdr.Code, offset int, found, want uint64, path string, index ...int) *xdr.Error {
	err := &xdr.Error{Code: code, Offset: offset, Found: found, Want: want}
	err.Trace.Add(path, index)
	return err
}

// Short returns the Error for an input b that ends before the need bytes at off. A negative off is
// that after a part that failed (see [At]).
//
//go:noinline
func Short(b []byte, off, need int, path string, index ...int) *xdr.Error {
	if off < 0 {
		return unread
	}
	return Fail(xdr.CodeShort, off, uint64(len(b)-off), uint64(need), path, index...)
}

// BadOpaque returns the Error for opaque data of n bytes at off, whose count is before off. Either
// n is over most, or the data and its padding are not all in b, or the padding is not zero.
//
//go:noinline
func BadOpaque(b []byte, off int, n, most uint32, path string, index ...int) *xdr.Error {
	switch {
	case n > most:
		return Fail(xdr.CodeBound, off-4, uint64(n), uint64(most), path, index...)
	case (uint64(n)+3)&^3 > uint64(len(b)-off):
		return Short(b, off, xdr.Padded(int(n)), path, index...)
	}
	return Fail(xdr.CodePadding, off+int(n), PadBits(b, off, int(n)), 0, path, index...)
}

// BadCount returns the Error for an array of n elements at off, whose count is before off. Either n
// is over most, or b is too short, because an element takes at least size bytes.
//
//go:noinline
func BadCount(b []byte, off int, n, most uint32, size int, path string, index ...int) *xdr.Error {
	if n > most {
		return Fail(xdr.CodeBound, off-4, uint64(n), uint64(most), path, index...)
	}
	return Fail(xdr.CodeCount, off-4, uint64(n), uint64((len(b)-off)/size), path, index...)
}

// OverOrFull returns the error of an encoder for n elements, whose count would be at off: either n
// is over most, or the buffer is full.
//
//go:noinline
func OverOrFull(off, n int, most uint32, path string, index ...int) *xdr.Error {
	if uint64(n) > uint64(most) {
		return Fail(xdr.CodeBound, off, uint64(n), uint64(most), path, index...)
	}
	return full
}

// In adds the step that leads to what failed to err, which must be an *xdr.Error, and returns
// it.
//
//go:noinline
func In(err error, path string, index ...int) *xdr.Error {
	e := err.(*xdr.Error)
	if e != full && e != unread {
		e.Trace.Add(path, index)
	}
	return e
}
