package dynamic

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Decode decodes one value of type t from the start of data. The tree refers to data; the
// Length of its root is the number of bytes decoded. If there is a fault, Decode returns an
// [*Error], and the tree has the values before the fault.
func Decode(data []byte, t *ir.Type, l Limits) (*Value, error) {
	d := newDecoder(data, l)
	root := &Value{Index: -1, Type: t}
	if f := d.value(root); f != nil {
		return root, f
	}
	return root, nil
}

// DecodeAll is Decode, but bytes after the value are a fault.
func DecodeAll(data []byte, t *ir.Type, l Limits) (*Value, error) {
	root, err := Decode(data, t, l)
	if n := root.Length; err == nil && n < len(data) {
		err = &Error{
			Code: Trailing, Offset: n, Length: len(data) - n,
			Message: fmt.Sprintf("found %s after the value, expected the end", plural(len(data)-n, "byte")),
		}
	}
	return root, err
}

// decoder is the state of one Decode.
type decoder struct {
	index
	data   []byte
	off    int
	limits Limits
	values int
	depth  int
	chain  []*Value // from the root to the current value
	end    string   // where data ends, for messages
	claim  string   // a note on the first count for which the input is too short; empty if none
}

func newDecoder(data []byte, l Limits) decoder {
	return decoder{index: newIndex(), data: data, limits: l, end: "the end of the input"}
}

// fault returns an error for the current value.
func (d *decoder) fault(code Code, off, length int, format string, args ...any) *Error {
	return &Error{Code: code, Path: pathOf(d.chain), Offset: off, Length: length, Message: fmt.Sprintf(format, args...)}
}

// short returns an error if the input has fewer than n more bytes.
func (d *decoder) short(n uint64) *Error {
	left := uint64(len(d.data) - d.off)
	if n <= left {
		return nil
	}
	e := d.fault(Short, d.off, int(left), "found %s before %s, expected %d", plural(int(left), "byte"), d.end, n)
	e.Note = d.claim
	return e
}

func (d *decoder) word() (uint32, *Error) {
	if e := d.short(4); e != nil {
		return 0, e
	}
	d.off += 4
	return binary.BigEndian.Uint32(d.data[d.off-4:]), nil
}

// child decodes the next item of v and appends it. It drops the item if decoding failed before the
// first byte.
func (d *decoder) child(v *Value, name string, index int, t *ir.Type) *Error {
	c := &Value{Name: name, Index: index, Type: t}
	v.Items = append(v.Items, c)
	e := d.value(c)
	if e != nil && c.Length == 0 && len(c.Items) == 0 {
		v.Items = v.Items[:len(v.Items)-1]
	}
	return e
}

// value decodes v by its type. After a fault, d.off is the offset of the faulty bytes.
func (d *decoder) value(v *Value) *Error {
	d.chain = append(d.chain, v)
	v.Offset = d.off
	e := d.limited(v)
	v.Length = d.off - v.Offset
	d.chain = d.chain[:len(d.chain)-1]
	return e
}

// limited decodes v after checking the limits.
func (d *decoder) limited(v *Value) *Error {
	if d.values++; d.values > d.limits.values() {
		return d.fault(Memory, d.off, 0, "found more than %d values", d.limits.values())
	}
	u := v.Type.Underlying()
	if recursive(v.Type) || recursive(u) {
		if d.depth++; d.depth > d.limits.depth() {
			return d.fault(Depth, d.off, 0, "nested deeper than %d", d.limits.depth())
		}
		defer func() { d.depth-- }()
	}
	return d.underlying(v, u)
}

// recursive reports whether a type refers to a declaration that contains itself.
func recursive(t *ir.Type) bool { return t.Ref != nil && t.Ref.Recursive }

// underlying decodes v by t, which is not a typedef.
func (d *decoder) underlying(v *Value, t *ir.Type) *Error {
	switch t.Kind {
	case ir.Bool:
		return d.bool(v)
	case ir.Int, ir.Uint, ir.Float:
		n, e := d.word()
		v.Word = uint64(n)
		if t.Kind == ir.Int {
			v.Word = uint64(int64(int32(n)))
		}
		return e
	case ir.Hyper, ir.Uhyper, ir.Double:
		if e := d.short(8); e != nil {
			return e
		}
		v.Word = binary.BigEndian.Uint64(d.data[d.off:])
		d.off += 8
		return nil
	case ir.Quad:
		return d.bytes(v, 16)
	case ir.FixedOpaque:
		return d.bytes(v, t.Len)
	case ir.Opaque, ir.String:
		return d.opaque(v, t)
	case ir.FixedArray:
		return d.elements(v, t.Elem, t.Len)
	case ir.Array:
		return d.array(v, t)
	case ir.Optional:
		ok, e := d.present()
		if e != nil || !ok {
			return e
		}
		v.Word = 1
		return d.child(v, "", -1, t.Elem)
	case ir.ListOf:
		return d.list(v, t.Ref, false)
	case ir.ListHead:
		return d.list(v, t.Ref, true)
	}
	switch t.Ref.Kind {
	case ir.Enum:
		return d.enum(v, t.Ref)
	case ir.Union:
		return d.union(v, t.Ref)
	}
	for _, f := range fieldsOf(t.Ref) {
		if e := d.child(v, f.Name, -1, f.Type); e != nil {
			return e
		}
	}
	return nil
}

// bool decodes a boolean.
func (d *decoder) bool(v *Value) *Error {
	ok, e := d.present()
	if ok {
		v.Word = 1
	}
	return e
}

// present decodes a boolean or presence word.
// RFC 4506 §4.4: a boolean is 0 or 1.
func (d *decoder) present() (bool, *Error) {
	n, e := d.word()
	if e == nil && n > 1 {
		d.off -= 4
		return false, d.fault(Bool, d.off, 4, "found %d (%#x), expected 0 or 1", n, n)
	}
	return n == 1, e
}

func (d *decoder) enum(v *Value, decl *ir.Decl) *Error {
	n, e := d.word()
	if e != nil {
		return e
	}
	v.Word = uint64(int64(int32(n)))
	v.Member = d.member(decl, int32(n))
	if v.Member == nil && !decl.Open {
		d.off -= 4
		return d.fault(Enum, d.off, 4, "found %d, which is not a member of enum %s", int32(n), decl.Name)
	}
	return nil
}

func (d *decoder) union(v *Value, decl *ir.Decl) *Error {
	if e := d.child(v, decl.Disc.Name, -1, decl.Disc.Type); e != nil {
		return e
	}
	disc := v.Items[0]
	if v.Arm = d.arm(decl, disc); v.Arm == nil {
		d.chain = append(d.chain, disc)
		defer func() { d.chain = d.chain[:len(d.chain)-1] }()
		return d.fault(Union, disc.Offset, 4, "found %s, for which union %s has no arm", discText(disc), decl.Name)
	}
	if v.Arm.Field == nil {
		return nil
	}
	return d.child(v, v.Arm.Field.Name, -1, v.Arm.Field.Type)
}

// bytes decodes n bytes of opaque data and the padding.
func (d *decoder) bytes(v *Value, n uint64) *Error {
	if e := d.short((n + 3) &^ 3); e != nil {
		return e
	}
	end := d.off + int(n)
	for i := end; i%4 != d.off%4; i++ {
		if d.data[i] != 0 { // RFC 4506 §3: residual bytes are zero
			return d.fault(Padding, i, 1, "found padding byte %#02x, expected 0", d.data[i])
		}
	}
	v.Bytes = d.data[d.off:end:end]
	d.off += int((n + 3) &^ 3)
	return nil
}

// count decodes the count of opaque data, a string or an array. what names the counted things.
func (d *decoder) count(t *ir.Type, what string) (uint64, *Error) {
	n, e := d.word()
	if e != nil {
		return 0, e
	}
	if t.Bounded && uint64(n) > t.Max {
		d.off -= 4
		return 0, d.fault(Bound, d.off, 4, "found a count of %d %s, expected at most %d", n, what, t.Max)
	}
	return uint64(n), nil
}

func (d *decoder) opaque(v *Value, t *ir.Type) *Error {
	n, e := d.count(t, "bytes")
	if e != nil {
		return e
	}
	v.Word = n
	return d.bytes(v, n)
}

func (d *decoder) array(v *Value, t *ir.Type) *Error {
	n, e := d.count(t, "elements")
	if e != nil {
		return e
	}
	v.Word = n
	if least, left := t.Elem.Size.Min, uint64(len(d.data)-d.off); d.claim == "" && least > 0 && n > left/least {
		d.claim = fmt.Sprintf("the count at offset %d announces %d elements of at least %d bytes each", d.off-4, n, least)
	}
	return d.elements(v, t.Elem, n)
}

func (d *decoder) elements(v *Value, elem *ir.Type, n uint64) *Error {
	for i := uint64(0); i < n; i++ {
		if e := d.child(v, "", int(i), elem); e != nil {
			return e
		}
	}
	return nil
}

// list decodes a linked list (RFC 4506 §4.19). If head is set, the first element is not
// optional and has no presence word.
func (d *decoder) list(v *Value, decl *ir.Decl, head bool) *Error {
	for i := 0; ; i++ {
		if i > 0 || !head {
			v.Word = 0
			if ok, e := d.present(); e != nil || !ok {
				return e
			}
			v.Word = 1
		}
		if e := d.child(v, "", i, d.node(decl)); e != nil {
			return e
		}
	}
}
