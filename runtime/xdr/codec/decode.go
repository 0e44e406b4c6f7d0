package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// From returns a Decoder that reads b, for UnmarshalBinary. It is small enough to be inlined, so
// that the Decoder is on the stack.
func From(b []byte) *xdr.Decoder {
	d := new(xdr.Decoder)
	d.Buf = b
	return d
}

// All returns err, or the error of input that d has left.
func All(d *xdr.Decoder, err error) error {
	if err != nil {
		return err
	}
	return d.Done()
}
