package text

import (
	"encoding/hex"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// scalar prints a number, a boolean or an enumerator.
func (p *printer) scalar(v reflect.Value) {
	if v.CanInterface() && v.Type().NumMethod() > 0 {
		if s, ok := stringer(v); ok {
			p.write(s.String()) // an enum
			return
		}
	}
	var room [32]byte
	switch v.Kind() {
	case reflect.Bool:
		p.append(strconv.AppendBool(room[:0], v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.append(strconv.AppendUint(room[:0], v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		p.append(strconv.AppendFloat(room[:0], v.Float(), 'g', -1, v.Type().Bits()))
	default: // no type that is generated
		p.write(v.Kind().String())
	}
}

// stringer returns the String method of a value, if it has one. It copies the value only if it has
// to.
func stringer(v reflect.Value) (s interface{ String() string }, ok bool) {
	if v.CanAddr() {
		s, ok = v.Addr().Interface().(interface{ String() string })
	}
	if !ok {
		s, ok = v.Interface().(interface{ String() string })
	}
	return s, ok
}

func (p *printer) int(n int64) {
	var room [32]byte
	p.append(strconv.AppendInt(room[:0], n, 10))
}

// number returns the number that a discriminant stands for, or 0 if its type cannot be a
// discriminant.
func number(v reflect.Value) int64 {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(v.Uint())
	case v.Kind() == reflect.Bool && v.Bool():
		return 1
	}
	return 0
}

// bytes prints the beginning of a string or opaque data.
func (p *printer) bytes(v reflect.Value, text bool) {
	b, n := front(v), v.Len()
	if !text || n > maxString {
		p.int(int64(n))
		p.write(" bytes")
	}
	switch {
	case text && n > maxString:
		p.write(" ")
		p.quote(wholeRunes(b), cut)
	case text:
		p.quote(b, "")
	case n > 0:
		p.write(" ")
		var room [2 * maxOpaque]byte
		k := hex.Encode(room[:], b[:min(n, maxOpaque)])
		p.append(room[:k])
		if n > maxOpaque {
			p.write(cut)
		}
	}
}

// quote prints text in quotes, and rest after it, within the quotes.
func (p *printer) quote(b []byte, rest string) {
	var room [maxString + 32]byte
	q := strconv.AppendQuote(room[:0], string(b))
	p.append(q[:len(q)-1])
	p.write(rest)
	p.write(`"`)
}

// front returns the first bytes of a slice or array of bytes, maxString at most.
func front(v reflect.Value) []byte {
	n := min(v.Len(), maxString)
	if v.Kind() == reflect.Slice || v.CanAddr() {
		return v.Bytes()[:n]
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v.Index(i).Uint())
	}
	return b
}

// wholeRunes returns b without the part of a character that it ends with.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
