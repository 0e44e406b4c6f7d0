package codectest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// agree compares the readers with each other on any input. An accepted input must be the only
// encoding of its value.
func agree(t *Type, in []byte) error {
	for name, opt := range map[string]*xdr.DecoderOptions{"strict": nil, "lenient": {Lenient: xdr.Lenient{Padding: true, Booleans: true, Enums: true, Trailing: true}}} {
		v := t.New()
		d := xdr.NewDecoder(in, opt)
		decoded := v.DecodeXDR(d)
		if errors.Is(decoded, xdr.ErrMemory) {
			continue // the other readers take no memory
		}
		if err := checked(t, in, opt, d.Offset(), decoded); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if decoded == nil && t.View != nil {
			if err := sameView(reflect.ValueOf(t.View(in[:d.Offset()])), reflect.ValueOf(v).Elem()); err != nil {
				return fmt.Errorf("%s: view: %w", name, err)
			}
		}
		if opt != nil {
			continue
		}
		n := d.Offset()
		if err := sameScans(t, in, n, decoded, reflect.ValueOf(v).Elem()); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if decoded != nil {
			continue
		}
		if err := same(v, in[:n]); err != nil {
			return err
		}
		if held := int64(retained(reflect.ValueOf(v).Elem())); t.Amplification > 0 && held > t.Amplification*int64(n)*5/4 {
			return fmt.Errorf("%d bytes retain %d bytes of memory, at most %d for each", n, held, t.Amplification)
		}
	}
	return nil
}

// checked compares the check-only readers with decoding, which read n bytes or returned an error.
func checked(t *Type, in []byte, opt *xdr.DecoderOptions, n int, decoded error) error {
	if t.Check == nil {
		return nil
	}
	c := xdr.NewDecoder(in, opt)
	if err := sameError(decoded, c.Check(t.Check)); err != nil {
		return fmt.Errorf("decode and check: %w", err)
	}
	if decoded == nil && n != c.Offset() {
		return fmt.Errorf("decode read %d bytes, check %d", n, c.Offset())
	}
	if opt != nil {
		return nil
	}
	got, err := t.Check.CheckXDR(in)
	if e := sameError(decoded, err); e != nil || err == nil && got != n {
		return fmt.Errorf("CheckXDR: %d, %v; decoded %d, %v", got, err, n, decoded)
	}
	return nil
}

func sameError(a, b error) error {
	if (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() && !sameButForMiddle(a, b) {
		return fmt.Errorf("%v, but %v", a, b)
	}
	return nil
}

// sameButForMiddle reports whether two errors differ only in the steps that a long path omits. The
// readers call each other at different places, so they may omit different steps.
func sameButForMiddle(a, b error) bool {
	var x, y *xdr.Error
	if !errors.As(a, &x) || !errors.As(b, &y) || x.Code != y.Code || x.Offset != y.Offset || x.Found != y.Found || x.Want != y.Want {
		return false
	}
	elided := func(e *xdr.Error) (front, back string, ok bool) { return strings.Cut(e.Path(), "...") }
	frontX, backX, cutX := elided(x)
	frontY, backY, cutY := elided(y)
	either := func(p, q string, has func(s, part string) bool) bool { return has(p, q) || has(q, p) }
	switch {
	case cutX && cutY:
		return either(frontX, frontY, strings.HasPrefix) && either(backX, backY, strings.HasSuffix)
	case cutX:
		return strings.HasPrefix(y.Path(), frontX) && strings.HasSuffix(y.Path(), backX)
	}
	return cutY && strings.HasPrefix(x.Path(), frontY) && strings.HasSuffix(x.Path(), backY)
}

// sameView compares a view with the decoded value, field by field.
func sameView(view, want reflect.Value) error {
	switch want.Kind() {
	case reflect.Struct:
		if opt, ok := optional(want); ok { // an optional element: xdr.Optional on both sides
			if view.FieldByName("Present").Bool() != opt.present {
				return fmt.Errorf("presence differs")
			}
			if !opt.present {
				return nil
			}
			return sameView(view.FieldByName("Value"), opt.value)
		}
		for i := range want.NumField() {
			if !want.Type().Field(i).IsExported() {
				continue
			}
			name := want.Type().Field(i).Name
			if err := sameField(view.MethodByName(name).Call(nil), want.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case reflect.Pointer:
		// An arm may be optional data itself; the value may also hold optional data by pointer.
		_, itself := optional(reflect.Zero(want.Type().Elem()))
		if got, ok := optional(view); ok && !itself {
			if got.present == want.IsNil() {
				return fmt.Errorf("presence differs")
			}
			if want.IsNil() {
				return nil
			}
			return sameView(got.value, want.Elem())
		}
		if want.IsNil() {
			return fmt.Errorf("the view has an item that the value does not have")
		}
		return sameView(view, want.Elem())
	case reflect.Slice, reflect.Array:
		if want.Type().Elem().Kind() != reflect.Uint8 {
			n := 0
			for _, e := range view.Seq2() {
				if n >= want.Len() {
					return fmt.Errorf("more than %d elements", n)
				}
				if err := sameView(e, want.Index(n)); err != nil {
					return fmt.Errorf("element %d: %w", n, err)
				}
				n++
			}
			if n != want.Len() {
				return fmt.Errorf("%d elements of %d", n, want.Len())
			}
			return nil
		}
		if want.Kind() == reflect.Slice {
			if !bytes.Equal(view.Bytes(), want.Bytes()) {
				return fmt.Errorf("%x, decoded %x", view.Bytes(), want.Bytes())
			}
			return nil
		}
	case reflect.Float32, reflect.Float64:
		if a, b := view.Float(), want.Float(); a != b && (a == a || b == b) {
			return fmt.Errorf("%v, decoded %v", a, b)
		}
		return nil
	}
	if view.Interface() != want.Interface() {
		return fmt.Errorf("%v, decoded %v", view, want)
	}
	return nil
}

// sameField compares what a view's method returned with the field.
func sameField(out []reflect.Value, want reflect.Value) error {
	if len(out) == 1 {
		return sameView(out[0], want)
	}
	ok := out[1].Bool()
	if layers(want) > layers(out[0]) { // an optional field, not an arm that is optional
		opt, _ := optional(want)
		if opt.present != ok {
			return fmt.Errorf("presence differs")
		}
		want = opt.value
	}
	if !ok {
		return nil // absent, or an arm that is not selected
	}
	return sameView(out[0], want)
}

type maybe struct {
	present bool
	value   reflect.Value
}

// optional returns the content of an xdr.Optional.
func optional(v reflect.Value) (maybe, bool) {
	if v.Kind() != reflect.Struct || v.NumField() != 2 || v.Type().Field(1).Tag.Get("xdr") != ",presence" {
		return maybe{}, false
	}
	return maybe{v.FieldByName("Present").Bool(), v.FieldByName("Value")}, true
}

// layers returns the number of nested Optionals around v. A pointer in one counts too: it is
// optional data of a type that contains itself.
func layers(v reflect.Value) int {
	opt, ok := optional(v)
	switch {
	case !ok:
		return 0
	case opt.value.Kind() == reflect.Pointer:
		return 2
	}
	return 1 + layers(opt.value)
}
