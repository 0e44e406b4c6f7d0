package xdrjson

import (
	"reflect"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// union reads a union. The keys may be in any order. If the arm comes first, it is skipped, and
// read once the discriminant is known.
func (r reader) union(f *form, v reflect.Value) *Error {
	const want = `{"discriminant": ..., "arm": ...}`
	if r.Kind() != jsontext.Object {
		return r.mismatch(f, want)
	}
	object := r.Place()
	var arm jsontext.Place
	hasDisc, hasArm, skipped := false, false, false
	for r.Open(); r.More(); {
		off := r.Offset()
		switch key := r.Key(); {
		case string(key) == "discriminant" && !hasDisc:
			hasDisc = true
			if e := r.discriminant(f, v); e != nil {
				return e
			}
		case string(key) == "arm" && !hasArm:
			hasArm = true
			if !hasDisc {
				skipped, arm = true, r.Place()
				r.Skip()
			} else if e := r.arm(f, v); e != nil {
				return e
			}
		case string(key) == "discriminant", string(key) == "arm":
			return r.twice(off, key)
		default:
			return r.fault(off, `found the key %s, expected the keys "discriminant" and "arm"`, jsontext.Quote(key))
		}
	}
	after := r.Place()
	switch {
	case !hasDisc:
		r.Return(object)
		return r.mismatch(f, want)
	case skipped:
		r.Return(arm)
		if e := r.arm(f, v); e != nil {
			return e
		}
		r.Return(after)
	case !hasArm:
		if i, _ := f.desc.Arm(word(v.Field(f.desc.Switch))); i >= 0 {
			r.Return(object)
			return r.fault(r.Offset(), "found no arm, expected %s for discriminant %s", f.fields[i].name, discriminant(f, v))
		}
	}
	return nil
}

// discriminant reads the discriminant, which must have an arm.
func (r reader) discriminant(f *form, v reflect.Value) *Error {
	d, off := &f.fields[f.desc.Switch], r.Offset()
	if e := r.value(d.form, v.Field(f.desc.Switch)); e != nil {
		return e.at("." + d.name)
	}
	if _, ok := f.desc.Arm(word(v.Field(f.desc.Switch))); !ok {
		e := r.fault(off, "found discriminant %s, for which %s has no arm", discriminant(f, v), f.word)
		e.Rule = "RFC 4506 §4.15"
		return e.at("." + d.name)
	}
	return nil
}

// arm reads the arm that the discriminant selects.
func (r reader) arm(f *form, v reflect.Value) *Error {
	i, _ := f.desc.Arm(word(v.Field(f.desc.Switch)))
	if i < 0 {
		return r.fault(r.Offset(), "found an arm, but the discriminant %s selects void", discriminant(f, v))
	}
	arm := v.Field(i)
	if f.fields[i].pointer {
		arm.Set(reflect.New(arm.Type().Elem()))
		arm = arm.Elem()
	}
	return r.value(f.fields[i].form, arm).at("." + f.fields[i].name)
}

// discriminant returns the discriminant of a union as JSON.
func discriminant(f *form, v reflect.Value) string {
	w := writer{}
	w.value(f.fields[f.desc.Switch].form, v.Field(f.desc.Switch))
	return string(w.out)
}
