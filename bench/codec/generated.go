package codec

import (
	"github.com/rpcrdma/rpcrdma/bench/codec/dirplus"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// generatedCodecs returns the codecs made by this project's compiler. The cases are written out
// and not generic, because a call through a type parameter takes time.
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
		c.Visit = visitHeader
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
		c.Visit = visitListing
		c.Check = used.CheckXDR
	case "e":
		if err := compoundCodec(&c, m.Wire, enc, dec); err != nil {
			return nil, err
		}
	case "n4", "n8":
		if err := numbersCodec(&c, m, enc, dec); err != nil {
			return nil, err
		}
	case "g", "h":
		if err := sessionCodec(&c, m, enc, dec); err != nil {
			return nil, err
		}
	case "f":
		if err := envelopeCodec(&c, m.Wire, enc, dec); err != nil {
			return nil, err
		}
	}
	if recycled := recycledCodec(m); recycled.DecodeCopy != nil {
		return []Codec{c, recycled}, nil
	}
	return []Codec{c}, nil
}

// recycledCodec copies into the memory of the previous message, with Decoder.Recycle.
func recycledCodec(m Message) Codec {
	c := Codec{Name: "generated (recycled)", Message: m.Name, Role: Generated}
	dec := xdr.NewDecoder(nil, nil)
	switch m.Name {
	case "c4K", "c1M":
		used := new(dirplus.Blob)
		c.DecodeCopy = func(b []byte) (int, error) {
			dec.Recycle(b)
			err := used.DecodeXDR(dec)
			return dec.Offset(), err
		}
	case "d":
		used := new(dirplus.Reply)
		c.DecodeCopy = func(b []byte) (int, error) {
			dec.Recycle(b)
			err := used.DecodeXDR(dec)
			return dec.Offset(), err
		}
	}
	return c
}

// visitHeader returns the sum of all fields of the segments of a header.
func visitHeader(b []byte) (int, error) {
	var sum int
	scan := rpcrdma1.ScanMessage(b)
	for r := range scan.BodyMsgReads() {
		sum += int(r.Position()) + visitSegment(r.Target())
	}
	for w := range scan.BodyMsgWrites() {
		for _, s := range w.Target() {
			sum += visitSegment(s)
		}
	}
	_, err := scan.End()
	return sum, err
}

func visitSegment(s rpcrdma1.SegmentView) int {
	return int(s.Handle()) + int(s.Length()) + int(s.Offset())
}

// visitListing returns the sum of the lengths of names and the numbers of a listing.
func visitListing(b []byte) (int, error) {
	var sum int
	scan := dirplus.ScanReply(b)
	for e := range scan.ListingEntries() {
		sum += len(e.Name()) + int(e.ID())
	}
	_, err := scan.End()
	return sum, err
}
