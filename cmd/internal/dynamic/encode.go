package dynamic

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Encode returns the XDR of a tree. It checks the same rules as Decode. Its [*Error] has the
// offset of the faulty value in the JSON text from which the tree was read.
func Encode(root *Value) ([]byte, error) {
	e := encoder{index: newIndex()}
	if f := e.value(root); f != nil {
		return nil, f
	}
	return e.out, nil
}

// encoder is the state of one Encode.
type encoder struct {
	index
	out   []byte
	chain []*Value
}

func (e *encoder) fault(code Code, format string, args ...any) *Error {
	last := e.chain[len(e.chain)-1]
	return &Error{Code: code, Path: pathOf(e.chain), Offset: last.Offset, Message: fmt.Sprintf(format, args...)}
}

func (e *encoder) word(n uint32) { e.out = binary.BigEndian.AppendUint32(e.out, n) }

func (e *encoder) value(v *Value) *Error {
	e.chain = append(e.chain, v)
	f := e.underlying(v, v.Type.Underlying())
	e.chain = e.chain[:len(e.chain)-1]
	return f
}

func (e *encoder) items(v *Value) *Error {
	for _, c := range v.Items {
		if f := e.value(c); f != nil {
			return f
		}
	}
	return nil
}

func (e *encoder) underlying(v *Value, t *ir.Type) *Error {
	switch t.Kind {
	case ir.Bool, ir.Int, ir.Uint, ir.Float:
		e.word(uint32(v.Word))
		return nil
	case ir.Hyper, ir.Uhyper, ir.Double:
		e.out = binary.BigEndian.AppendUint64(e.out, v.Word)
		return nil
	case ir.Quad:
		return e.fixed(v, 16)
	case ir.FixedOpaque:
		return e.fixed(v, t.Len)
	case ir.Opaque, ir.String:
		if f := e.bound(t, len(v.Bytes), "bytes"); f != nil {
			return f
		}
		e.word(uint32(len(v.Bytes)))
		e.bytes(v.Bytes)
		return nil
	case ir.FixedArray:
		if n := uint64(len(v.Items)); n != t.Len {
			return e.fault(Bound, "found %d elements, expected %d", n, t.Len)
		}
		return e.items(v)
	case ir.Array:
		if f := e.bound(t, len(v.Items), "elements"); f != nil {
			return f
		}
		e.word(uint32(len(v.Items)))
		return e.items(v)
	case ir.Optional:
		e.word(uint32(len(v.Items)))
		return e.items(v)
	case ir.ListOf, ir.ListHead:
		return e.list(v, t.Kind == ir.ListHead)
	}
	switch t.Ref.Kind {
	case ir.Enum:
		return e.enum(v, t.Ref)
	case ir.Union:
		return e.union(v, t.Ref)
	}
	return e.items(v)
}

func (e *encoder) fixed(v *Value, n uint64) *Error {
	if uint64(len(v.Bytes)) != n {
		return e.fault(Bound, "found %s, expected %d", plural(len(v.Bytes), "byte"), n)
	}
	e.bytes(v.Bytes)
	return nil
}

func (e *encoder) bytes(b []byte) {
	e.out = append(e.out, b...)
	e.out = append(e.out, make([]byte, -len(b)&3)...)
}

func (e *encoder) bound(t *ir.Type, n int, what string) *Error {
	most := uint64(1<<32 - 1)
	if t.Bounded {
		most = t.Max
	}
	if uint64(n) > most {
		return e.fault(Bound, "found %d %s, expected at most %d", n, what, most)
	}
	return nil
}

func (e *encoder) enum(v *Value, decl *ir.Decl) *Error {
	if e.member(decl, int32(v.Word)) == nil && !decl.Open {
		return e.fault(Enum, "found %d, which is not a member of enum %s", int32(v.Word), decl.Name)
	}
	e.word(uint32(v.Word))
	return nil
}

func (e *encoder) union(v *Value, decl *ir.Decl) *Error {
	disc := v.Items[0]
	if e.arm(decl, disc) == nil {
		return e.fault(Union, "found discriminant %s, for which union %s has no arm", discText(disc), decl.Name)
	}
	return e.items(v)
}

func (e *encoder) list(v *Value, head bool) *Error {
	if head && len(v.Items) == 0 {
		return e.fault(Empty, "found an empty list, expected at least one element")
	}
	for i, c := range v.Items {
		if i > 0 || !head {
			e.word(1)
		}
		if f := e.value(c); f != nil {
			return f
		}
	}
	e.word(0)
	return nil
}
