package dynamic

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// AppendJSON appends the JSON form of a tree, on one line. The tree is a result of Decode or
// ParseJSON without error.
func AppendJSON(b []byte, v *Value) []byte {
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Bool:
		return strconv.AppendBool(b, v.Word == 1)
	case ir.Int:
		return strconv.AppendInt(b, int64(v.Word), 10)
	case ir.Uint:
		return strconv.AppendUint(b, v.Word, 10)
	case ir.Hyper:
		return append(strconv.AppendInt(append(b, '"'), int64(v.Word), 10), '"')
	case ir.Uhyper:
		return append(strconv.AppendUint(append(b, '"'), v.Word, 10), '"')
	case ir.Float:
		f := math.Float32frombits(uint32(v.Word))
		return appendFloat(b, float64(f), 32, v.Word, 0x7fc00000)
	case ir.Double:
		return appendFloat(b, math.Float64frombits(v.Word), 64, v.Word, 0x7ff8000000000000)
	case ir.Quad, ir.FixedOpaque, ir.Opaque:
		return appendHex(b, v.Bytes)
	case ir.String:
		if !utf8.Valid(v.Bytes) {
			return append(appendHex(append(b, `{"hex":`...), v.Bytes), '}')
		}
		return jsontext.AppendString(b, v.Bytes)
	case ir.FixedArray, ir.Array, ir.ListOf, ir.ListHead:
		b = append(b, '[')
		for i, c := range v.Items {
			b = AppendJSON(comma(b, i), c)
		}
		return append(b, ']')
	case ir.Optional:
		return appendOptional(b, v, t)
	}
	switch t.Ref.Kind {
	case ir.Enum:
		if v.Member != nil {
			return jsontext.AppendString(b, []byte(v.Member.Name))
		}
		return strconv.AppendInt(b, int64(v.Word), 10)
	case ir.Union:
		b = AppendJSON(append(b, `{"discriminant":`...), v.Items[0])
		if len(v.Items) > 1 {
			b = AppendJSON(append(b, `,"arm":`...), v.Items[1])
		}
		return append(b, '}')
	}
	b = append(b, '{')
	for i, c := range v.Items {
		b = AppendJSON(append(jsontext.AppendString(comma(b, i), []byte(c.Name)), ':'), c)
	}
	return append(b, '}')
}

// PrintableJSON returns the JSON of a value for a terminal: see jsontext.Printable.
func PrintableJSON(v *Value) []byte { return jsontext.Printable(AppendJSON(nil, v)) }

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendOptional(b []byte, v *Value, t *ir.Type) []byte {
	switch {
	case len(v.Items) == 0:
		return append(b, "null"...)
	case nullable(t.Elem):
		return append(AppendJSON(append(b, `{"value":`...), v.Items[0]), '}')
	}
	return AppendJSON(b, v.Items[0])
}

// nullable reports whether a value of type t can be null in JSON.
func nullable(t *ir.Type) bool { return t.Underlying().Kind == ir.Optional }

func appendFloat(b []byte, f float64, size int, bits, nan uint64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	case math.IsNaN(f) && bits == nan:
		return append(b, `"NaN"`...)
	case math.IsNaN(f):
		return fmt.Appendf(b, `"NaN:%0*x"`, size/4, bits)
	}
	return strconv.AppendFloat(b, f, 'g', -1, size)
}

func appendHex(b, data []byte) []byte {
	return append(hex.AppendEncode(append(b, '"'), data), '"')
}
