package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// text is opaque data in the form of a generated type: opaque text<8>.
type text struct{ Data []byte }

func (v *text) XDRSize() int { return 4 + xdr.Padded(len(v.Data)) }
func (v *text) ResetXDR()    { v.Data = nil }

func (v *text) AppendBinary(b []byte) ([]byte, error) {
	if len(v.Data) > 8 {
		return b, codec.Fail(xdr.CodeBound, 0, uint64(len(v.Data)), 8, "codectest.text:Data")
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(v.Data)))
	return append(append(b, v.Data...), make([]byte, xdr.Padded(len(v.Data))-len(v.Data))...), nil
}

func (v *text) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

func (v *text) EncodeXDR(e *xdr.Encoder) error {
	b, err := v.MarshalBinary()
	if err != nil {
		return err
	}
	to, err := e.Next(len(b))
	copy(to, b)
	return err
}

func (v *text) SkipXDR(_ *xdr.Checker, b []byte, off int) (int, *xdr.Error) {
	if codec.Lacks(b, off, 4) {
		return 0, codec.Short(b, off, 4, "codectest.text:Data")
	}
	n := int(binary.BigEndian.Uint32(b[off:]))
	off += 4
	if n > 8 {
		return 0, codec.Fail(xdr.CodeBound, off-4, uint64(n), 8, "codectest.text:Data")
	}
	if codec.Lacks(b, off, xdr.Padded(n)) {
		return 0, codec.Short(b, off, xdr.Padded(n), "codectest.text:Data")
	}
	if !codec.ZeroPad(b, off, n) {
		return 0, codec.Fail(xdr.CodePadding, off+n, codec.PadBits(b, off, n), 0, "codectest.text:Data")
	}
	return off + xdr.Padded(n), nil
}

func (v *text) CheckXDR(b []byte) (int, error) {
	n, err := v.SkipXDR(nil, b, 0)
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (v *text) DecodeXDR(d *xdr.Decoder) error {
	end, err := v.SkipXDR(nil, d.Buf, d.Off)
	if err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(d.Buf[d.Off:]))
	v.Data = codec.Bytes(d, d.Buf[d.Off+4:d.Off+4+n:d.Off+4+n])
	d.Off = end
	return nil
}

func (v *text) UnmarshalBinary(b []byte) error {
	d := xdr.NewDecoder(b, nil)
	if err := v.DecodeXDR(d); err != nil {
		return err
	}
	return d.Done()
}

// textStream has the methods of a stream, with a fault.
type textStream struct {
	*text
	fault string
}

func (v textStream) EncodeTo(w io.Writer) error {
	if v.fault == "pieces" {
		b, _ := v.MarshalBinary()
		_, _ = w.Write(b[:4])
		_, err := w.Write(b[4:])
		return err
	}
	err := codec.EncodeTo(v.text, w)
	if v.fault == "written" {
		return nil
	}
	return err
}

func (v textStream) DecodeFrom(r io.Reader, limit int) error {
	if v.fault == "unlimited" {
		limit = -1
	}
	err := codec.DecodeFrom(v.text, r, limit, 4, func(f *codec.Feed) { f.Opaque(8) })
	switch {
	case v.fault == "ahead" && err == nil:
		_, _ = r.Read(make([]byte, 1))
	case v.fault == "plain end" && errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case v.fault == "early end" && errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case v.fault == "changed" && err == nil && len(v.Data) > 0:
		v.Data[0]++
	}
	return err
}

// TestOptionalCanaries checks that each fault of an optional method is detected, by an error that
// names it.
func TestOptionalCanaries(t *testing.T) {
	wires := [][]byte{{0, 0, 0, 3, 'a', 'b', 'c', 0}, {0, 0, 0, 4, 'a', 'b', 'c', 'd'}, {0, 0, 0, 0}}
	for fault, want := range map[string]string{
		"":           "",
		"shallow":    "the clone shares memory with the value: one's []uint8 and the other's []uint8",
		"cut":        "the clone: ",
		"no clone":   "Clone: no clone",
		"all equal":  "Equal is not false",
		"none equal": "Equal is not true",
		"allocates":  "Equal makes 1 allocations",
		"over bound": "a part overwritten: ",
		"pieces":     "in 2 calls",
		"written":    "EncodeTo: ",
		"ahead":      "reads 9 bytes of a value with 8",
		"unlimited":  "limit 0: ",
		"plain end":  "DecodeFrom: unexpected EOF",
		"early end":  "DecodeFrom: EOF",
		"changed":    "AppendBinary gives",
	} {
		if fault == "allocates" && race {
			continue // the race detector allocates
		}
		typ := &Type{Name: "text", Min: 4, Max: 12, New: func() Value { return new(text) }}
		typ.Clone = func(v Value) (Value, error) {
			data := v.(*text).Data
			switch fault {
			case "cut":
				return &text{}, nil
			case "no clone":
				return nil, errors.New(fault)
			case "shallow":
				return &text{data}, nil
			}
			return &text{slices.Clone(data)}, nil
		}
		var sink []byte
		typ.Equal = func(v, w Value) bool {
			a, b := v.(*text).Data, w.(*text).Data
			if fault == "allocates" {
				sink = append([]byte(nil), 1)
			}
			return fault == "all equal" || fault != "none equal" && bytes.Equal(a, b) && (len(a) <= 8 || fault == "over bound")
		}
		typ.Stream = func(v Value) Stream { return textStream{v.(*text), fault} }
		got := ""
		note := func(err error) {
			if err != nil {
				got += err.Error() + "\n"
			}
		}
		note(clones(typ, wires))
		note(equals(typ, wires))
		for _, w := range wires {
			note(stream(typ, w))
		}
		_ = sink
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("fault %q: found %q, want %q", fault, got, want)
		}
	}
}
