package codectest

import (
	"fmt"
	"reflect"
	"strings"
)

// sameScans holds scans of unchecked input against the decoded value v, which takes n
// bytes, or against the error of decoding: one that takes all lists, one for each list
// that takes it alone, and one that ends each loop early and begins it again.
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

// sameScan is one scan that takes the lists given. Of a message that does not decode
// it gives elements up to where it is wrong: no more than the check below finds.
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
	for range 2 { // it says the same again
		got, err := s.End()
		if e := sameError(decoded, err); e != nil || err == nil && got != n {
			return fmt.Errorf("at its end %d, %v; decoded %d, %v", got, err, n, decoded)
		}
	}
	return sameError(decoded, s.Err())
}

// mostElements is more than any input of a test holds.
const mostElements = 1 << 17

// sameList compares the elements that a scan's method gives with the decoded list;
// an invalid one has none. Where the message does not decode nothing is known of them.
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

// follow is the list that path leads to; invalid where it is not there.
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

// held is what a field holds, by pointer or as optional data or both; invalid
// where a pointer is nil.
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
