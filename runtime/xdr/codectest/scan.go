package codectest

import (
	"fmt"
	"reflect"
	"strings"
)

// sameScans compares scans of unchecked input with the decoded value v, which takes n bytes, or
// with the error of decoding: a scan of all lists, one of each list alone, and one that ends each
// loop early and begins it again.
func sameScans(t *Type, in []byte, n int, decoded error, v reflect.Value) error {
	if t.Scan == nil {
		return nil
	}
	if err := sameScan(t, in, n, decoded, v, t.Lists, false); err != nil {
		return err
	}
	if err := sameScan(t, in, n, decoded, v, t.Lists, true); err != nil {
		return fmt.Errorf("begun again: %w", err)
	}
	for i := range t.Lists {
		if err := sameScan(t, in, n, decoded, v, t.Lists[i:i+1], false); err != nil {
			return fmt.Errorf("alone: %w", err)
		}
	}
	return sameScan(t, in, n, decoded, v, nil, false)
}

// sameScan checks one scan of the given lists. If the message does not decode, the scan yields the
// elements before the error.
func sameScan(t *Type, in []byte, n int, decoded error, v reflect.Value, lists []List, early bool) error {
	s := t.Scan(in)
	for _, l := range lists {
		want := reflect.Value{}
		if decoded == nil {
			want = follow(v, l.Path)
		}
		if err := sameList(reflect.ValueOf(s).MethodByName(l.Method), want, decoded == nil, early); err != nil {
			return fmt.Errorf("%s: %w", l.Method, err)
		}
		if err := s.Err(); err != nil {
			if err := sameError(decoded, err); err != nil {
				return fmt.Errorf("after %s Err: %w", l.Method, err)
			}
		}
	}
	for range 2 { // End is repeatable
		got, err := s.End()
		if e := sameError(decoded, err); e != nil || err == nil && got != n {
			return fmt.Errorf("at its end %d, %v; decoded %d, %v", got, err, n, decoded)
		}
	}
	return sameError(decoded, s.Err())
}

// mostElements is larger than the number of elements in any input of a test.
const mostElements = 1 << 17

// sameList compares the elements that a scan's method yields with the decoded list; an invalid list
// has none. If the message does not decode, the elements are not compared.
func sameList(method, want reflect.Value, known, early bool) error {
	n, most := 0, 0
	if want.IsValid() {
		most = want.Len()
	}
	for again := true; again; {
		again = false
		for elem := range method.Call(nil)[0].Seq() {
			if known && n >= most {
				return fmt.Errorf("more than %d elements", most)
			}
			if known {
				if err := sameView(elem, want.Index(n)); err != nil {
					return fmt.Errorf("element %d: %w", n, err)
				}
			}
			if n++; n > mostElements {
				return fmt.Errorf("no end after %d elements", n)
			}
			if early {
				again = true
				break
			}
		}
	}
	if known && n != most {
		return fmt.Errorf("%d elements of %d", n, most)
	}
	return nil
}

// follow returns the list at path, or an invalid value if there is none.
func follow(v reflect.Value, path string) reflect.Value {
	v = held(v)
	for _, name := range strings.Split(path, ".")[1:] {
		if !v.IsValid() {
			break
		}
		v = held(v.FieldByName(name))
	}
	return v
}

// held returns the content of a field that is a pointer or optional data or both, or an invalid
// value if a pointer is nil.
func held(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return reflect.Value{}
		}
		return held(v.Elem())
	}
	if opt, ok := optional(v); ok {
		return held(opt.value)
	}
	return v
}
