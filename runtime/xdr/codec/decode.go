package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// Decode is DecodeXDR of v.
func Decode(d *xdr.Decoder, v Type) (err error) {
	d.Off, err = v.GetXDR(d, d.Buf, d.Off)
	return
}

// From decodes v from b with a new Decoder on the stack.
func From(b []byte, v Type) (*xdr.Decoder, error) {
	d := new(xdr.Decoder)
	d.Buf = b
	return d, v.DecodeXDR(d)
}

// All returns err, or the error of input that d has left.
func All(d *xdr.Decoder, err error) error {
	if err != nil {
		return err
	}
	return d.Done()
}
