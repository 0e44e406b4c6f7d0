package codec

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sync"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Feed reads one value from an io.Reader, and no byte after the value. Generated code finds the
// extent of the value: it calls the methods of Feed in the order of the value's parts. Each call
// moves over a part, and a count or presence word reads the bytes that then must follow. So buf
// never has bytes that follow the value. Feed checks only what the extent depends on. The decoder
// checks the rest, and describes all errors.
//
// After the first fault, the methods do nothing and return zero.
type Feed struct {
	r     io.Reader
	limit int    // the most bytes to read
	buf   []byte // the bytes read
	off   int    // the end of the parts found
	depth int
	stop  stop
	need  uint64 // the bytes that the value has at least, if they are over the limit
	err   error  // of the reader
	d     xdr.Decoder
}

// stop is the reason for which a Feed has stopped.
type stop uint8

const (
	running stop = iota
	refused      // the value is invalid
	tooLong      // it has more bytes than the limit
	failed       // the reader has returned an error
)

const (
	smallPiece = 128      // the least memory for values of more than one size
	firstPiece = 32 << 10 // the most memory before any byte has arrived
	maxEmpty   = 100      // empty reads in a row, as in package bufio
)

// DecodeFrom reads one value into v, of at most limit bytes, or of any size if limit is negative.
// least is the size of the smallest value, and extent finds the extent of others; it is nil if all
// values have one size.
func DecodeFrom(v xdr.Value, r io.Reader, limit, least int, extent func(f *Feed)) error {
	f := &Feed{r: r, limit: limit}
	if limit < 0 {
		f.limit = math.MaxInt
	}
	if extent != nil {
		f.buf = make([]byte, 0, min(max(least, smallPiece), firstPiece))
	}
	if f.fetch(uint64(least)); extent != nil {
		extent(f)
	}
	if f.err == io.EOF && len(f.buf) == 0 {
		return io.EOF
	}
	return f.decode(v)
}

// decode decodes the bytes read. Opaque data and strings are slices of buf, which nothing else
// refers to.
func (f *Feed) decode(v xdr.Value) error {
	f.d.Alias = true
	if f.stop == tooLong {
		f.buf = f.buf[:min(f.off, len(f.buf))] // ends at the field that is too long
	}
	f.d.Reset(f.buf)
	err := v.DecodeXDR(&f.d)
	if f.stop == running || f.stop == refused {
		return err
	}
	var fault *xdr.Error
	if !errors.As(err, &fault) {
		return f.err
	}
	lacking := fault.Code == xdr.CodeShort || fault.Code == xdr.CodeCount
	switch {
	case f.stop == tooLong && (lacking || fault.Code == xdr.CodeMemory):
		// A part of the bytes has a part of the memory budget only.
		fault.Code, fault.Found, fault.Want = xdr.CodeLimit, f.need, uint64(f.limit)
	case f.stop == failed && f.err != io.EOF:
		return fmt.Errorf("xdr: %s: reading at offset %d: %w", fault.Path(), len(f.buf), f.err)
	case f.stop == failed && lacking:
		return fmt.Errorf("%w: %w", fault, io.ErrUnexpectedEOF)
	}
	return fault
}

// fetch reads n more bytes, which the value is known to have.
func (f *Feed) fetch(n uint64) {
	switch have := uint64(len(f.buf)); {
	case f.stop != running:
	case n > uint64(f.limit)-have:
		f.stop, f.need = tooLong, have+min(n, math.MaxUint64-have)
	default:
		f.fill(int(have + n))
	}
}

// fill reads until buf has n bytes. The memory is bounded by four times the bytes that have
// arrived, and firstPiece.
func (f *Feed) fill(n int) {
	for empty := 0; len(f.buf) < n; {
		if len(f.buf) == cap(f.buf) {
			f.grow(n)
		}
		room := f.buf[len(f.buf):min(n, cap(f.buf))]
		m, err := f.r.Read(room)
		if m < 0 || m > len(room) {
			m, err = 0, fmt.Errorf("the reader returned a count of %d for %d bytes", m, len(room))
		}
		f.buf = f.buf[:len(f.buf)+m]
		if empty++; m > 0 {
			empty = 0
		}
		if err == nil && empty == maxEmpty {
			err = io.ErrNoProgress
		}
		if err != nil && len(f.buf) < n {
			f.stop, f.err = failed, err
			return
		}
	}
}

// grow enlarges buf, which needs n bytes.
func (f *Feed) grow(n int) {
	size := max(2*cap(f.buf), min(n, firstPiece))
	if n > size && n/2 <= size {
		size = n
	}
	buf := make([]byte, len(f.buf), size)
	copy(buf, f.buf)
	f.buf = buf
}

// Skip moves over n bytes.
func (f *Feed) Skip(n int) {
	if lack := n - (len(f.buf) - f.off); lack > 0 {
		f.fetch(uint64(lack))
	}
	if f.stop == running {
		f.off += n
	}
}

// Word moves over a word and returns it.
func (f *Feed) Word() uint32 {
	if f.Skip(4); f.stop != running {
		return 0
	}
	return binary.BigEndian.Uint32(f.buf[f.off-4 : f.off])
}

// Check stops at the word before if ok is false.
func (f *Feed) Check(ok bool) {
	if f.stop == running && !ok {
		f.stop = refused
	}
}

// Opaque moves over opaque data of at most the given length, with its count.
func (f *Feed) Opaque(most uint64) {
	n := uint64(f.Word())
	f.Check(n <= most)
	f.block((n + 3) &^ 3)
}

// Array moves over an array of at most the given length, with its count. Elements have size bytes
// each.
func (f *Feed) Array(most uint64, size int) {
	n := uint64(f.Word())
	f.Check(n <= most)
	f.block(product(n, size))
}

// block moves over n bytes whose number was just read.
func (f *Feed) block(n uint64) {
	if f.fetch(n); f.stop == running {
		f.off += int(n)
	}
}

// Count moves over the count of an array, and returns it. Elements have least bytes or more.
func (f *Feed) Count(most uint64, least int) int {
	n := uint64(f.Word())
	f.Check(n <= most)
	f.fetch(product(n, least))
	return int(n)
}

// product returns n times size, or the largest number if it is larger than that.
func product(n uint64, size int) uint64 {
	if over, low := bits.Mul64(n, uint64(size)); over == 0 {
		return low
	}
	return math.MaxUint64
}

// More moves over a presence word, and reports whether data follows. That has least bytes or more.
func (f *Feed) More(least int) bool {
	n := f.Word()
	f.Check(n <= 1)
	if n == 1 {
		f.fetch(uint64(least))
	}
	return n == 1 && f.stop == running
}

// Left reports whether a loop with n elements left continues.
func (f *Feed) Left(n int) bool { return n > 0 && f.stop == running }

// Enter counts one level of a type that contains itself. If it reports true, a call of Leave must
// follow.
func (f *Feed) Enter() bool {
	f.Check(f.depth < defaultDepth)
	f.depth++
	return f.stop == running
}

// Leave undoes Enter.
func (f *Feed) Leave() { f.depth-- }

// maxKept is the largest buffer that EncodeTo keeps for other values.
const maxKept = 64 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// EncodeTo encodes v and writes it to w with one call of Write.
func EncodeTo(v encoding.BinaryAppender, w io.Writer) error {
	p := buffers.Get().(*[]byte)
	b, err := v.AppendBinary((*p)[:0])
	if cap(b) <= maxKept {
		*p = b
		defer buffers.Put(p)
	}
	if err != nil {
		return err
	}
	n, err := w.Write(b)
	if err == nil && n != len(b) {
		err = io.ErrShortWrite
	}
	return err
}
