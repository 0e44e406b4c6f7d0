package xdr

// String is XDR string data (RFC 4506 §4.11). The standard says ASCII; in practice it is UTF-8.
// String is a slice of bytes, so that decoding need not allocate.
type String []byte

// String returns the bytes as a string.
func (s String) String() string { return string(s) }

// Optional is XDR optional-data (RFC 4506 §4.19): a value that may be absent. If Present is
// false after decoding, Value is zero, except that its slices keep their capacity.
type Optional[T any] struct {
	Value   T
	Present bool `xdr:",presence"` // by the tag, reflection recognizes typedefs of Optional
}

// Some returns an Optional that holds v.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Present: true} }

// Get returns a pointer to the value, or nil if it is absent.
func (o *Optional[T]) Get() *T {
	if !o.Present {
		return nil
	}
	return &o.Value
}

// Value is implemented by the pointer to every generated type.
type Value interface {
	// EncodeXDR appends the value to the output of an Encoder.
	EncodeXDR(*Encoder) error
	// DecodeXDR reads the value from the input of a Decoder. After an error, the value is
	// unspecified.
	DecodeXDR(*Decoder) error
	// XDRSize returns the size of the value on the wire, in bytes.
	XDRSize() int
}
