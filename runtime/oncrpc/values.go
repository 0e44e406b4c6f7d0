package oncrpc

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// Types for procedures whose argument or result has no named type in the .x file, as in
// "unsigned int PMAPPROC_GETPORT(mapping)". The pointer to each is an xdr.Value.
type (
	// Void is the value that takes no bytes (RFC 4506 §4.16).
	Void struct{}
	// Bool is a boolean (RFC 4506 §4.4).
	Bool bool
	// Int32 is a signed integer (RFC 4506 §4.1).
	Int32 int32
	// Uint32 is an unsigned integer (RFC 4506 §4.2).
	Uint32 uint32
	// Int64 is a hyper integer (RFC 4506 §4.5).
	Int64 int64
	// Uint64 is an unsigned hyper integer (RFC 4506 §4.5).
	Uint64 uint64
)

// EncodeXDR implements xdr.Value.
func (*Void) EncodeXDR(*xdr.Encoder) error { return nil }

// DecodeXDR implements xdr.Value.
func (*Void) DecodeXDR(*xdr.Decoder) error { return nil }

// XDRSize implements xdr.Value.
func (*Void) XDRSize() int { return 0 }

// XDRMaxSize returns 0.
func (*Void) XDRMaxSize() int { return 0 }

// EncodeXDR implements xdr.Value.
func (v *Bool) EncodeXDR(e *xdr.Encoder) error { return put4(e, codec.Word(bool(*v))) }

// DecodeXDR implements xdr.Value. It refuses words other than 0 and 1.
func (v *Bool) DecodeXDR(d *xdr.Decoder) error {
	w, err := get4(d)
	if err == nil && w > 1 && codec.Refuses(&d.Rules, xdr.CodeBool) {
		err = codec.Fail(xdr.CodeBool, d.Offset()-4, uint64(w), 1, "")
	}
	if err == nil {
		*v = w != 0
	}
	return err
}

// XDRSize implements xdr.Value.
func (*Bool) XDRSize() int { return 4 }

// XDRMaxSize returns 4.
func (*Bool) XDRMaxSize() int { return 4 }

// EncodeXDR implements xdr.Value.
func (v *Int32) EncodeXDR(e *xdr.Encoder) error { return put4(e, uint32(*v)) }

// DecodeXDR implements xdr.Value.
func (v *Int32) DecodeXDR(d *xdr.Decoder) error {
	w, err := get4(d)
	if err == nil {
		*v = Int32(w)
	}
	return err
}

// XDRSize implements xdr.Value.
func (*Int32) XDRSize() int { return 4 }

// XDRMaxSize returns 4.
func (*Int32) XDRMaxSize() int { return 4 }

// EncodeXDR implements xdr.Value.
func (v *Uint32) EncodeXDR(e *xdr.Encoder) error { return put4(e, uint32(*v)) }

// DecodeXDR implements xdr.Value.
func (v *Uint32) DecodeXDR(d *xdr.Decoder) error {
	w, err := get4(d)
	if err == nil {
		*v = Uint32(w)
	}
	return err
}

// XDRSize implements xdr.Value.
func (*Uint32) XDRSize() int { return 4 }

// XDRMaxSize returns 4.
func (*Uint32) XDRMaxSize() int { return 4 }

// EncodeXDR implements xdr.Value.
func (v *Int64) EncodeXDR(e *xdr.Encoder) error { return put8(e, uint64(*v)) }

// DecodeXDR implements xdr.Value.
func (v *Int64) DecodeXDR(d *xdr.Decoder) error {
	w, err := get8(d)
	if err == nil {
		*v = Int64(w)
	}
	return err
}

// XDRSize implements xdr.Value.
func (*Int64) XDRSize() int { return 8 }

// XDRMaxSize returns 8.
func (*Int64) XDRMaxSize() int { return 8 }

// EncodeXDR implements xdr.Value.
func (v *Uint64) EncodeXDR(e *xdr.Encoder) error { return put8(e, uint64(*v)) }

// DecodeXDR implements xdr.Value.
func (v *Uint64) DecodeXDR(d *xdr.Decoder) error {
	w, err := get8(d)
	if err == nil {
		*v = Uint64(w)
	}
	return err
}

// XDRSize implements xdr.Value.
func (*Uint64) XDRSize() int { return 8 }

// XDRMaxSize returns 8.
func (*Uint64) XDRMaxSize() int { return 8 }

func put4(e *xdr.Encoder, w uint32) error {
	b, err := e.Next(4)
	if err == nil {
		binary.BigEndian.PutUint32(b, w)
	}
	return err
}

func put8(e *xdr.Encoder, w uint64) error {
	b, err := e.Next(8)
	if err == nil {
		binary.BigEndian.PutUint64(b, w)
	}
	return err
}

func get4(d *xdr.Decoder) (uint32, error) {
	b, err := d.Next(4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}

func get8(d *xdr.Decoder) (uint64, error) {
	b, err := d.Next(8)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}
