package dynamic

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// Message describes a message that consists of several values: a header, a body, an RPC
// message, and arguments or results. The earlier values determine the types of the later ones,
// so that the type of a message depends on its bytes.
type Message struct {
	Header   *ir.Type       // type of the header; nil if there is none
	Path     string         // of the number in Header that selects the body; empty for no body
	Codes    []ir.CodePoint // types of the body by number
	RPC      *ir.Type       // rpc_msg if an RPC message follows, else nil
	Programs []*ir.Decl     // programs that declare the arguments of calls
	Result   *ir.Type       // result of the procedure that a reply answers; nil if not known
}

// HeaderType is the code space whose code points select the body of a message.
const HeaderType = "header-type"

// Type returns the type of the message in data: a struct with the fields header, body, rpc,
// and args or result, as far as they are present. The field payload has the words for which
// there is no type. An error means that Path is wrong; Type does not report faults in the
// data, which Decode finds.
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

// messageReader decodes the values of a message one after the other.
type messageReader struct {
	data   []byte // not yet decoded
	limits Limits
	fields []*ir.Field
	ended  bool // the last field takes the rest of the data, or is faulty
}

// open reports whether more values can be decoded.
func (r *messageReader) open() bool { return !r.ended && len(r.data) > 0 }

func (r *messageReader) add(name string, t *ir.Type) {
	r.fields = append(r.fields, &ir.Field{Name: name, Type: t})
}

// decode adds a field and decodes its value. It returns nil if the value is faulty.
func (r *messageReader) decode(name string, t *ir.Type) *Value {
	r.add(name, t)
	v, err := Decode(r.data, t, r.limits)
	if err != nil {
		r.ended = true
		return nil
	}
	r.data = r.data[v.Length:]
	return v
}

// last adds a field whose value takes the rest of the data.
func (r *messageReader) last(name string, t *ir.Type) {
	r.add(name, t)
	r.ended = true
}

// header decodes the header, and the body that a number in it selects.
func (m *Message) header(r *messageReader) error {
	head := r.decode("header", m.Header)
	if head == nil || m.Path == "" {
		return nil
	}
	v := head.find(m.Path)
	if v == nil {
		return fmt.Errorf("%s has no field %s", m.Header.Spell(), m.Path)
	}
	switch t := v.Type.Underlying(); {
	case t.Kind == ir.Uint, t.Kind == ir.Int, t.Kind == ir.Ref && t.Ref.Kind == ir.Enum:
	default:
		return fmt.Errorf("field %s of %s is %s, expected a 32-bit number", m.Path, m.Header.Spell(), v.Type.Spell())
	}
	for _, c := range m.Codes {
		if c.Space == HeaderType && c.Value == uint32(v.Word) {
			if c.Decl != nil {
				r.decode("body", typeOf(c.Decl))
			}
			return nil
		}
	}
	return nil
}

// rpc decodes an RPC message (RFC 5531 §9), and adds the arguments or results that follow it.
func (m *Message) rpc(r *messageReader) {
	v := r.decode("rpc", m.RPC)
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

// args returns the type of the arguments of a procedure, or nil if it is not declared.
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

// find returns the value at a path of names below v, or nil if there is none.
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

// Programs returns the programs of a unit and of the units that it imports.
func Programs(u *ir.Unit) []*ir.Decl {
	var out []*ir.Decl
	for _, d := range u.AllDecls() {
		if d.Kind == ir.Program {
			out = append(out, d)
		}
	}
	return out
}
