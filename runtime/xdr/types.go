package xdr

// String is XDR string data (RFC 4506 §4.11): bytes, in ASCII by the letter of
// the standard and in UTF-8 by custom. It is a byte slice, so that decoding
// need not allocate.
type String []byte

// String returns the bytes as a string.
func (s String) String() string { return string(s) }

// Optional is XDR optional-data (RFC 4506 §4.19): a value that may be absent.
// Where Present is false after decoding, Value is empty: zero but for the
// capacity of its slices.
type Optional[T any] struct {
	Value   T
	Present bool `xdr:"presence"` // the tag tells typedefs of it by reflection
}

// Some returns an Optional that holds v.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Present: true} }

// Get returns the value, or nil where it is absent.
func (o *Optional[T]) Get() *T {
	if !o.Present {
		return nil
	}
	return &o.Value
}

// Value is what every generated type's pointer satisfies.
type Value interface {
	EncodeXDR(*Encoder) error
	DecodeXDR(*Decoder) error
	XDRSize() int
}
