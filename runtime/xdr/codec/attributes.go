package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// Attribute is a pointer to one of several numbered values that an opaque field holds.
type Attribute interface {
	Type
	ResetXDR()
}

// Attributes is a pointer to a struct with a field for each of these values.
type Attributes interface {
	// AttributeXDR returns a pointer to the field of attribute n, or nil if n is not known.
	AttributeXDR(n uint32) Attribute
}

// Numbers returns a bitmap of numbers: bit n%32 of word n/32 stands for n.
func Numbers[S ~[]uint32](numbers []uint32) S {
	var mask S
	for _, n := range numbers {
		for uint32(len(mask)) <= n/32 {
			mask = append(mask, 0)
		}
		mask[n/32] |= 1 << (n % 32)
	}
	return mask
}

// HasNumber reports whether number n is in mask.
func HasNumber[S ~[]uint32](mask S, n uint32) bool {
	return uint64(n/32) < uint64(len(mask)) && mask[n/32]&(1<<(n%32)) != 0
}

// PutAttributes appends the attributes in mask to b, in ascending order of their numbers. path is
// the path of the struct in errors.
func PutAttributes[S ~[]uint32](b []byte, v Attributes, mask S, path string) ([]byte, error) {
	e := xdr.NewEncoder(b)
	err := each(v, mask, path, func(a Attribute) error { return a.EncodeXDR(e) })
	return e.Bytes(), err
}

// GetAttributes decodes the attributes in mask from b with d, which it resets, and resets those in
// had beforehand. It returns mask, in the memory of had and without zeros at its end. If it fails,
// it returns no mask. Numbers that v does not know are refused before anything is decoded, and so
// are bytes after the last attribute.
func GetAttributes[S ~[]uint32](d *xdr.Decoder, b []byte, v Attributes, had, mask S, path string) (S, error) {
	for i, word := range had {
		for n := range uint32(32) {
			if a := v.AttributeXDR(uint32(i)*32 + n); word&(1<<n) != 0 && a != nil {
				a.ResetXDR()
			}
		}
	}
	had = had[:0]
	if err := each(v, mask, path, func(Attribute) error { return nil }); err != nil {
		return had, err
	}
	d.Reset(b)
	if err := each(v, mask, path, func(a Attribute) error { return a.DecodeXDR(d) }); err != nil {
		return had, err
	}
	if err := d.Done(); err != nil {
		return had, In(err, path)
	}
	for len(mask) > 0 && mask[len(mask)-1] == 0 {
		mask = mask[:len(mask)-1]
	}
	return append(had, mask...), nil
}

// each calls f for each attribute in mask, in ascending order. It fails at a number that v does not
// know, and if f fails.
func each[S ~[]uint32](v Attributes, mask S, path string, f func(Attribute) error) error {
	for i, word := range mask {
		for n := uint32(i) * 32; word != 0; n, word = n+1, word>>1 {
			if word&1 == 0 {
				continue
			}
			a := v.AttributeXDR(n)
			if a == nil {
				return Fail(xdr.CodeAttribute, 0, uint64(n), 0, path)
			}
			if err := f(a); err != nil {
				return In(err, path+"attribute[]", int(n))
			}
		}
	}
	return nil
}
