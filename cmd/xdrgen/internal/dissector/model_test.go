package dissector_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// shown has values by the names of their fields in Wireshark, in order.
type shown map[string][]string

func (s shown) add(name, format string, args ...any) {
	s[name] = append(s[name], fmt.Sprintf(format, args...))
}

// value adds a value of xdrgen dump, as Wireshark is to show it. name is the name of the field.
func (s shown) value(unit, name string, v *dynamic.Value) {
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Array, ir.FixedArray, ir.ListOf, ir.ListHead:
		s.add(name+".count", "%d", len(v.Items))
		s.items(unit, name+nested(t.Elem), v)
	case ir.Optional:
		s.add(name+".present", "%d", len(v.Items))
		s.items(unit, name+nested(t.Elem), v)
	case ir.FixedOpaque, ir.Opaque, ir.Quad, ir.String:
		if t.Kind != ir.FixedOpaque || t.Len > 0 {
			s.bytes(name, v, t.Kind == ir.String)
		}
	case ir.Bool, ir.Int, ir.Hyper:
		s.add(name, "%d", int64(v.Word))
	case ir.Uint:
		s.add(name, "%d", v.Word)
	case ir.Uhyper:
		s.add(name, "%d", v.Word)
	case ir.Float:
		s.add(name, "%g", math.Float32frombits(uint32(v.Word)))
	case ir.Double:
		s.add(name, "%g", math.Float64frombits(v.Word))
	default:
		if t.Ref.Kind == ir.Enum {
			s.add(name, "%d", int64(v.Word))
			return
		}
		s.add(name, "")
		for _, f := range v.Items {
			s.value(unit, unit+"."+t.Ref.Name+"."+f.Name, f)
			s.inner(unit, v, f)
		}
	}
}

// inner adds the value in opaque data. The number in another field of the struct selects its type.
func (s shown) inner(unit string, v, data *dynamic.Value) {
	for _, f := range v.Items {
		if n := f.Number; data.Inner != nil && n != nil && n.Space != ir.SpaceFlag && !n.Unknown {
			s.value(unit, unit+"."+n.Space+"."+n.Names[0], data.Inner)
		}
	}
}

// nested returns what the name of an array in an array has at its end.
func nested(elem *ir.Type) string {
	if elem != nil {
		for elem.Kind == ir.Ref && elem.Ref.Kind == ir.Typedef {
			elem = elem.Ref.Type
		}
		switch elem.Kind {
		case ir.Array, ir.FixedArray, ir.ListOf, ir.ListHead, ir.Optional:
			return ".item"
		}
	}
	return ""
}

func (s shown) items(unit, name string, v *dynamic.Value) {
	for _, e := range v.Items {
		s.value(unit, name, e)
	}
}

func (s shown) bytes(name string, v *dynamic.Value, text bool) {
	if text {
		s.add(name, "%s", v.Bytes)
		return
	}
	var octets []string
	for _, b := range v.Bytes {
		octets = append(octets, hex.EncodeToString([]byte{b}))
	}
	s.add(name, "%s", strings.Join(octets, ":"))
}

// plain returns a value of tshark in the form of the model: numbers in decimal, as short as can be.
func plain(v string) string {
	switch {
	case v == "True":
		return "1"
	case v == "False":
		return "0"
	case strings.HasPrefix(v, "0x"):
		n, _ := strconv.ParseUint(v, 0, 64)
		return strconv.FormatUint(n, 10)
	}
	return v
}

// same reports whether two values are equal, or floating-point numbers as near as tshark prints.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && strings.ContainsAny(a+b, ".eEnN") && (math.Abs(x-y) <= math.Abs(x)*1e-5 || x != x && y != y)
}

// compare compares the fields that Wireshark shows with the fields in the model.
func compare(t *testing.T, what string, got map[string][]string, want shown, prefix string) int {
	t.Helper()
	n := 0
	for name, values := range want {
		for i, v := range values {
			n++
			if i >= len(got[name]) || !same(v, plain(got[name][i])) {
				t.Errorf("%s: %s is %q in Wireshark, %q in dump", what, name, got[name], values)
				break
			}
		}
		if len(got[name]) > len(values) {
			t.Errorf("%s: %s is %q in Wireshark, %q in dump", what, name, got[name], values)
		}
	}
	for name, values := range got {
		if strings.HasPrefix(name, prefix+".") && !strings.HasPrefix(name, prefix+".rpc.") && want[name] == nil {
			t.Errorf("%s: dump does not have %s, which is %q in Wireshark", what, name, values)
		}
	}
	return n
}
