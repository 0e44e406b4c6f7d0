package dynamic

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Message describes a message that consists of several values: a prefix or header, a body, an
// RPC message, and arguments or results. The earlier values determine the types of the later
// ones.
type Message struct {
	Header   *ir.Type    // type of a header; nil without a header
	Prefix   *ir.Message // the prefix, whose number selects the body; nil without a prefix
	Codes    *Codes      // types for the body and the data after it; not nil if Prefix is not
	RPC      *ir.Type    // rpc_msg if the payload is an RPC message, else nil
	Programs []*ir.Decl  // programs that declare the arguments of calls
	Result   *ir.Type    // result of the procedure that a reply answers; nil if not known
}

// messageType is the type of a message. Its fields are prefix or header, body, data, rpc, and
// args or result, as far as they are present. The data of an error follow the body. The field
// payload has bytes for which there is no type, and undecoded those after a prefix whose header
// type is unknown.
var messageType = &ir.Type{Kind: ir.Ref, Ref: &ir.Decl{Kind: ir.Struct, Name: "message"}}

// Decode decodes a message from the start of data. It returns what function Decode returns.
func (m *Message) Decode(data []byte, l Limits) (*Value, error) {
	root, f := m.decode(data, l)
	if f != nil {
		return root, f
	}
	return root, nil
}

// DecodeAll is Decode, but bytes after the message are a fault.
func (m *Message) DecodeAll(data []byte, l Limits) (*Value, error) {
	root, f := m.decode(data, l)
	if n := root.Length; f == nil && n < len(data) {
		f = &Error{
			Code: Trailing, Offset: n, Length: len(data) - n,
			Message: fmt.Sprintf("found %s after the message, expected the end", plural(len(data)-n, "byte")),
		}
		if p := m.headerType(root); p != nil && !p.Payload {
			f.Note = fmt.Sprintf("a payload follows only header types with a payload line in the sidecar, and %s has none", p.Const)
		}
	}
	if f != nil {
		return root, f
	}
	return root, nil
}

// headerType returns the code point that the prefix of a message selects, or nil.
func (m *Message) headerType(root *Value) *ir.CodePoint {
	if m.Prefix == nil {
		return nil
	}
	if v := root.find("prefix." + strings.Join(m.Prefix.Path, ".")); v != nil && v.Length > 0 {
		return m.Codes.Point(ir.SpaceHeaderType, uint32(v.Word))
	}
	return nil
}

func (m *Message) decode(data []byte, l Limits) (*Value, *Error) {
	r := messageReader{decoder: newDecoder(data, l), root: &Value{Index: -1, Type: messageType}}
	r.chain = []*Value{r.root}
	f := m.parts(&r)
	r.root.Length = r.off
	return r.root, f
}

// messageReader decodes the values of a message one after the other.
type messageReader struct {
	decoder
	root *Value
}

// left returns the number of bytes that are not decoded yet.
func (r *messageReader) left() int { return len(r.data) - r.off }

// next decodes the next value of the message.
func (r *messageReader) next(name string, t *ir.Type) (*Value, *Error) {
	if f := r.child(r.root, name, -1, t); f != nil {
		return nil, f
	}
	return r.root.Items[len(r.root.Items)-1], nil
}

// bytes adds the bytes that are left as one value.
func (r *messageReader) bytes(name string) {
	n := r.left()
	if n == 0 {
		return
	}
	r.root.Items = append(r.root.Items, &Value{
		Name: name, Index: -1, Type: &ir.Type{Kind: ir.FixedOpaque, Len: uint64(n)}, Offset: r.off, Length: n, Bytes: r.data[r.off:],
	})
	r.off += n
}

// parts decodes the values of a message.
func (m *Message) parts(r *messageReader) *Error {
	switch {
	case m.Prefix != nil:
		if f := m.typed(r); f != nil {
			return f
		}
		p := m.headerType(r.root)
		if p == nil {
			r.bytes("undecoded")
		}
		if p == nil || !p.Payload {
			return nil
		}
	case m.Header != nil:
		if _, f := r.next("header", m.Header); f != nil {
			return f
		}
	}
	if m.RPC != nil && r.left() > 0 {
		if ended, f := m.rpc(r); ended || f != nil {
			return f
		}
	}
	if m.Prefix != nil || r.left()%4 == 0 {
		r.bytes("payload")
	}
	return nil
}

// typed decodes the prefix, the body that its number selects, and the data of an error.
func (m *Message) typed(r *messageReader) *Error {
	if _, f := r.next("prefix", typeOf(m.Prefix.Decl)); f != nil {
		return f
	}
	p := m.headerType(r.root)
	if p == nil || p.Decl == nil {
		return nil
	}
	body, f := r.next("body", typeOf(p.Decl))
	if f != nil {
		return f
	}
	if p = m.Codes.after(body); p != nil {
		_, f = r.next("data", typeOf(p.Decl))
	}
	return f
}

// rpc decodes an RPC message (RFC 5531 §9), and the arguments or results that follow it. It
// reports whether the message ends there.
func (m *Message) rpc(r *messageReader) (ended bool, f *Error) {
	v, f := r.next("rpc", m.RPC)
	if f != nil {
		return true, f
	}
	call := v.find("body.cbody")
	if r.left() == 0 && call == nil {
		return false, nil
	}
	if call != nil {
		number := func(name string) uint32 { return uint32(call.find(name).Word) }
		if t := m.args(number("prog"), number("vers"), number("proc")); t != nil {
			_, f = r.next("args", t)
			return true, f
		}
		return false, nil
	}
	if stat := v.find("body.rbody.areply.reply_data.stat"); stat != nil && stat.Word == 0 && m.Result != nil {
		_, f = r.next("result", m.Result) // RFC 5531 §9: SUCCESS
		return true, f
	}
	return false, nil
}

// args returns the argument type of a procedure, or nil if the procedure is not declared.
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

// SharedPrograms returns an error if two imports, and not the unit itself, declare a version of one
// program: a Call would have two meanings.
func SharedPrograms(u *ir.Unit) error {
	type version struct{ program, version uint32 }
	seen := map[version]*ir.Decl{}
	for _, d := range Programs(u) { // the unit's own are first
		for _, v := range d.Program.Versions {
			k := version{d.Program.Number, v.Number}
			switch old := seen[k]; {
			case old == nil:
				seen[k] = d
			case old.Import != nil && old.Import != d.Import:
				return fmt.Errorf("programs %s/%s and %s/%s both have the number %d and a version %d: include one of the units",
					old.Import.Unit, old.Name, unitOf(u, d), d.Name, k.program, k.version)
			}
		}
	}
	return nil
}

// find returns the value at a path of names below v, or nil if v does not have it.
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

// Programs returns the programs in a unit and in the units that it imports.
func Programs(u *ir.Unit) []*ir.Decl {
	var out []*ir.Decl
	for _, d := range u.AllDecls() {
		if d.Kind == ir.Program {
			out = append(out, d)
		}
	}
	return out
}
