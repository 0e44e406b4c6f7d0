package tcp

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// A record in a stream (RFC 5531 §11) is a sequence of fragments. Before each fragment is a word
// with its length, whose top bit is set for the last fragment.
const (
	markSize     = 4
	lastFragment = 1 << 31
)

// appendMark appends the mark of a record that has one fragment with n bytes.
func appendMark(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(b, lastFragment|uint32(n))
}

// Sizes of a record's memory. The first is for records shorter than that.
const (
	firstSize   = 64 << 10
	growth      = 3        // a longer one has at most 3 times the bytes that the peer sent
	progress    = 64 << 10 // bytes that must come in each Config.RecordTimeout
	firstQuoted = 32       // the most bytes of a peer that an error quotes
)

// records reads records from a stream.
type records struct {
	r            input // the stream
	maxSize      int
	maxFragments int

	// deadline limits the reads that follow, and removes the limit for the zero time.
	deadline func(time.Time)
	timeout  time.Duration

	// grow is called before a record's memory grows by n bytes. It may wait for them with wait:
	// after an error the record is not read.
	grow func(n int, wait bool) error

	// drop gives back the memory that grow has taken, before the rest of a record over a limit is
	// passed over. If nil, such a record is an error.
	drop func()

	// memory returns the memory of the first record when its first bytes have come. If nil, that
	// record takes what it needs.
	memory func() []byte

	begun     bool        // a record has been read
	fragments int         // of the record that was read last
	partial   atomic.Bool // a record is being read whose next bytes have not come
	armed     bool        // a deadline is set
	due       int         // bytes that must come until then, marks included

	came  atomic.Int64  // bytes of all records, this one included
	parts atomic.Uint64 // reads of a fragment before the last: a long record is on its way
}

// next reads a record into the empty slice buf and returns it. It replaces buf by larger memory
// where needed. The error wraps io.EOF only if the stream is closed between records, as it should
// be. After a *passedOver the next record can be read.
func (rd *records) next(buf []byte) ([]byte, error) {
	defer rd.disarm()
	if err := rd.r.begin(buf); err != nil {
		return buf, fmt.Errorf("record mark: %w", err)
	}
	for fragments := 1; ; fragments++ {
		if len(buf) > 0 || fragments > 1 {
			rd.arm(markSize)
		}
		mark, err := rd.r.peek(markSize)
		if err != nil {
			if len(mark) > 0 || fragments > 1 {
				err = noEOF(err)
			}
			return buf, fmt.Errorf("record mark: %w", err)
		}
		if !rd.begun && fragments == 1 && rd.memory != nil {
			buf = rd.memory()
		}
		word := binary.BigEndian.Uint32(mark)
		n := int(word &^ lastFragment)
		if n > rd.maxSize && !rd.begun && len(buf) == 0 {
			first, _ := rd.r.peek(min(rd.r.buffered(), firstQuoted)) // they are buffered
			if err := speaksRPC(first); err != nil {
				return buf, err
			}
		}
		_, _ = rd.r.discard(markSize)
		rd.due -= markSize
		var over error
		switch {
		case n > rd.maxSize-len(buf):
			over = fmt.Errorf("%w: more than %d bytes: %d, and %d in the next fragment (RFC 5531 §11)", ErrRecord, rd.maxSize, len(buf), n)
		case fragments > rd.maxFragments: // empty ones could go on without end
			over = fmt.Errorf("%w: more than %d fragments for %d bytes (RFC 5531 §11)", ErrRecord, rd.maxFragments, len(buf))
		}
		if over != nil && rd.drop != nil {
			return rd.passOver(buf, word, over)
		}
		if over != nil {
			return buf, over
		}
		last := word&lastFragment != 0
		if buf, err = rd.fragment(buf, n, last); err != nil {
			return buf, err
		}
		if last {
			rd.begun, rd.fragments, rd.r.short = true, fragments, len(buf) < readBuffer
			return buf, nil
		}
	}
}

// fragment appends a fragment of n bytes to buf. It may be the last one of the record.
func (rd *records) fragment(buf []byte, n int, last bool) ([]byte, error) {
	for n > 0 {
		if len(buf) == cap(buf) {
			var err error
			if buf, err = rd.larger(buf, n, last); err != nil {
				return buf, err
			}
		}
		part := min(n, cap(buf)-len(buf), progress)
		if rd.arm(part); rd.armed {
			part = min(part, rd.due)
		}
		at := len(buf)
		got, err := io.ReadFull(&rd.r, buf[at:at+part])
		buf = buf[:at+got]
		rd.due -= got
		rd.came.Add(int64(got))
		if n -= got; err != nil {
			return buf, fmt.Errorf("fragment, %d bytes before its end: %w", n, noEOF(err))
		}
		if n > 0 {
			rd.parts.Add(1)
		}
	}
	return buf, nil
}

// whole reports whether next returns a record without a read: its only fragment is buffered.
func (rd *records) whole() bool {
	if rd.r.buffered() < markSize {
		return false
	}
	b, _ := rd.r.peek(markSize) // they are buffered
	mark := binary.BigEndian.Uint32(b)
	return mark&lastFragment != 0 && int64(mark&^lastFragment) <= int64(rd.r.buffered()-markSize)
}

// larger returns memory for buf and n more bytes, or for a part of them. A record of many short
// fragments gets twice the memory each time, so that it is not copied for each fragment.
func (rd *records) larger(buf []byte, n int, last bool) ([]byte, error) {
	want := len(buf) + n
	if !last {
		want = min(max(want, 2*cap(buf)), rd.maxSize)
	}
	size := int(min(int64(want), max(firstSize, growth*rd.came.Load())))
	if err := rd.grow(size-cap(buf), true); err != nil { // first: the memory must be counted
		return buf, err
	}
	to := memoryFor(size)
	if more := cap(to) - size; more > 0 && rd.grow(more, false) != nil {
		keep(to)
		to = make([]byte, 0, size)
	}
	to = append(to, buf...)
	keep(buf)
	return to, nil
}

// long has memory of firstSize and more by class, until the garbage collector takes it. A record
// takes memory of several classes, one after the other. Memory of every size up to Config.MaxRecord
// is kept, so that a peer's records find memory whatever their usual size is.
var long [16]sync.Pool // of *[]byte

// class returns the class of a buffer with n bytes: 0 up to firstSize, then one for each doubling,
// up to 15 for 2 GiB.
func class(n int) int { return bits.Len(uint(n-1) / firstSize) }

// memoryFor returns memory of at least n bytes, and at most twice as many.
func memoryFor(n int) []byte {
	if n >= firstSize {
		if b, ok := long[class(n)].Get().(*[]byte); ok && cap(*b) >= n {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, n)
}

// keep keeps memory for memoryFor, unless it is short. Nothing may point to it.
func keep(b []byte) {
	if cap(b) >= firstSize {
		long[class(cap(b))].Put(&b)
	}
}

// arm limits the time for the next n bytes unless they are buffered. While there is a limit, it is
// renewed for each progress bytes, so that short fragments do not put it off.
func (rd *records) arm(n int) {
	if rd.r.buffered() < n && !rd.partial.Load() {
		rd.partial.Store(true)
	}
	if rd.timeout > 0 && (rd.armed && rd.due <= 0 || !rd.armed && rd.r.buffered() < n) {
		rd.armed, rd.due = true, progress
		rd.deadline(time.Now().Add(rd.timeout))
	}
}

// renew renews the limit, if there is one: this side has waited, not the peer.
func (rd *records) renew() {
	if rd.armed {
		rd.deadline(time.Now().Add(rd.timeout))
	}
}

// disarm removes the limit.
func (rd *records) disarm() {
	if rd.partial.Load() {
		rd.partial.Store(false)
	}
	if rd.armed {
		rd.armed = false
		rd.deadline(time.Time{})
	}
}

// noEOF returns io.ErrUnexpectedEOF for io.EOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
