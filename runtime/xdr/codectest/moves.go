package codectest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// moves decodes into one value in both modes in turn, from memory that faults when it is written
// to. Parts that belong to a decoder (of types that contain themselves) are emptied before the
// value moves to the next decoder, and must stay empty.
func moves(t *Type, wire []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	step := ""
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", step, r)
		}
	}()
	v, recycled := t.New(), xdr.NewDecoder(nil, nil)
	var lent []loan
	for i := range 6 {
		step = "aliasing, after copying"
		var opt *xdr.DecoderOptions
		if i%2 == 0 {
			opt = aliasing()
		} else {
			step = "copying, after aliasing"
		}
		in, free, err := readOnly(wire)
		if err != nil {
			return err
		}
		defer free()
		d := xdr.NewDecoder(in, opt)
		if opt == nil {
			d = recycled
			d.Recycle(in)
		}
		if err := v.DecodeXDR(d); err != nil {
			return err
		}
		if err := same(v, wire); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		for _, l := range lent {
			if !reflect.DeepEqual(l.now.Elem().Interface(), l.was.Interface()) {
				return fmt.Errorf("%s: writes into a %s that belongs to another decoder", step, l.was.Type())
			}
		}
		if lent, err = borrowed(t, d, v, in); err != nil {
			return err
		}
		if opt == nil && len(lent) > 0 {
			return fmt.Errorf("%s: the decoder gives a %s to two values", step, lent[0].was.Type())
		}
	}
	return nil
}

// borrowed empties and returns the parts of v that belong to d: those that another value decoded by
// d has too.
func borrowed(t *Type, d *xdr.Decoder, v Value, in []byte) ([]loan, error) {
	other := t.New()
	d.Reset(in)
	if err := other.DecodeXDR(d); err != nil {
		return nil, err
	}
	shared := map[uintptr]bool{}
	pointers(reflect.ValueOf(other).Elem(), func(p reflect.Value) bool {
		shared[p.Pointer()] = true
		return true
	})
	var lent []loan
	pointers(reflect.ValueOf(v).Elem(), func(p reflect.Value) bool {
		if !shared[p.Pointer()] {
			return true
		}
		p.Elem().SetZero()
		lent = append(lent, loan{p, reflect.New(p.Type().Elem()).Elem()})
		return false
	})
	return lent, nil
}

// loan is a part of a value behind a pointer, and its former content.
type loan struct{ now, was reflect.Value }

// pointers calls visit for each pointer in v, and follows the pointer if visit returns true.
func pointers(v reflect.Value, visit func(p reflect.Value) bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && visit(reflect.ValueOf(v.Interface())) {
			pointers(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				pointers(v.Field(i), visit)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				break
			}
			pointers(v.Index(i), visit)
		}
	}
}

// refused is the largest number of words that are changed in one encoding.
const refused = 6

// refusals checks that a refused input costs only its error, at most two objects. The first reading
// may enlarge the value.
func refusals(t *Type, wire []byte) error {
	if race {
		return nil
	}
	v, d := t.New(), xdr.NewDecoder(nil, aliasing())
	in := append([]byte(nil), wire...)
	for off := 0; off+4 <= len(in); off += 4 * (1 + len(in)/(4*refused)) {
		old := in[off+3]
		for _, x := range []byte{0x02, 0xff} {
			in[off+3] = x
			var err error
			decode := func() { d.Reset(in); err = v.DecodeXDR(d) }
			n := testing.AllocsPerRun(1, decode)
			if n > 2 {
				n = testing.AllocsPerRun(10, decode) // one object may have been another goroutine's
			}
			var e *xdr.Error
			switch {
			case err != nil && !errors.As(err, &e):
				return fmt.Errorf("byte %d is %#x: %v is no *xdr.Error", off+3, x, err)
			case err != nil && n > 2:
				return fmt.Errorf("byte %d is %#x: %v allocations for %w, 2 at most", off+3, x, n, err)
			}
		}
		in[off+3] = old
	}
	return nil
}
