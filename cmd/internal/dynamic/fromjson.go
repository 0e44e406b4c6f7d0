package dynamic

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/jsontext"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// ParseJSON parses a value of type t in JSON form. Offsets in the tree and in its [*Error] refer to
// the text. ParseJSON does not check bounds, enumerators given by number, and missing arms; Encode
// does.
//
// If key is not empty, the text is an object, and the value is its member with that name.
func ParseJSON(text []byte, t *ir.Type, key string, l Limits) (*Value, error) {
	n, e := parseText(text)
	if e != nil {
		return nil, e
	}
	if key != "" {
		inner := (*node)(nil)
		if n.is(jsontext.Object) {
			inner = n.get(key)
		}
		if inner == nil {
			return nil, jsonError(n.off, "found %s, expected an object with the key %q", n.what(), key)
		}
		n = inner
	}
	p := jsonParser{index: newIndex(), limits: l}
	root := &Value{Index: -1, Type: t}
	if e := p.value(root, n); e != nil {
		return nil, e
	}
	return root, nil
}

// jsonParser is the state of one ParseJSON.
type jsonParser struct {
	index
	limits Limits
	values int
	chain  []*Value
}

func (p *jsonParser) fault(n *node, format string, args ...any) *Error {
	e := jsonError(n.off, format, args...)
	e.Path = pathOf(p.chain)
	return e
}

// mismatch returns an error for a JSON value that does not fit the type of the current value.
func (p *jsonParser) mismatch(n *node, want string) *Error {
	t := p.chain[len(p.chain)-1].Type
	return p.fault(n, "found %s, expected %s for %s", n.what(), want, t.Spell())
}

func (p *jsonParser) child(v *Value, name string, index int, t *ir.Type, n *node) *Error {
	c := &Value{Name: name, Index: index, Type: t}
	v.Items = append(v.Items, c)
	return p.value(c, n)
}

func (p *jsonParser) value(v *Value, n *node) *Error {
	p.chain = append(p.chain, v)
	v.Offset = n.off
	defer func() { p.chain = p.chain[:len(p.chain)-1] }()
	if p.values++; p.values > p.limits.values() {
		e := p.fault(n, "found more than %d values", p.limits.values())
		e.Code = Memory
		return e
	}
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Bool:
		if n.is(jsontext.True) {
			v.Word = 1
		} else if !n.is(jsontext.False) {
			return p.mismatch(n, "true or false")
		}
		return nil
	case ir.Int, ir.Uint, ir.Hyper, ir.Uhyper:
		return p.integer(v, n, t.Kind)
	case ir.Float:
		return p.float(v, n, 32)
	case ir.Double:
		return p.float(v, n, 64)
	case ir.Quad, ir.FixedOpaque, ir.Opaque:
		return p.bytes(v, n, "hex", "a string of hex digits, two per byte,")
	case ir.String:
		return p.bytes(v, n, "text", `a string, or {"hex": "..."},`)
	case ir.FixedArray, ir.Array:
		return p.elements(v, n, t.Elem)
	case ir.ListOf, ir.ListHead:
		return p.elements(v, n, p.node(t.Ref))
	case ir.Optional:
		return p.optional(v, n, t)
	}
	switch t.Ref.Kind {
	case ir.Enum:
		return p.enum(v, n, t.Ref)
	case ir.Union:
		return p.union(v, n, t.Ref)
	}
	return p.structure(v, n, t.Ref)
}

func (p *jsonParser) integer(v *Value, n *node, k ir.Kind) *Error {
	switch {
	case n.is(jsontext.Number):
	case !n.is(jsontext.String):
		return p.mismatch(n, "an integer")
	case k == ir.Int || k == ir.Uint:
		return p.mismatch(n, "a number")
	}
	digits := string(n.text)
	var err error
	switch k {
	case ir.Int:
		var i int64
		i, err = strconv.ParseInt(digits, 10, 32)
		v.Word = uint64(i)
	case ir.Hyper:
		var i int64
		i, err = strconv.ParseInt(digits, 10, 64)
		v.Word = uint64(i)
	case ir.Uint:
		v.Word, err = strconv.ParseUint(digits, 10, 32)
	case ir.Uhyper:
		v.Word, err = strconv.ParseUint(digits, 10, 64)
	}
	if err != nil {
		return p.mismatch(n, "an integer in range")
	}
	return nil
}

func (p *jsonParser) float(v *Value, n *node, size int) *Error {
	var f float64
	var err error
	switch tok := string(n.text); n.kind {
	case jsontext.Number:
		f, err = strconv.ParseFloat(tok, size)
	case jsontext.String:
		if bits, ok := strings.CutPrefix(tok, "NaN:"); ok {
			v.Word, err = strconv.ParseUint(bits, 16, size)
			if err == nil && isNaN(v.Word, size) {
				return nil
			}
			return p.mismatch(n, fmt.Sprintf(`"NaN:" and the bits of one in %d hex digits`, size/4))
		}
		switch tok {
		case "NaN":
			v.Word = 0x7fc00000
			if size == 64 {
				v.Word = 0x7ff8000000000000
			}
			return nil
		case "Infinity":
			f = math.Inf(1)
		case "-Infinity":
			f = math.Inf(-1)
		default:
			return p.mismatch(n, `a number, "NaN", "Infinity" or "-Infinity"`)
		}
	default:
		return p.mismatch(n, "a number")
	}
	if err != nil {
		return p.mismatch(n, "a number in range")
	}
	v.Word = math.Float64bits(f)
	if size == 32 {
		v.Word = uint64(math.Float32bits(float32(f)))
	}
	return nil
}

func isNaN(bits uint64, size int) bool {
	if size == 32 {
		return math.IsNaN(float64(math.Float32frombits(uint32(bits))))
	}
	return math.IsNaN(math.Float64frombits(bits))
}

// bytes parses opaque data or a string: a JSON string in the usual form of the type, or an
// object whose single key names the form.
func (p *jsonParser) bytes(v *Value, n *node, form, want string) *Error {
	inner := n
	if n.is(jsontext.Object) && len(n.keys) == 1 {
		form, inner = n.keys[0], n.items[0]
	}
	b, err := unform(form, string(inner.text))
	if !inner.is(jsontext.String) || err != nil {
		return p.mismatch(n, want)
	}
	v.Bytes = b
	return nil
}

// unform decodes a string in the given form.
func unform(form, s string) ([]byte, error) {
	switch form {
	case "text":
		return []byte(s), nil
	case "hex":
		return hex.DecodeString(s)
	case "base64":
		return base64.StdEncoding.DecodeString(s)
	}
	return nil, fmt.Errorf("unknown form %q", form)
}

func (p *jsonParser) elements(v *Value, n *node, elem *ir.Type) *Error {
	if !n.is(jsontext.Array) {
		return p.mismatch(n, "an array")
	}
	for i, item := range n.items {
		if e := p.child(v, "", i, elem, item); e != nil {
			return e
		}
	}
	return nil
}

func (p *jsonParser) optional(v *Value, n *node, t *ir.Type) *Error {
	if n.is(jsontext.Null) {
		return nil
	}
	if nullable(t.Elem) {
		inner := n.get("value")
		if inner == nil || len(n.keys) != 1 {
			return p.mismatch(n, `null or {"value": ...}`)
		}
		n = inner
	}
	return p.child(v, "", -1, t.Elem, n)
}

func (p *jsonParser) enum(v *Value, n *node, d *ir.Decl) *Error {
	if !n.is(jsontext.String) {
		if e := p.integer(v, n, ir.Int); e != nil {
			return p.mismatch(n, "the name of a member")
		}
		v.Member = p.member(d, int32(v.Word))
		return nil
	}
	s := string(n.text)
	if m := p.named(d, s); m != nil {
		v.Word, v.Member = uint64(int64(m.Value)), m
		return nil
	}
	var names []string
	for _, m := range d.Members {
		names = append(names, m.Name)
	}
	return p.unknown(n, s, names, "a member of enum "+d.Name)
}

// unknown returns an error for a name that is not one of names. It proposes the nearest one.
func (p *jsonParser) unknown(n *node, name string, names []string, want string) *Error {
	e := p.fault(n, "found %s, expected %s", jsontext.Quote([]byte(name)), want)
	if near, ok := spelling.Nearest(name, names); ok {
		e.Note = "did you mean " + near + "?"
	}
	return e
}

func (p *jsonParser) union(v *Value, n *node, d *ir.Decl) *Error {
	disc := n.get("discriminant")
	if disc == nil {
		return p.mismatch(n, `{"discriminant": ..., "arm": ...}`)
	}
	if e := p.child(v, d.Disc.Name, -1, d.Disc.Type, disc); e != nil {
		return e
	}
	for i, k := range n.keys {
		if k != "discriminant" && k != "arm" {
			return p.unknown(n.items[i], k, []string{"discriminant", "arm"}, `the keys "discriminant" and "arm"`)
		}
	}
	arm := n.get("arm")
	v.Arm = p.arm(d, v.Items[0])
	switch {
	case v.Arm == nil:
		return nil // Encode reports it
	case v.Arm.Field == nil && arm != nil:
		return p.fault(arm, "found an arm, but the discriminant %s selects void", discText(v.Items[0]))
	case v.Arm.Field == nil:
		return nil
	case arm == nil:
		return p.fault(n, "found no arm, expected %s of type %s for discriminant %s", v.Arm.Field.Name, v.Arm.Field.Type.Spell(), discText(v.Items[0]))
	}
	return p.child(v, v.Arm.Field.Name, -1, v.Arm.Field.Type, arm)
}

func (p *jsonParser) structure(v *Value, n *node, d *ir.Decl) *Error {
	if !n.is(jsontext.Object) {
		return p.mismatch(n, "an object")
	}
	fields := fieldsOf(d)
	have := make(map[string]*node, len(n.keys))
	for i, k := range n.keys {
		have[k] = n.items[i]
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
		if have[f.Name] == nil {
			e := p.fault(n, "field %s of %s is missing", f.Name, d.Name)
			if near, ok := misspelt(n, fields, f.Name); ok {
				e.Note = fmt.Sprintf("found %s; did you mean %s?", jsontext.Quote([]byte(near)), f.Name)
			} else if nullable(f.Type) {
				e.Note = "write null if it is absent"
			}
			return e
		}
		if e := p.child(v, f.Name, -1, f.Type, have[f.Name]); e != nil {
			return e
		}
		delete(have, f.Name)
	}
	for i, k := range n.keys {
		if have[k] != nil {
			return p.unknown(n.items[i], k, names, "a field of "+d.Name)
		}
	}
	return nil
}

// misspelt returns the key of an object that is not the name of a field, and is most similar to
// name.
func misspelt(n *node, fields []*ir.Field, name string) (string, bool) {
	others := slices.DeleteFunc(slices.Clone(n.keys), func(k string) bool {
		return slices.ContainsFunc(fields, func(f *ir.Field) bool { return f.Name == k })
	})
	return spelling.Nearest(name, others)
}
