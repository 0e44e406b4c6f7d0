package decode

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Brief returns a value on one line of at most about width characters, for people. Strings are
// quoted, with escapes for what a terminal obeys; opaque data are shown by their length.
func Brief(v *dynamic.Value, width int) string {
	b := brief{left: width}
	b.value(v)
	if b.left <= 0 {
		return string([]rune(b.String())[:width]) + "..."
	}
	return b.String()
}

// brief writes until nothing is left of its width.
type brief struct {
	strings.Builder
	left int
}

func (b *brief) text(s string) {
	if b.left > 0 {
		b.WriteString(s)
		b.left -= len([]rune(s))
	}
}

// value writes as much of a value as there is room for.
func (b *brief) value(v *dynamic.Value) {
	if b.left <= 0 {
		return
	}
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Opaque: // perhaps not all is there
		b.text(fmt.Sprintf("%d bytes", v.Word))
	case ir.String:
		b.text(quote(v.Bytes, b.left))
	case ir.Ref:
		if t.Ref.Kind == ir.Union {
			b.union(v)
		} else if t.Ref.Kind == ir.Struct {
			b.list("{", v.Items, "}")
		} else {
			b.number(v)
		}
	case ir.FixedArray, ir.Array, ir.ListOf, ir.ListHead:
		b.list("[", v.Items, "]")
	case ir.Optional:
		if len(v.Items) == 0 {
			b.text("none")
		} else {
			b.value(v.Items[0])
		}
	default:
		b.number(v)
	}
}

// number writes a value without parts, and the name of its number.
func (b *brief) number(v *dynamic.Value) {
	if v.Member != nil {
		b.text(v.Member.Name)
		return
	}
	b.text(dynamic.Text(v))
}

// union writes the discriminant and the arm.
func (b *brief) union(v *dynamic.Value) {
	for i, item := range v.Items {
		if i > 0 {
			b.text(" ")
		}
		b.value(item)
	}
}

// list writes fields or elements between brackets.
func (b *brief) list(open string, items []*dynamic.Value, end string) {
	b.text(open)
	for i, item := range items {
		if b.left <= 0 {
			return
		}
		if i > 0 {
			b.text(", ")
		}
		if item.Name != "" && item.Index < 0 {
			b.text(item.Name + ": ")
		}
		b.value(item)
	}
	b.text(end)
}

// quote returns the beginning of a string in quotes.
func quote(s []byte, width int) string {
	more := len(s) > width
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range string(s[:min(len(s), width)]) {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == unicode.ReplacementChar || r != ' ' && !unicode.IsGraphic(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	if b.WriteByte('"'); more {
		b.WriteString("...")
	}
	return b.String()
}
