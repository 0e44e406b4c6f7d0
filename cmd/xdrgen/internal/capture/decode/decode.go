package decode

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
)

// Decoder decodes calls.
type Decoder struct {
	RPC   *ir.Type       // rpc_msg of RFC 5531
	Unit  *ir.Unit       // declares the programs; nil for none
	Codes *dynamic.Codes // nil for none

	procedures map[number]*dynamic.Procedure
	programs   map[uint32]string
}

type number struct{ program, version, procedure uint32 }

// Message is a decoded message.
type Message struct {
	Data   []byte         // with the items of its write chunks, as far as the capture has them
	Root   *dynamic.Value // nil if there is no message
	Faults []*dynamic.Error
	Values *dynamic.Value // the arguments or results; nil if they are faulty or have no type
	Part   *dynamic.Value // as much of them as was decoded
}

// Call is a decoded call.
type Call struct {
	*capture.Call
	Name        string             // PROGRAM.VERSION.PROCEDURE; numbers where the unit has no name
	Procedure   *dynamic.Procedure // nil if the unit does not declare it
	Args, Reply Message
	Notes       []string // from the capture, and why values are not decoded
}

// Faulty reports whether a message breaks a rule of XDR.
func (c *Call) Faulty() bool { return len(c.Args.Faults)+len(c.Reply.Faults) > 0 }

// Find returns the procedure with these numbers, or nil.
func (d *Decoder) Find(program, version, procedure uint32) *dynamic.Procedure {
	if d.procedures == nil {
		d.procedures, d.programs = map[number]*dynamic.Procedure{}, map[uint32]string{}
		if d.Unit != nil {
			for _, p := range dynamic.Programs(d.Unit) {
				d.add(p)
			}
		}
	}
	return d.procedures[number{program, version, procedure}]
}

// add adds the procedures of a program. The unit's own programs come first.
func (d *Decoder) add(p *ir.Decl) {
	if d.programs[p.Program.Number] == "" {
		d.programs[p.Program.Number] = p.Name
	}
	for _, v := range p.Program.Versions {
		for _, proc := range v.Procs {
			n := number{p.Program.Number, v.Number, proc.Number}
			if d.procedures[n] == nil {
				d.procedures[n] = &dynamic.Procedure{Program: p, Version: v, Proc: proc}
			}
		}
	}
}

// Decode decodes the messages of a call.
func (d *Decoder) Decode(c *capture.Call) *Call {
	out := &Call{Call: c, Notes: c.Notes, Name: "unknown procedure"}
	if c.HasCall {
		out.Procedure = d.Find(c.Program, c.Version, c.Procedure)
		program := d.programs[c.Program]
		if program == "" {
			program = fmt.Sprint(c.Program)
		}
		out.Name = fmt.Sprintf("%s.%d.%d", program, c.Version, c.Procedure)
	}
	if out.Procedure != nil {
		out.Name = out.Procedure.String()
	}
	wrapped := d.gss(out)
	if c.HasCall {
		var t *ir.Type
		if out.Procedure != nil && wrapped != unusable {
			t = out.Procedure.Args()
		}
		if out.Args = d.message(c.Message, c.Args, "args", t, wrapped); c.Cut {
			out.Args.Faults = nil // a note names the missing part
		}
	}
	if len(c.Reply) > 0 {
		var t *ir.Type
		if out.Procedure != nil && wrapped != unusable && c.Status.Success {
			t = out.Procedure.Result()
		}
		d.reply(out, t, wrapped)
	}
	return out
}

// message decodes the header of an RPC message and the values after it, of type t if that is not
// nil.
func (d *Decoder) message(data []byte, at int, name string, t *ir.Type, wrapped wrapping) Message {
	m := Message{Data: data}
	limits := dynamic.Limits{Values: max(1<<20, len(data)/2)}
	head, err := dynamic.Decode(data[:at], d.RPC, limits)
	head.Name = "rpc"
	m.Root = &dynamic.Value{Index: -1, Type: messageType, Items: []*dynamic.Value{head}, Length: head.Length}
	if m.fault(err, 0, "rpc") {
		return m
	}
	if t == nil {
		m.undecoded(data, at)
		return m
	}
	to := len(data)
	if wrapped == checked {
		var ok bool
		if at, to, ok = m.open(data, at, name); !ok {
			return m
		}
	}
	v, err := dynamic.DecodeAll(data[at:to], t, limits)
	shift(v, at)
	v.Name = name
	m.Root.Items, m.Root.Length, m.Part = append(m.Root.Items, v), at+v.Length, v
	if m.fault(err, at, name) {
		return m
	}
	m.Values = v
	if d.Codes != nil {
		m.Faults = append(m.Faults, d.Codes.Annotate(v, data, limits)...)
	}
	if wrapped == checked {
		m.close(data, to)
	}
	return m
}

// messageType is the type of a message, whose parts are fields.
var messageType = &ir.Type{Kind: ir.Ref, Ref: &ir.Decl{Kind: ir.Struct, Name: "message"}}

// fault adds the fault of a value that begins at an offset.
func (m *Message) fault(err error, at int, name string) bool {
	var f *dynamic.Error
	if !errors.As(err, &f) {
		return false
	}
	f.Offset += at
	if f.Path == "" {
		f.Path = name
	} else {
		f.Path = name + "." + f.Path
	}
	m.Faults = append(m.Faults, f)
	return true
}

// undecoded adds the bytes after an offset as a value.
func (m *Message) undecoded(data []byte, at int) {
	if n := len(data) - at; n > 0 {
		m.Root.Items = append(m.Root.Items, &dynamic.Value{
			Name: "payload", Index: -1, Type: &ir.Type{Kind: ir.FixedOpaque, Len: uint64(n)}, Offset: at, Length: n, Bytes: data[at:],
		})
		m.Root.Length = len(data)
	}
}

// shift moves the values of a tree, which was decoded by itself, to their place in a message.
func shift(v *dynamic.Value, by int) {
	v.Offset += by
	for _, item := range v.Items {
		shift(item, by)
	}
}

// reply decodes a reply, whose results are of type t if that is not nil, and puts the items of its
// write chunks back.
func (d *Decoder) reply(c *Call, t *ir.Type, wrapped wrapping) {
	data, at := c.Call.Reply, c.Call.Results
	from := 0 // offset in the results after the item that was put back last
	for i, chunk := range c.Chunks {
		if t == nil || chunk.Length == 0 || wrapped == checked { // a checksum leaves no chunks
			continue
		}
		v, _ := dynamic.Decode(data[at:], t, dynamic.Limits{Values: max(1<<20, len(data)/2)})
		item := reduced(v, from, chunk.Length)
		if item == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("write chunk %d of %d bytes fits no item of the results", i+1, chunk.Length))
			break
		}
		place, n := at+item.Offset+4, int(item.Word)
		if chunk.Data == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("the capture lacks write chunk %d, %d bytes of %s: results decoded up to there", i+1, chunk.Length, item.Name))
			c.Reply = d.message(data[:place], at, "result", t, wrapped)
			c.Reply.Faults = nil
			return
		}
		whole := make([]byte, 0, len(data)+n+3)
		whole = append(append(whole, data[:place]...), chunk.Data[:n]...)
		whole = append(whole, make([]byte, -n&3)...)
		from = len(whole) - at
		data = append(whole, data[place:]...)
	}
	c.Reply = d.message(data, at, "result", t, wrapped)
}

// reduced returns the first opaque data or string at or after an offset with a length, or nil. The
// length may include padding (RFC 8166 §3.4.6.2).
func reduced(v *dynamic.Value, from int, length uint64) *dynamic.Value {
	switch v.Type.Underlying().Kind {
	case ir.Opaque, ir.String:
		if v.Offset >= from && (v.Word == length || (v.Word+3)&^3 == length) {
			return v
		}
	}
	for _, item := range v.Items {
		if found := reduced(item, from, length); found != nil {
			return found
		}
	}
	return nil
}
