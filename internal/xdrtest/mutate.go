package xdrtest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// edges has the values that replace every word of every vector.
var edges = []uint32{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff}

// mutated replaces every word of the sample with every edge. The codec must not panic, nor allocate
// more than the input justifies. It must encode an accepted input to the same bytes.
func mutated[T any, P Codec[T]](s sample[T]) error {
	for at := 0; at+4 <= len(s.bytes); at += 4 {
		for _, word := range edges {
			in := bytes.Clone(s.bytes)
			binary.BigEndian.PutUint32(in[at:], word)
			if err := Bounded[T, P](in); err != nil {
				return fmt.Errorf("%#x at offset %d: %w", word, at, err)
			}
			if err := canonical[T, P](in); err != nil {
				return fmt.Errorf("%#x at offset %d: %w", word, at, err)
			}
		}
	}
	return nil
}

// canonical checks that an accepted input is the only encoding of its value, and that CheckXDR, if
// T has it, agrees.
func canonical[T any, P Codec[T]](in []byte) error {
	kept := bytes.Clone(in)
	for mode, opt := range modes() {
		d := xdr.NewDecoder(in, opt)
		var v T
		if P(&v).DecodeXDR(d) != nil {
			continue
		}
		n := d.Offset()
		if size := P(&v).XDRSize(); size != n {
			return fmt.Errorf("%s: %d bytes read, XDRSize returns %d", mode, n, size)
		}
		out, err := P(&v).MarshalBinary()
		if err != nil || !bytes.Equal(out, in[:n]) {
			return fmt.Errorf("%s: not canonical: %w", mode, unequal(out, in[:n], err))
		}
	}
	if err := agrees[T, P](in); err != nil {
		return err
	}
	if !bytes.Equal(in, kept) {
		return fmt.Errorf("decoding wrote into its input")
	}
	return nil
}

// agrees checks that CheckXDR and DecodeXDR return the same length or the same error, strict and
// lenient. The XDRSize of an accepted value is the length of its input.
func agrees[T any, P Codec[T]](in []byte) error {
	check, ok := any(P(nil)).(checker)
	if !ok {
		return nil
	}
	for mode, opt := range map[string]*xdr.DecoderOptions{"strict": nil, "lenient": lenient()} {
		d := xdr.NewDecoder(in, opt)
		var v T
		decoded := P(&v).DecodeXDR(d)
		c := xdr.NewDecoder(in, opt)
		checked := c.Check(check)
		n := c.Offset()
		if opt == nil {
			n, checked = check.CheckXDR(in)
		}
		switch {
		case (decoded == nil) != (checked == nil), decoded != nil && decoded.Error() != checked.Error():
			return fmt.Errorf("%s: CheckXDR returns %v, DecodeXDR %v", mode, checked, decoded)
		case decoded == nil && (n != d.Offset() || P(&v).XDRSize() != n):
			return fmt.Errorf("%s: CheckXDR returns %d bytes, DecodeXDR %d, XDRSize %d", mode, n, d.Offset(), P(&v).XDRSize())
		}
	}
	return nil
}
