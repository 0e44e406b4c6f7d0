package codectest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// room encodes a value after other output, into a buffer that is too small. An Encoder that may not
// grow must refuse it and keep its output. One that may grow must write it.
func room(t *Type, wire []byte) error {
	const before = "prefix"
	v := t.New()
	if err := v.UnmarshalBinary(wire); err != nil {
		return err
	}
	want := append([]byte(before), wire...)
	for n := 0; n < len(wire); n += 1 + len(wire)/most() {
		buf := append(make([]byte, 0, len(before)+n), before...)
		e := xdr.NewEncoder(buf)
		e.NoGrow(true)
		if err := v.EncodeXDR(e); !errors.Is(err, xdr.ErrBuffer) || string(e.Bytes()) != before {
			return fmt.Errorf("with room for %d bytes: %v, and %x is the output", n, err, e.Bytes())
		}
		e.NoGrow(false)
		if err := v.EncodeXDR(e); err != nil || !bytes.Equal(e.Bytes(), want) {
			return fmt.Errorf("growing from %d bytes: %v, and %x is the output", n, err, e.Bytes())
		}
		if b, err := v.AppendBinary(buf); err != nil || !bytes.Equal(b, want) {
			return fmt.Errorf("appending where %d bytes fit: %x, %v", n, b, err)
		}
	}
	return nil
}
