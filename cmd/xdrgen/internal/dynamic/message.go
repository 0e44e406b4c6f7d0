package dynamic

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// Message says of which values a message is made, one after the other. What
// comes later depends on what stands before it, so that only the bytes say
// which type a message has.
type Message struct {
	Header   *ir.Type       // the first value; nil for none
	Path     string         // of the number in Header that selects the next value; empty for none
	Codes    []ir.CodePoint // which type a number selects
	RPC      *ir.Type       // rpc_msg, where an RPC message follows; nil for none
	Programs []*ir.Decl     // whose procedures say what the arguments of a call are
	Result   *ir.Type       // of the procedure that a reply answers; nil where it is not known
}

// HeaderType is the space of the code points that select the body of a message.
const HeaderType = "header-type"

// Type returns the type of the message in data: a struct of header, body, rpc
// and args or result. Words for which there is no type are its payload. An error
// is about Path; faults in the data are for Decode to find.
func (m *Message) Type(data []byte, l Limits) (*ir.Type, error) {
	r := messageReader{data: data, limits: l}
	if m.Header != nil {
		if err := m.header(&r); err != nil {
			return nil, err
		}
	}
	if m.RPC != nil && r.open() {
		m.rpc(&r)
	}
	if n := len(r.data); r.open() && n%4 == 0 {
		r.add("payload", &ir.Type{Kind: ir.FixedOpaque, Len: uint64(n)})
	}
	return &ir.Type{Kind: ir.Ref, Ref: &ir.Decl{Kind: ir.Struct, Name: "message", Fields: r.fields}}, nil
}

// messageReader takes the values of a message from the front of its bytes.
type messageReader struct {
	data   []byte // what is left
	limits Limits
	fields []*ir.Field
	ended  bool // the last field takes all that is left, or is at fault
}

func (r *messageReader) open() bool { return !r.ended && len(r.data) > 0 }

func (r *messageReader) add(name string, t *ir.Type) {
	r.fields = append(r.fields, &ir.Field{Name: name, Type: t})
}

// take reads one value, nil where it is at fault.
func (r *messageReader) take(name string, t *ir.Type) *Value {
	r.add(name, t)
	v, err := Decode(r.data, t, r.limits)
	if err != nil {
		r.ended = true
		return nil
	}
	r.data = r.data[v.Length:]
	return v
}

// last adds the value that takes the rest.
func (r *messageReader) last(name string, t *ir.Type) {
	r.add(name, t)
	r.ended = true
}

// header takes the header and the body that its number selects.
func (m *Message) header(r *messageReader) error {
	head := r.take("header", m.Header)
	if head == nil || m.Path == "" {
		return nil
	}
	v := head.find(m.Path)
	if v == nil {
		return fmt.Errorf("%s has no field %s", TypeName(m.Header), m.Path)
	}
	switch t := v.Type.Underlying(); {
	case t.Kind == ir.Uint, t.Kind == ir.Int, t.Kind == ir.Ref && t.Ref.Kind == ir.Enum:
	default:
		return fmt.Errorf("field %s of %s is %s, expected a number of 32 bits", m.Path, TypeName(m.Header), TypeName(v.Type))
	}
	for _, c := range m.Codes {
		if c.Space == HeaderType && c.Value == uint32(v.Word) {
			if c.Decl != nil {
				r.take("body", typeOf(c.Decl))
			}
			return nil
		}
	}
	return nil
}

// rpc takes an RPC message (RFC 5531 §9) and what follows it: arguments, or
// results.
func (m *Message) rpc(r *messageReader) {
	v := r.take("rpc", m.RPC)
	if v == nil || len(r.data) == 0 && v.find("body.cbody") == nil {
		return
	}
	if call := v.find("body.cbody"); call != nil {
		number := func(name string) uint32 { return uint32(call.find(name).Word) }
		if t := m.args(number("prog"), number("vers"), number("proc")); t != nil {
			r.last("args", t)
		}
		return
	}
	if stat := v.find("body.rbody.areply.reply_data.stat"); stat != nil && stat.Word == 0 && m.Result != nil {
		r.last("result", m.Result) // RFC 5531 §9: SUCCESS
	}
}

// args returns the type of the arguments of a procedure, nil for one that is not
// declared.
func (m *Message) args(prog, vers, proc uint32) *ir.Type {
	for _, d := range m.Programs {
		if d.Program.Number != prog {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				if v.Number == vers && p.Number == proc {
					return argsOf(p, strings.Join([]string{d.Name, v.Name, p.Name, "args"}, "."))
				}
			}
		}
	}
	return nil
}

// find returns the value at a path of names below v, nil where there is none.
func (v *Value) find(path string) *Value {
	for name := range strings.SplitSeq(path, ".") {
		var next *Value
		for _, item := range v.Items {
			if item.Name == name {
				next = item
			}
		}
		if next == nil {
			return nil
		}
		v = next
	}
	return v
}

// Programs returns the programs of a unit and of what it imports.
func Programs(u *ir.Unit) []*ir.Decl {
	var out []*ir.Decl
	for _, d := range declarations(u) {
		if d.Kind == ir.Program {
			out = append(out, d)
		}
	}
	return out
}
