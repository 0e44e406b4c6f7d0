package xdrtest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// payload follows a header, as an RPC message does.
var payload = []byte{0xde, 0xad, 0xbe, 0xef, 0x01}

// decodes checks the decoded value in both modes, and that the bytes after the value are not read.
func decodes[T any, P Codec[T]](s sample[T]) error {
	for mode, opt := range modes() {
		in := append(bytes.Clone(s.bytes), payload...)
		d := xdr.NewDecoder(in, opt)
		var v T
		if err := P(&v).DecodeXDR(d); err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		if got := diff(&s.want, &v); got != "" {
			return fmt.Errorf("%s: value differs (- expected, + decoded):\n%s", mode, got)
		}
		if d.Offset() != len(s.bytes) || !bytes.Equal(d.Rest(), payload) {
			return fmt.Errorf("%s: %d bytes read, the value has %d", mode, d.Offset(), len(s.bytes))
		}
	}
	var v T
	if err := P(&v).UnmarshalBinary(s.bytes); err != nil {
		return err
	}
	if got := diff(&s.want, &v); got != "" {
		return fmt.Errorf("UnmarshalBinary: value differs (- expected, + decoded):\n%s", got)
	}
	return nil
}

// encodes checks that every way of encoding appends the vector's bytes to the earlier content, and
// that a full buffer is refused and not changed.
func encodes[T any, P Codec[T]](s sample[T]) error {
	p := P(&s.want)
	if n := p.XDRSize(); n != len(s.bytes) {
		return fmt.Errorf("XDRSize is %d, want %d", n, len(s.bytes))
	}
	prefix := []byte("before")
	want := append(bytes.Clone(prefix), s.bytes...)
	e := xdr.NewEncoder(bytes.Clone(prefix))
	if err := p.EncodeXDR(e); err != nil || !bytes.Equal(e.Bytes(), want) {
		return fmt.Errorf("EncodeXDR: %w", unequal(e.Bytes(), want, err))
	}
	got, err := p.AppendBinary(bytes.Clone(prefix))
	if err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("AppendBinary: %w", unequal(got, want, err))
	}
	if got, err = p.MarshalBinary(); err != nil || !bytes.Equal(got, s.bytes) {
		return fmt.Errorf("MarshalBinary: %w", unequal(got, s.bytes, err))
	}

	// A buffer that fits exactly and holds old bytes, and one a byte shorter.
	e = xdr.NewEncoder(dirty(len(s.bytes)))
	e.NoGrow(true)
	if err := p.EncodeXDR(e); err != nil || !bytes.Equal(e.Bytes(), s.bytes) {
		return fmt.Errorf("into an exact buffer: %w", unequal(e.Bytes(), s.bytes, err))
	}

	// A larger one: the bytes after the value belong to the caller.
	room := dirty(len(s.bytes) + 8)
	e.Reset(room)
	if err := p.EncodeXDR(e); err != nil || !bytes.Equal(room[:cap(room)], append(bytes.Clone(s.bytes), dirty(8)[:8]...)) {
		return fmt.Errorf("bytes after the value were written: % x, %v", room[:cap(room)], err)
	}
	e.Reset(dirty(len(s.bytes) - 1))
	if err := p.EncodeXDR(e); !errors.Is(err, xdr.ErrBuffer) || e.Len() != 0 {
		return fmt.Errorf("into a buffer one byte short: %v, %d bytes written; want xdr.ErrBuffer and none", err, e.Len())
	}
	return nil
}

// dirty returns an empty buffer of n bytes capacity with old content.
func dirty(n int) []byte { return bytes.Repeat([]byte{0xa5}, n)[:0] }

func unequal(got, want []byte, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("got  % x\nwant % x", got, want)
}

// truncated checks every prefix of the sample. The missing bytes are in the same memory, after the
// received length: a decoder that reads on would succeed.
func truncated[T any, P Codec[T]](s sample[T]) error {
	for n := range s.bytes {
		if err := agrees[T, P](s.bytes[:n]); err != nil {
			return fmt.Errorf("first %d of %d bytes: %w", n, len(s.bytes), err)
		}
		for mode, opt := range modes() {
			var v T
			err := P(&v).DecodeXDR(xdr.NewDecoder(s.bytes[:n], opt))
			if !errors.Is(err, xdr.ErrShort) && !errors.Is(err, xdr.ErrCount) {
				return fmt.Errorf("%s, first %d of %d bytes: %v, want xdr.ErrShort or xdr.ErrCount", mode, n, len(s.bytes), err)
			}
			var e *xdr.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > n {
				return fmt.Errorf("%s, first %d bytes: offset outside the input: %v", mode, n, err)
			}
		}
	}
	return nil
}

// trailing checks that UnmarshalBinary refuses trailing bytes.
func trailing[T any, P Codec[T]](s sample[T]) error {
	var v T
	err := P(&v).UnmarshalBinary(append(bytes.Clone(s.bytes), 0))
	var e *xdr.Error
	if !errors.Is(err, xdr.ErrTrailing) || !errors.As(err, &e) || e.Offset != len(s.bytes) || e.Found != 1 {
		return fmt.Errorf("%v, want xdr.ErrTrailing for 1 byte at offset %d", err, len(s.bytes))
	}
	return nil
}

// owned checks that the input may be overwritten after a copying decode.
func owned[T any, P Codec[T]](s sample[T]) error {
	var v T
	in := bytes.Clone(s.bytes)
	if err := P(&v).DecodeXDR(xdr.NewDecoder(in, nil)); err != nil {
		return err
	}
	flip(in)
	if got := diff(&s.want, &v); got != "" {
		return fmt.Errorf("a copying decoder kept bytes of its input:\n%s", got)
	}
	return nil
}

// flip inverts every byte of b.
func flip(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

// reused checks that a value into which before was decoded decodes s like a fresh one, in all
// modes, whether before was decoded to its end or refused in the middle. Neither input may be
// written.
func reused[T any, P Codec[T]](before, s sample[T]) error {
	step := 4
	if Race || testing.Short() { // ten times slower, as on the emulators of make test-arch
		step = max(4, len(before.bytes)/2)
	}
	for _, mode := range []struct{ first, then *xdr.DecoderOptions }{
		{nil, nil}, {nil, alias()}, {alias(), nil}, {alias(), alias()},
	} {
		for n := len(before.bytes); n >= 0; n -= step {
			in1, in2 := bytes.Clone(before.bytes), bytes.Clone(s.bytes)
			var v T
			_ = P(&v).DecodeXDR(xdr.NewDecoder(in1[:n], mode.first)) // refused where n cuts it
			flip(in1)                                                // new content in its buffer
			if err := P(&v).DecodeXDR(xdr.NewDecoder(in2, mode.then)); err != nil {
				return err
			}
			if got := diff(&s.want, &v); got != "" {
				return fmt.Errorf("first %d bytes of it left data of the value before (- fresh, + reused):\n%s", n, got)
			}
			if flip(in1); !bytes.Equal(in1, before.bytes) || !bytes.Equal(in2, s.bytes) {
				return fmt.Errorf("decoding wrote into its input")
			}
		}
	}
	return nil
}
