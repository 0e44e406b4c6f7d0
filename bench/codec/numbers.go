package codec

import (
	"github.com/rpcrdma/rpcrdma/bench/codec/dirplus"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// numbersCodec returns the codec generated for an array of numbers. Its limit is memmove of the
// same bytes.
func numbersCodec(c *Codec, m Message, enc *xdr.Encoder, dec *xdr.Decoder) error {
	if m.Name == "n4" {
		value, used := new(dirplus.Words), new(dirplus.Words)
		if err := value.UnmarshalBinary(m.Wire); err != nil {
			return err
		}
		c.EncodeInto = func(b []byte) (int, error) {
			enc.Reset(b[:0])
			err := value.EncodeXDR(enc)
			return enc.Len(), err
		}
		c.Append = value.AppendBinary
		c.Decode = func(b []byte) (int, error) {
			dec.Reset(b)
			err := used.DecodeXDR(dec)
			return dec.Offset(), err
		}
		c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(dirplus.Words).UnmarshalBinary(b) }
		c.Check = used.CheckXDR
		return nil
	}
	value, used := new(dirplus.Doubles), new(dirplus.Doubles)
	if err := value.UnmarshalBinary(m.Wire); err != nil {
		return err
	}
	c.EncodeInto = func(b []byte) (int, error) {
		enc.Reset(b[:0])
		err := value.EncodeXDR(enc)
		return enc.Len(), err
	}
	c.Append = value.AppendBinary
	c.Decode = func(b []byte) (int, error) {
		dec.Reset(b)
		err := used.DecodeXDR(dec)
		return dec.Offset(), err
	}
	c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(dirplus.Doubles).UnmarshalBinary(b) }
	c.Check = used.CheckXDR
	return nil
}
