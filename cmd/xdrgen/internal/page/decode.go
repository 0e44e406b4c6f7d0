package page

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/form"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

// DataOptions are bytes, and what they are.
type DataOptions struct {
	Text  string `json:"text"`  // the bytes as hex or base64
	Form  string `json:"form"`  // hex or base64; any other word lets the text decide
	Kind  string `json:"kind"`  // type, rpc or message
	Type  string `json:"type"`  // of kind type; of kind message, the struct that it begins with
	Reply string `json:"reply"` // of kind rpc: the procedure that a reply answers; may be empty
	From  int    `json:"from"`  // first item that is wanted, from 0
}

const (
	maxItems = 1000     // in an answer
	maxShown = 16 << 10 // bytes in an answer
	maxText  = 200      // bytes in an item's text
)

// Decoded is the answer about bytes.
type Decoded struct {
	Failure string  `json:"failure,omitempty"` // why nothing was decoded
	Form    string  `json:"form"`              // that the text has
	Length  int     `json:"length"`            // bytes of the whole data
	Items   []Item  `json:"items"`             // at most 1000, from From on
	From    int     `json:"from"`
	Total   int     `json:"total"` // items of the whole data
	Start   int     `json:"start"` // offset of Bytes
	Bytes   []byte  `json:"bytes"` // of the items, at most 16 KiB
	Faults  []Fault `json:"faults,omitempty"`
	Rest    int     `json:"rest"` // bytes at the end that were not decoded
}

// Item is a number, a count, a presence word, or opaque data with its padding. Each byte that was
// decoded is in one item.
type Item struct {
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	Path   string `json:"path"` // empty for the value itself
	Role   string `json:"role"` // of package dynamic
	Type   string `json:"type"` // as XDR spells it
	Text   string `json:"text"` // its value, for people
}

// Fault is a fault in the bytes.
type Fault struct {
	Offset  int    `json:"offset"`
	Length  int    `json:"length"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Rule    string `json:"rule"`
	Note    string `json:"note,omitempty"`
}

// Decode decodes bytes by a type of a unit. RPC messages need no unit.
func (s *Session) Decode(u Unit, o DataOptions) Decoded {
	out := Decoded{Items: []Item{}, Bytes: []byte{}}
	if strings.TrimSpace(o.Text) == "" {
		return out
	}
	data, err := out.bytes(o)
	if err != nil {
		out.Failure = err.Error()
		return out
	}
	out.Length = len(data)
	root, codes, fault, err := s.decode(u, o, data)
	if err != nil {
		out.Failure = err.Error()
		return out
	}
	for _, f := range codes.Annotate(root, data, message.Limits(data)) {
		out.fault(f)
	}
	out.items(root, o.From)
	out.shown(data)
	if fault != nil {
		out.fault(fault)
	}
	out.Rest = len(data) - root.Length
	return out
}

// bytes returns the bytes that the text stands for.
func (d *Decoded) bytes(o DataOptions) ([]byte, error) {
	d.Form = o.Form
	if d.Form != "hex" && d.Form != "base64" {
		d.Form = form.Guess([]byte(o.Text))
	}
	if d.Form == "raw" {
		return nil, errors.New("found text that is neither hex nor base64, or not whole words of 4 bytes: choose its form, and the fault is named")
	}
	data, err := form.Decode([]byte(o.Text), d.Form)
	if err != nil {
		return nil, fmt.Errorf("the bytes are not valid %s: %w", d.Form, err)
	}
	return data, nil
}

// decode decodes data. Its error says why it did not begin.
func (s *Session) decode(u Unit, o DataOptions, data []byte) (*dynamic.Value, *dynamic.Codes, *dynamic.Error, error) {
	r := &sema.Result{}
	codes := dynamic.NewCodes()
	if strings.TrimSpace(u.Text) != "" {
		var err error
		if r, err = s.compile(u); err != nil {
			return nil, nil, nil, errors.New("the bytes are decoded when the findings above are mended")
		}
		if r.Unit == nil {
			return nil, nil, nil, errors.New("the bytes are decoded when the interface has no errors")
		}
		codes = dynamic.NewCodes(message.Sidecars(r)...)
	}
	root, err := decodeAs(r, codes, o, data)
	var fault *dynamic.Error
	if errors.As(err, &fault) {
		err = nil
	}
	return root, codes, fault, err
}

// decodeAs decodes data as what the options say.
func decodeAs(r *sema.Result, codes *dynamic.Codes, o DataOptions, data []byte) (*dynamic.Value, error) {
	m := &dynamic.Message{Codes: codes}
	var err error
	switch {
	case o.Kind == "rpc":
		if m.RPC, err = message.RPC(); err != nil {
			return nil, err
		}
		if r.Unit == nil {
			break
		}
		m.Programs = dynamic.Programs(r.Unit)
		if o.Reply != "" {
			if m.Result, err = dynamic.Find(r.Unit, o.Reply+".result"); err != nil {
				return nil, err
			}
		}
	case r.Unit == nil:
		return nil, errors.New("without an interface, bytes can only be an RPC message")
	case o.Kind == "message":
		if m.Prefix, err = message.Prefix(r, o.Type); err != nil {
			return nil, err
		}
	default:
		t, err := dynamic.Find(r.Unit, o.Type)
		if err != nil {
			return nil, err
		}
		return dynamic.DecodeAll(data, t, message.Limits(data))
	}
	return m.DecodeAll(data, message.Limits(data))
}

// items adds the items from number from on, and counts all.
func (d *Decoded) items(root *dynamic.Value, from int) {
	d.From = max(0, from)
	for r := range dynamic.Rows(root) {
		if d.Total >= d.From && len(d.Items) < maxItems {
			d.Items = append(d.Items, Item{r.Offset, r.Length, r.Path, string(r.Role), r.Type.Spell(), short(r.Text)})
		}
		d.Total++
	}
}

// short returns a text that is cut if it is long.
func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}

// shown adds the bytes of the items, and those after the last item if the list has it.
func (d *Decoded) shown(data []byte) {
	end := len(data)
	if n := len(d.Items); n > 0 {
		d.Start = d.Items[0].Offset
		if d.From+n < d.Total {
			end = d.Items[n-1].Offset + d.Items[n-1].Length
		}
	}
	d.Bytes = data[d.Start:min(end, d.Start+maxShown)]
}

func (d *Decoded) fault(f *dynamic.Error) {
	if len(d.Faults) < maxErrors {
		d.Faults = append(d.Faults, Fault{f.Offset, f.Length, f.Path, f.Message, f.Rule(), f.Note})
	}
}
