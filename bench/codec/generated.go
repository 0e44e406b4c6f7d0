package codec

import (
	"github.com/rpcrdma/rpcrdma/bench/codec/dirplus"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// generatedCodecs is what this project's compiler makes. The three cases are
// written out, not generic: a call through a type parameter would be timed too.
func generatedCodecs(m Message) ([]Codec, error) {
	c := Codec{Name: "generated", Message: m.Name, Role: Generated}
	enc := xdr.NewEncoder(nil)
	enc.NoGrow(true)
	dec := xdr.NewDecoder(m.Wire, &xdr.DecoderOptions{Alias: true})
	switch m.Name {
	case "a", "b":
		value, used := new(rpcrdma1.Message), new(rpcrdma1.Message)
		if err := value.UnmarshalBinary(m.Wire); err != nil {
			return nil, err
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
		c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(rpcrdma1.Message).UnmarshalBinary(b) }
		c.Check = used.CheckXDR
	case "c4K", "c1M":
		value, used, owner := new(dirplus.Blob), new(dirplus.Blob), new(dirplus.Blob)
		if err := value.UnmarshalBinary(m.Wire); err != nil {
			return nil, err
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
		c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
		c.Check = used.CheckXDR
	case "d":
		value, used, owner := new(dirplus.Reply), new(dirplus.Reply), new(dirplus.Reply)
		if err := value.UnmarshalBinary(m.Wire); err != nil {
			return nil, err
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
		c.DecodeFresh = func(b []byte) (int, error) { return len(b), new(dirplus.Reply).UnmarshalBinary(b) }
		c.DecodeCopy = func(b []byte) (int, error) { return len(b), owner.UnmarshalBinary(b) }
		c.Check = used.CheckXDR
	}
	return []Codec{c}, nil
}
