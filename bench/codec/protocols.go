package codec

import (
	"github.com/rpcrdma/rpcrdma/bench/codec/envelope"
	"github.com/rpcrdma/rpcrdma/bench/codec/nfs4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Messages e to h belong to protocols that are too large to write codecs for by hand. Ratios are
// relative to generated code.

// compoundCodec returns the codec that this project's compiler generates from RFC 7531.
func compoundCodec(c *Codec, wire []byte, enc *xdr.Encoder, dec *xdr.Decoder) error {
	value, used, owner := new(nfs4.Compound4Args), new(nfs4.Compound4Args), new(nfs4.Compound4Args)
	if err := value.UnmarshalBinary(wire); err != nil {
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
	c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(nfs4.Compound4Args).UnmarshalBinary(b) }
	c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
	c.Check = used.CheckXDR
	c.Visit = visitCompound
	return nil
}

// visitCompound returns the sum of the operations' numbers, which a server needs first.
func visitCompound(b []byte) (int, error) {
	var sum int
	scan := nfs4.ScanCompound4Args(b)
	for op := range scan.Argarray() {
		sum += int(op.Argop())
	}
	_, err := scan.End()
	return sum, err
}

// sessionCodec returns the codec generated from RFC 7863, which has no views.
func sessionCodec(c *Codec, m Message, enc *xdr.Encoder, dec *xdr.Decoder) error {
	if m.Name == "g" {
		value, used, owner := new(nfs42.CompoundArgs), new(nfs42.CompoundArgs), new(nfs42.CompoundArgs)
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
		c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(nfs42.CompoundArgs).UnmarshalBinary(b) }
		c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
		return nil
	}
	value, used, owner := new(nfs42.CompoundRes), new(nfs42.CompoundRes), new(nfs42.CompoundRes)
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
	c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(nfs42.CompoundRes).UnmarshalBinary(b) }
	c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
	return nil
}

// envelopeCodec returns the codec generated from envelope.x.
func envelopeCodec(c *Codec, wire []byte, enc *xdr.Encoder, dec *xdr.Decoder) error {
	value, used, owner := new(envelope.Envelope), new(envelope.Envelope), new(envelope.Envelope)
	if err := value.UnmarshalBinary(wire); err != nil {
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
	c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(envelope.Envelope).UnmarshalBinary(b) }
	c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
	c.Check = used.CheckXDR
	return nil
}
