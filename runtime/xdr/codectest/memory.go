package codectest

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// retained returns the number of bytes that v retains by its slices and pointers, spare capacity
// included.
func retained(v reflect.Value) uint64 {
	var n uint64
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = uint64(v.Type().Elem().Size()) + retained(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += retained(v.Field(i))
		}
	case reflect.Slice:
		n = uint64(v.Cap()) * uint64(v.Type().Elem().Size())
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v = v.Slice3(0, v.Cap(), v.Cap())
			for i := range v.Len() {
				n += retained(v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			n += retained(v.Index(i))
		}
	}
	return n
}

// claims checks that 32 bytes with a count of 2^31 elements, at any place, take no more memory than
// 32 bytes may.
func claims(t *Type) error {
	in := make([]byte, 32)
	for first := 0; first < len(in); first += 4 {
		for _, count := range []uint32{1 << 31, 1<<32 - 1} {
			clear(in)
			for off := 0; off < first; off += 4 {
				binary.BigEndian.PutUint32(in[off:], 1)
			}
			binary.BigEndian.PutUint32(in[first:], count)
			v := t.New()
			err := v.DecodeXDR(xdr.NewDecoder(in, nil))
			if held := retained(reflect.ValueOf(v).Elem()); held > 5*(64*32+4096)/4 {
				return fmt.Errorf("%x (%v) takes %d bytes of memory", in, err, held)
			}
		}
	}
	return nil
}

// allocations checks that the readers and the encoder allocate nothing for reused values and
// buffers, and at most two objects for an error.
func allocations(t *Type, wire []byte) error {
	if race {
		return nil
	}
	v, d, e := t.New(), xdr.NewDecoder(nil, aliasing()), xdr.NewEncoder(nil)
	buf := make([]byte, 0, len(wire))
	short := wire[:max(0, len(wire)-4)]
	type job struct {
		name string
		most float64
		do   func() error
	}
	jobs := []job{
		{"DecodeXDR into a used value", 0, func() error { d.Reset(wire); return v.DecodeXDR(d) }},
		{"EncodeXDR into a buffer", 0, func() error { e.Reset(buf); return v.EncodeXDR(e) }},
		{"AppendBinary to a buffer", 0, func() error { _, err := v.AppendBinary(buf); return err }},
		{"DecodeXDR of short input", 2, func() error { d.Reset(short); _ = v.DecodeXDR(d); return nil }},
	}
	if t.Check != nil {
		jobs = append(jobs,
			job{"CheckXDR", 0, func() error { _, err := t.Check.CheckXDR(wire); return err }},
			job{"CheckXDR of short input", 2, func() error { _, _ = t.Check.CheckXDR(short); return nil }})
	}
	for _, c := range jobs {
		var err error
		if n := testing.AllocsPerRun(10, func() { err = c.do() }); n > c.most || err != nil {
			return fmt.Errorf("%s: %v allocations, %v; at most %v", c.name, n, err, c.most)
		}
	}
	return nil
}
