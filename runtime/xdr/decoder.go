package xdr

import (
	"encoding/binary"
	"math"
)

// Limits bound what a message may cost, whatever its bytes claim. A zero
// field is the default, a negative one switches the limit off.
type Limits struct {
	// MaxMemory is how many bytes of Go memory the elements, lists and large
	// union arms of one message may take, beyond what the value reused
	// already has. Default: for each byte of input and of items out of line
	// 64, or the type's constant Amplification where that is greater, plus 4096:
	// enough for whatever the type can hold.
	MaxMemory int
	// MaxElements limits arrays whose elements take no bytes on the wire.
	// Default: 65536.
	MaxElements int
	// MaxDepth limits nesting of types that contain themselves. Linked lists
	// do not count: they are slices. Default: 128.
	MaxDepth int
}

const (
	defaultMemoryFactor = 64
	defaultMemoryBase   = 4096
	defaultElements     = 1 << 16
	defaultDepth        = 128
)

// DecoderOptions are the settings of a Decoder; the zero value is strict,
// copying and within the default limits.
type DecoderOptions struct {
	Limits Limits
	// Alias makes opaque data and strings slices of the input, and gives what types
	// that contain themselves hold by pointer out of the Decoder's own memory: both
	// are valid until the input is overwritten or the Decoder is reset.
	Alias bool
	// Lenient switches rules off, one by one. Default: all are in force.
	Lenient Lenient
}

// checker is Checker, embedded without showing as a field.
type checker = Checker

// input is what a Decoder reads. It has names that generated code sees: with
// methods in their place DecodeXDR would be too large to be inlined.
type input struct {
	Buf []byte // for generated code
	Off int    // for generated code: the offset of the next byte
}

// Decoder reads values from a buffer. The zero Decoder is at the end of an
// empty input; it is not for concurrent use. After an error it is of no use until
// Reset.
type Decoder struct {
	checker // its rules
	input
	alias  bool
	used   bool   // one of the following is not as after Reset
	mem    uint64 // bytes charged to the budget
	rate   uint64 // bytes of budget for each byte of the message, where above the default
	arena  []byte // room for opaque data, what is left of whole
	whole  []byte
	copied int  // bytes of opaque data copied before whole was made
	keep   bool // whole is used again
	slabs  []slab

	placed  placement
	outside uint64 // bytes of items that are not in the input
}

// NewDecoder returns a Decoder over b, with default options where opt is nil.
func NewDecoder(b []byte, opt *DecoderOptions) *Decoder {
	d := new(Decoder)
	if opt != nil {
		own := *opt
		d.opt, d.alias = &own, own.Alias
	}
	d.Reset(b)
	return d
}

// Reset makes d read from b. Values decoded earlier in aliasing mode
// are invalid from here on.
func (d *Decoder) Reset(b []byte) {
	d.Buf, d.Off, d.depth = b, 0, 0
	if d.used {
		d.resetUsed()
	}
}

// Recycle is Reset for a program that is done with all that d has decoded since the
// last Reset: opaque data and strings of these values are overwritten by what d copies
// next, into the same memory. Recycled for each message, a copying Decoder makes
// none for them once it has seen the largest. In aliasing mode it is Reset.
func (d *Decoder) Recycle(b []byte) {
	whole := d.whole
	d.Reset(b)
	if d.alias {
		return
	}
	d.keep, d.used = true, true
	if len(whole) >= len(b)+spare(len(b)) {
		d.whole, d.arena = whole, whole
	}
}

// resetUsed is the part of Reset that few messages need: those that
// allocated or had items out of line.
func (d *Decoder) resetUsed() {
	d.used = false
	d.mem, d.rate = 0, 0
	d.arena, d.whole, d.copied, d.keep = nil, nil, 0, false // it belongs to the values decoded
	for _, s := range d.slabs {
		s.rewind()
	}
	d.placed, d.outside = placement{}, 0
}

func limit(set, def int) int {
	switch {
	case set > 0:
		return set
	case set < 0:
		return math.MaxInt
	}
	return def
}

// Input returns the whole input and the offset of the next byte, for a decoder
// written by hand.
func (d *Decoder) Input() ([]byte, int) { return d.Buf, d.Off }

// Advance makes off the offset of the next byte.
func (d *Decoder) Advance(off int) { d.Off = off }

// Offset returns how many bytes have been read.
func (d *Decoder) Offset() int { return d.Off }

// Rest returns the bytes not yet read, a slice of the input.
func (d *Decoder) Rest() []byte { return d.Buf[d.Off:] }

// Done returns an error if bytes of the input, or items out of line, are left
// over.
func (d *Decoder) Done() error {
	if n := len(d.Buf) - d.Off; n != 0 && d.Refuses(CodeTrailing) {
		return Fail(CodeTrailing, d.Off, uint64(n), 0, "")
	}
	return d.placed.done(d.Off)
}

// Amplify lets the default budget be rate bytes for each byte of the message, where
// that is more. For generated code: legal values of some types need as much.
func (d *Decoder) Amplify(rate uint64) {
	if rate > max(d.rate, defaultMemoryFactor) {
		d.rate, d.used = rate, true
	}
}

// left is how many bytes of the budget are left. All in 64 bits: on a 32-bit
// machine a product may not fit an int.
func (d *Decoder) left() uint64 {
	all := (uint64(len(d.Buf))+d.outside)*max(d.rate, defaultMemoryFactor) + defaultMemoryBase
	if d.opt != nil && d.opt.Limits.MaxMemory != 0 {
		all = uint64(limit(d.opt.Limits.MaxMemory, 0))
	}
	return all - min(all, d.mem)
}

// charge takes the memory of n values of size bytes from the budget.
func (d *Decoder) charge(n, size, off int) error {
	left, want := d.left(), uint64(n)*uint64(size)
	if want > left {
		return Fail(CodeMemory, off, want, left, "")
	}
	d.mem += want
	d.used = true
	return nil
}

// Lacks reports whether b does not have n bytes at off. For generated code: in
// this form the compiler knows that b[off:off+n] needs no other check.
func Lacks(b []byte, off, n int) bool { return off < 0 || off > len(b)-n }

// ZeroPad reports whether the padding after n bytes of opaque data at off,
// which the caller knows to be in b, is zero (RFC 4506 §3). For generated code.
func ZeroPad(b []byte, off, n int) bool { return n&3 == 0 || PadBits(b, off, n) == 0 }

// PadBits returns the padding after n bytes of opaque data at off, as the last
// bits of a number. For generated code.
func PadBits(b []byte, off, n int) uint64 {
	end := off + Padded(n)
	return uint64(binary.BigEndian.Uint32(b[end-4:end]) << (8 * (n & 3)) >> (8 * (n & 3)))
}
