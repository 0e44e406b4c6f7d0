package dynamic

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Role is the role of a [Row] within the value at its path.
type Role string

// The roles of rows. All except Data and Rest are words that the encoding adds.
const (
	Data    Role = "value"
	Count   Role = "count"   // of bytes or elements
	Present Role = "present" // optional data, or another element of a list, follows
	Absent  Role = "absent"  // optional data is absent
	End     Role = "end"     // end of a list
	Rest    Role = "rest"    // bytes that are not decoded because of a fault in opaque data
)

// Row is one item of XDR: a number, a count, or opaque data with its padding.
type Row struct {
	Offset, Length int
	Path           string
	Role           Role
	Type           *ir.Type // of Value
	Value          *Value   // the value at Path
	Text           string   // for people: "OP_READ (1)", "3 elements"
	Fault          *Error   // of role Rest: the fault
}

// Rows returns all items of a tree in order of offset. Each byte that Decode decoded is in
// exactly one of them, even if there was a fault.
func Rows(root *Value) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		w := rowWalk{yield: yield}
		w.value(root)
	}
}

type rowWalk struct {
	yield func(Row) bool
	chain []*Value
}

func (w *rowWalk) row(v *Value, off, length int, role Role, format string, args ...any) bool {
	return w.yield(Row{Offset: off, Length: length, Path: pathOf(w.chain), Role: role, Type: v.Type, Value: v, Text: fmt.Sprintf(format, args...)})
}

// value yields the rows of v. It returns false if the caller wants no more.
func (w *rowWalk) value(v *Value) bool {
	w.chain = append(w.chain, v)
	defer func() { w.chain = w.chain[:len(w.chain)-1] }()
	t := v.Type.Underlying()
	switch {
	case v.Length == 0:
		return true
	case t.Kind == ir.Opaque || t.Kind == ir.String:
		return w.opaque(v)
	case t.Kind == ir.Array:
		return w.row(v, v.Offset, 4, Count, "%s", plural(int(v.Word), "element")) && w.items(v)
	case t.Kind == ir.Optional:
		role := Present
		if v.Word == 0 {
			role = Absent
		}
		return w.row(v, v.Offset, 4, role, "%s", role) && w.items(v)
	case t.Kind == ir.ListOf || t.Kind == ir.ListHead:
		return w.list(v)
	case t.Kind == ir.FixedArray, t.Kind == ir.Ref && t.Ref.Kind != ir.Enum:
		return w.items(v)
	}
	return w.row(v, v.Offset, v.Length, Data, "%s", Text(v))
}

// opaque yields the count before opaque data or a string, then the bytes or the value in them.
func (w *rowWalk) opaque(v *Value) bool {
	count := plural(int(v.Word), "byte")
	if v.Default {
		count += ", the default value"
	}
	if !w.row(v, v.Offset, 4, Count, "%s", count) {
		return false
	}
	at, end := v.Offset+4, v.Offset+v.Length
	if v.Inner == nil && v.Fault == nil {
		return at == end || w.row(v, at, end-at, Data, "%s", Text(v))
	}
	if v.Inner != nil {
		if !w.value(v.Inner) {
			return false
		}
		at += v.Inner.Length
	}
	return v.Fault == nil ||
		w.yield(Row{Offset: at, Length: end - at, Path: pathOf(w.chain), Role: Rest, Type: v.Type, Value: v, Fault: v.Fault})
}

func (w *rowWalk) items(v *Value) bool {
	for _, c := range v.Items {
		if !w.value(c) {
			return false
		}
	}
	return true
}

// list yields the elements of a list, and the presence words before and after them.
func (w *rowWalk) list(v *Value) bool {
	at := v.Offset
	for i, c := range v.Items {
		if c.Offset > at && !w.row(v, at, 4, Present, "element %d follows", i) {
			return false
		}
		if !w.value(c) {
			return false
		}
		at = c.Offset + c.Length
	}
	if at == v.Offset+v.Length {
		return true
	}
	if v.Word == 1 { // the element after the presence word is faulty
		return w.row(v, at, 4, Present, "element %d follows", len(v.Items))
	}
	return w.row(v, at, 4, End, "end of list")
}

// plural returns a number with a noun, in the plural if needed.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Text returns a number, an enum member, a string or the length of opaque data, for people.
func Text(v *Value) string {
	if v.Number != nil && v.Member == nil {
		return v.Number.text(v)
	}
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Bool:
		if v.Word == 1 {
			return "TRUE"
		}
		return "FALSE"
	case ir.Int, ir.Hyper:
		return strconv.FormatInt(int64(v.Word), 10)
	case ir.Uint, ir.Uhyper:
		if isXID(v) {
			return fmt.Sprintf("0x%08x", v.Word)
		}
		return strconv.FormatUint(v.Word, 10)
	case ir.Float:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v.Word))), 'g', -1, 32)
	case ir.Double:
		return strconv.FormatFloat(math.Float64frombits(v.Word), 'g', -1, 64)
	case ir.String:
		return strconv.Quote(string(cut(v.Bytes, 64)))
	case ir.Quad, ir.FixedOpaque, ir.Opaque:
		return plural(len(v.Bytes), "byte")
	}
	if enumOf(t) == nil {
		return ""
	}
	return discText(v)
}

// isXID reports whether an unsigned integer is a transaction ID, such as xid of RFC 5531 and
// rdma_xid of RFC 8166. Other tools show them in hexadecimal.
func isXID(v *Value) bool {
	return v.Type.Underlying().Kind == ir.Uint && (v.Name == "xid" || strings.HasSuffix(v.Name, "_xid"))
}

// discText returns a discriminant in words: an enumerator with its number, a boolean, or a
// number.
func discText(v *Value) string {
	if v.Member != nil {
		return fmt.Sprintf("%s (%d)", v.Member.Name, v.Member.Value)
	}
	if k := v.Type.Underlying().Kind; k == ir.Uint {
		return strconv.FormatUint(v.Word, 10)
	} else if k == ir.Bool {
		return Text(v)
	}
	return strconv.FormatInt(int64(v.Word), 10)
}

// cut returns at most the first n bytes of b, without splitting a character.
func cut(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}
