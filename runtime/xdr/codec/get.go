package codec

import (
	"encoding/binary"
	"math"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The functions of this file read a part of a value at off, store it in *p, and return the next
// offset. Decoders of compact types call them; others have the same code written out. The caller
// adds the path to their errors.

// GetWord reads a number of 32 bits.
func GetWord[T ~int32 | ~uint32](b []byte, off int, p *T) (int, error) {
	if Lacks(b, off, 4) {
		return 0, Short(b, off, 4, "")
	}
	*p = T(binary.BigEndian.Uint32(b[off : off+4 : off+4]))
	return off + 4, nil
}

// GetHyper reads a number of 64 bits.
func GetHyper[T ~int64 | ~uint64](b []byte, off int, p *T) (int, error) {
	if Lacks(b, off, 8) {
		return 0, Short(b, off, 8, "")
	}
	*p = T(binary.BigEndian.Uint64(b[off : off+8 : off+8]))
	return off + 8, nil
}

// GetFloat reads a floating-point number of 32 bits (RFC 4506 §4.6).
func GetFloat[T ~float32](b []byte, off int, p *T) (int, error) {
	var bits uint32
	off, err := GetWord(b, off, &bits)
	if err == nil {
		*p = T(math.Float32frombits(bits))
	}
	return off, err
}

// GetDouble reads a floating-point number of 64 bits (RFC 4506 §4.7).
func GetDouble[T ~float64](b []byte, off int, p *T) (int, error) {
	var bits uint64
	off, err := GetHyper(b, off, &bits)
	if err == nil {
		*p = T(math.Float64frombits(bits))
	}
	return off, err
}

// GetBool reads a word that must be 0 or 1 (RFC 4506 §4.4).
func GetBool[T ~bool](d *xdr.Decoder, b []byte, off int, p *T) (int, error) {
	if Lacks(b, off, 4) {
		return 0, Short(b, off, 4, "")
	}
	word := binary.BigEndian.Uint32(b[off : off+4 : off+4])
	// A presence word, too (RFC 8166 §4.3; R28).
	if word > 1 && Refuses(&d.Rules, xdr.CodeBool) {
		return 0, Fail(xdr.CodeBool, off, uint64(word), 1, "")
	}
	*p = word != 0
	return off + 4, nil
}

// Enumerator is an enumeration: its values are the members (RFC 4506 §4.3).
type Enumerator interface {
	~int32
	Valid() bool
}

// GetEnum reads an enumerator.
func GetEnum[T Enumerator](d *xdr.Decoder, b []byte, off int, p *T) (int, error) {
	if Lacks(b, off, 4) {
		return 0, Short(b, off, 4, "")
	}
	word := binary.BigEndian.Uint32(b[off : off+4 : off+4])
	if !T(word).Valid() && Refuses(&d.Rules, xdr.CodeEnum) {
		return 0, Fail(xdr.CodeEnum, off, uint64(word), 0, "")
	}
	*p = T(word)
	return off + 4, nil
}

// GetFixed reads opaque data of fixed length into p.
func GetFixed(d *xdr.Decoder, b []byte, off int, p []byte) (int, error) {
	n := xdr.Padded(len(p))
	if Lacks(b, off, n) {
		return 0, Short(b, off, n, "")
	}
	if !ZeroPad(b, off, len(p)) && Refuses(&d.Rules, xdr.CodePadding) {
		return 0, Fail(xdr.CodePadding, off+len(p), PadBits(b, off, len(p)), 0, "")
	}
	copy(p, b[off:off+n])
	return off + n, nil
}

// GetOpaque reads opaque data of at most most bytes.
func GetOpaque[T ~[]byte](d *xdr.Decoder, b []byte, off int, most uint32, p *T) (int, error) {
	n, err := getCount(b, off, most)
	if err != nil {
		return 0, err
	}
	return getData(d, b, off+4, n, p)
}

// GetItem is GetOpaque for data that may be out of line, at placement site s.
func GetItem[T ~[]byte](d *xdr.Decoder, b []byte, off int, most uint32, s xdr.Site, p *T) (int, error) {
	n, err := getCount(b, off, most)
	if err != nil {
		return 0, err
	}
	if Reinserts(d) {
		data, ok, err := Take(d, s, off+4, int(n))
		if err != nil {
			return 0, err
		}
		if ok {
			*p = data
			return off + 4, nil
		}
		if room := d.Placed.Room; room != nil && uint64(n) <= uint64(len(room)) {
			return getPlaced(d, b, off+4, n, room, p)
		}
	}
	return getData(d, b, off+4, n, p)
}

// getPlaced is getData with a copy in room.
func getPlaced[T ~[]byte](d *xdr.Decoder, b []byte, off int, n uint32, room []byte, p *T) (int, error) {
	alias := d.Alias
	d.Alias = true // the copy in room is the only one
	end, err := getData(d, b, off, n, p)
	if d.Alias = alias; err == nil {
		copy(room, *p)
		*p = room[:n:n]
	}
	return end, err
}

// getCount reads the count of opaque data.
func getCount(b []byte, off int, most uint32) (uint32, error) {
	if Lacks(b, off, 4) {
		return 0, Short(b, off, 4, "")
	}
	n := binary.BigEndian.Uint32(b[off : off+4 : off+4])
	if n > most {
		return 0, Fail(xdr.CodeBound, off, uint64(n), uint64(most), "")
	}
	return n, nil
}

// getData reads n bytes and their padding. The comparison of the count with the rest of the input
// has 64 bits.
func getData[T ~[]byte](d *xdr.Decoder, b []byte, off int, n uint32, p *T) (int, error) {
	size := int(n)
	if (uint64(n)+3)&^3 > uint64(len(b)-off) {
		return 0, Short(b, off, xdr.Padded(size), "")
	}
	if !ZeroPad(b, off, size) && Refuses(&d.Rules, xdr.CodePadding) {
		return 0, Fail(xdr.CodePadding, off+size, PadBits(b, off, size), 0, "")
	}
	*p = Bytes(d, b[off:off+size:off+size])
	return off + xdr.Padded(size), nil
}
