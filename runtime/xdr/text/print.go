package text

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/runtime/xdr/internal/describe"
)

// The limits of the text.
const (
	maxText     = 4096 // bytes of the whole
	maxOpaque   = 32   // bytes of opaque data
	maxString   = 128  // bytes of a string
	maxElements = 8    // elements of an array or list
	maxDepth    = 200  // values in each other

	usual = 256 // bytes of most texts
)

// cut stands for the part that is not printed.
const cut = ".."

// String returns the value that v points to as text. The tag describes it: it is the tag of a
// struct field, with the name of the type (see package describe). Only the names of structs and
// unions are printed.
func String(v any, tag string) string {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !value.IsValid() {
		return "<nil>"
	}
	t := describe.Parse(tag)
	var p printer
	p.out.Grow(usual)
	if value.Kind() == reflect.Struct {
		if s := describe.Of(value.Type()); !s.Optional && !s.Whole {
			p.write(t.Name)
		}
	}
	p.value(value, &t)
	return p.out.String()
}

// printer prints a value. It stops at maxText bytes.
type printer struct {
	out   strings.Builder
	full  bool // the output was cut
	depth int
}

// write appends s, or as much of it as there is space for.
func (p *printer) write(s string) {
	part := fitting(p, s)
	p.out.WriteString(part)
	p.end(len(part) < len(s))
}

// append appends b, or as much of it as there is space for.
func (p *printer) append(b []byte) {
	part := fitting(p, b)
	p.out.Write(part)
	p.end(len(part) < len(b))
}

// fitting returns the part of s for which there is space, in whole characters.
func fitting[T string | []byte](p *printer, s T) T {
	if p.full {
		return s[:0]
	}
	n := min(len(s), maxText-len(cut)-p.out.Len())
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// end closes the output if something did not fit.
func (p *printer) end(short bool) {
	if short && !p.full {
		p.out.WriteString(cut)
		p.full = true
	}
}

// value prints a value that a tag describes.
func (p *printer) value(v reflect.Value, t *describe.Tag) {
	if p.full || p.depth == maxDepth {
		p.write(cut)
		return
	}
	p.depth++
	p.content(v, t)
	p.depth--
}

// content prints a value by its kind.
func (p *printer) content(v reflect.Value, t *describe.Tag) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			p.write("absent")
			return
		}
		p.value(v.Elem(), t)
	case reflect.Struct:
		p.structure(v, t)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			p.bytes(v, t.Text)
			return
		}
		p.list(v, t)
	default:
		p.scalar(v)
	}
}

// structure prints a struct, a union or optional data.
func (p *printer) structure(v reflect.Value, t *describe.Tag) {
	s := describe.Of(v.Type())
	switch {
	case s.Optional && !v.Field(1).Bool():
		p.write("absent")
	case s.Optional:
		p.value(v.Field(0), t)
	case s.Whole:
		p.value(v.Field(0), &s.Fields[0])
	case s.Switch >= 0:
		p.union(v, s)
	default:
		p.write("{")
		for i := range s.Fields {
			if p.full {
				return
			}
			p.field(v, s, i, i == 0)
		}
		p.write("}")
	}
}

// union prints the discriminant of a union and the arm that it selects, if there is one.
func (p *printer) union(v reflect.Value, s *describe.Struct) {
	p.write("{")
	p.field(v, s, s.Switch, true)
	if i, ok := s.Arm(number(v.Field(s.Switch))); ok && i >= 0 {
		p.field(v, s, i, false)
	}
	p.write("}")
}

// field prints the name and the value of a field.
func (p *printer) field(v reflect.Value, s *describe.Struct, i int, first bool) {
	if !first {
		p.write(", ")
	}
	t := &s.Fields[i]
	p.write(t.Name)
	p.write(": ")
	if f := v.Field(i); t.Pointer && f.Kind() == reflect.Pointer && f.IsNil() {
		p.write("nil") // the encoder refuses it
	} else {
		p.value(f, t)
	}
}

// list prints the first elements of an array or list, and the number of others.
func (p *printer) list(v reflect.Value, t *describe.Tag) {
	p.write("[")
	for i := range min(v.Len(), maxElements) {
		if i > 0 {
			p.write(", ")
		}
		p.value(v.Index(i), t)
	}
	if more := v.Len() - maxElements; more > 0 {
		p.write(", ")
		p.int(int64(more))
		p.write(" more")
	}
	p.write("]")
}
