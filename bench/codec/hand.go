package codec

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
)

// memmove copies the message, which is the least that a codec can do.
func memmove(m Message) Codec {
	scratch := bytes.Clone(m.Wire)
	return Codec{
		Name: "memmove", Message: m.Name, Role: Floor,
		EncodeInto:  func(b []byte) (int, error) { return copy(b, m.Wire), nil },
		Append:      func(b []byte) ([]byte, error) { return append(b, m.Wire...), nil },
		Decode:      func(b []byte) (int, error) { return copy(scratch, b), nil },
		DecodeFresh: func(b []byte) (int, error) { return len(bytes.Clone(b)), nil },
		DecodeCopy:  func(b []byte) (int, error) { return copy(scratch, b), nil },
	}
}

func handCodec(m Message) Codec {
	c := Codec{Name: "hand", Message: m.Name, Role: Limit}
	switch m.Name {
	case "a", "b":
		h, used := sample.A(), new(hand.Header)
		if m.Name == "b" {
			h = sample.B()
		}
		c.EncodeInto, c.Append = h.EncodeInto, h.Append
		c.Decode, c.Check = used.Decode, hand.CheckHeader
		c.DecodeFresh = func(b []byte) (int, error) { return new(hand.Header).Decode(b) }
	case "c4K", "c1M":
		o, used, owner := sample.C(len(m.Wire)-4), new(hand.Opaque), new(hand.Opaque)
		c.EncodeInto, c.Append = o.EncodeInto, o.Append
		c.Decode, c.Check, c.DecodeCopy = used.Decode, hand.CheckOpaque, owner.DecodeCopy
	case "d":
		d, used := sample.D(), new(hand.Dirplus)
		c.EncodeInto, c.Append = d.EncodeInto, d.Append
		c.Decode, c.Check = used.Decode, hand.CheckDirplus
		c.DecodeFresh = func(b []byte) (int, error) { return new(hand.Dirplus).Decode(b) }
	}
	return c
}
