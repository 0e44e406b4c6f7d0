package xdr

// Limits bound what a message may cost, whatever its bytes claim.
type Limits struct {
	// MaxMemory is the most Go memory that the elements, lists and large union arms of one
	// message may take, in bytes, beyond what the reused value already has. If zero, the
	// default is 4096, plus 64 for each byte of input and items out of line; for types
	// whose constant Amplification is above 64, that takes its place. If negative, there is
	// no limit. The default is enough for whatever the type can hold.
	MaxMemory int
	// MaxElements is the largest count of an array whose elements take no bytes on the wire.
	// If zero, the default is 65536. If negative, there is no limit.
	MaxElements int
	// MaxDepth is the largest nesting depth of types that contain themselves. If zero, the
	// default is 128. If negative, there is no limit. Linked lists do not count: they are slices.
	MaxDepth int
}

// DecoderOptions are the settings of a Decoder. With the zero value it is strict, copies, and
// has the default limits.
type DecoderOptions struct {
	Limits Limits
	// Alias makes opaque data and strings slices of the input, and the pointers in types that
	// contain themselves point to memory of the Decoder. Both are valid until the input is
	// overwritten or the Decoder is reset.
	Alias bool
	// Lenient switches rules off, one by one. By default, all are in force.
	Lenient Lenient
	// Reserve is called before the values decoded take n bytes of memory, as Limits.MaxMemory
	// counts them. If it returns false, the message is refused with ErrMemory. If nil, only Limits
	// has an effect.
	Reserve func(n int) bool
}

// Decoder reads values from a buffer. The zero Decoder has an empty input. A Decoder must not
// be used concurrently. After an error, it must be reset before it is used again.
type Decoder struct{ decoderState }

// NewDecoder returns a Decoder that reads b. If opt is nil, the options are the defaults.
func NewDecoder(b []byte, opt *DecoderOptions) *Decoder {
	d := new(Decoder)
	if opt != nil {
		own := *opt
		d.Rules.Options, d.Alias = &own, own.Alias
	}
	d.Reset(b)
	return d
}

// Reset makes d read from b. It invalidates the values that d decoded in aliasing mode.
func (d *Decoder) Reset(b []byte) {
	d.Buf, d.Off, d.Rules.Depth = b, 0, 0
	if d.Used {
		d.resetUsed()
	}
}

// Recycle is Reset for a caller that needs none of the values that d has decoded since the
// last Reset. Their opaque data and strings are overwritten: d copies into the same memory
// again. If it is recycled for each message, a copying Decoder allocates no memory for opaque
// data once it has seen the largest message. In aliasing mode, Recycle is the same as Reset.
func (d *Decoder) Recycle(b []byte) {
	whole := d.Whole
	d.Reset(b)
	if d.Alias {
		return
	}
	d.Keep, d.Used = true, true
	d.Whole, d.Arena = whole, whole
}

// resetUsed is the part of Reset that few messages need: those for which d allocated memory,
// or that had items out of line.
func (d *Decoder) resetUsed() {
	d.Used = false
	d.Charged, d.Rate = 0, 0
	// The memory of the arena belongs to the decoded values.
	d.Arena, d.Whole, d.Copied, d.Keep = nil, nil, 0, false
	for _, s := range d.Slabs {
		s.Rewind()
	}
	d.Placed, d.Outside = placement{}, 0
}

// Offset returns the number of bytes read.
func (d *Decoder) Offset() int { return d.Off }

// Rest returns the bytes not read yet, as a slice of the input.
func (d *Decoder) Rest() []byte { return d.Buf[d.Off:] }

// Next reads the next n bytes of input and returns them, as a slice of the input. It is for
// decoders written by hand.
func (d *Decoder) Next(n int) ([]byte, error) {
	left := len(d.Buf) - d.Off
	if n > left {
		return nil, &Error{Code: CodeShort, Offset: d.Off, Found: uint64(left), Want: uint64(n)}
	}
	d.Off += n
	return d.Buf[d.Off-n : d.Off : d.Off], nil
}

// Done returns an error if bytes of the input, or items out of line, have not been read.
func (d *Decoder) Done() error {
	if n := len(d.Buf) - d.Off; n != 0 && (d.Rules.Options == nil || !d.Rules.Options.Lenient.Trailing) {
		return &Error{Code: CodeTrailing, Offset: d.Off, Found: uint64(n)}
	}
	for _, it := range d.Placed.Items {
		if it.Data != nil {
			return &Error{Code: CodeChunk, Offset: d.Off, Found: uint64(len(it.Data))}
		}
	}
	return nil
}
