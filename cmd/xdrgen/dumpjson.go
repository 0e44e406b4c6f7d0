package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
)

// dumpItem is one line of JSON output.
type dumpItem struct {
	V      int             `json:"v"`
	Type   string          `json:"type"` // "item"
	Offset int             `json:"offset"`
	Length int             `json:"length_bytes"`
	Hex    string          `json:"hex"`
	Path   string          `json:"path"`
	Role   string          `json:"role"` // value, count, present, absent, end, rest
	XDR    string          `json:"xdr_type,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"` // of role value and count
	Number *int64          `json:"number,omitempty"`

	// Set for a number in a code space:
	Space   string   `json:"space,omitempty"`
	Names   []string `json:"names,omitempty"`
	Unknown *uint32  `json:"unknown,omitempty"`

	Default bool `json:"default,omitempty"` // empty data that stand for the default value
}

// dumpMessage is the line of JSON output before the items of one of several values.
type dumpMessage struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "message"
	Message int    `json:"message"`
	Line    int    `json:"line,omitempty"`
	Offset  *int   `json:"offset,omitempty"`
	Input   int    `json:"input_bytes"`
}

// dumpFault is the line of JSON output for a fault.
type dumpFault struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "error"
	Code    string `json:"code"`
	Message string `json:"message"`
	Rule    string `json:"rule"`
	Note    string `json:"note,omitempty"`
	Where   struct {
		Offset int    `json:"offset"`
		Length int    `json:"length_bytes"`
		Path   string `json:"path"`
	} `json:"where"`
}

// dumpSummary is the last line of JSON output.
type dumpSummary struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "summary"
	XDR      string `json:"xdr_type"`
	Input    int    `json:"input_bytes"`
	Decoded  int    `json:"decoded_bytes"`
	Complete bool   `json:"complete"`
	Messages int    `json:"messages,omitempty"` // with -split
	faulty   bool
}

// summary returns the last line of JSON output. several is set with -split.
func (d *dumper) summary(name string, several bool) dumpSummary {
	s := d.total
	s.V, s.Type, s.XDR, s.Complete = 1, "summary", name, !s.faulty
	if !several {
		s.Messages = 0
	}
	return s
}

func (d *dumper) json(root *dynamic.Value, fault *dynamic.Error) {
	n := root.Length
	for r := range dynamic.Rows(root) {
		item := dumpItem{
			V: 1, Type: "item", Offset: r.Offset, Length: r.Length, Path: r.Path, Role: string(r.Role),
			Hex: hex.EncodeToString(d.data[r.Offset : r.Offset+r.Length]), XDR: r.Type.Spell(), Default: r.Value.Default,
		}
		if n := r.Value.Number; n != nil {
			item.Space, item.Names = n.Space, n.Names
			if n.Unknown {
				item.Unknown = &n.Rest
			}
		}
		switch r.Role {
		case dynamic.Data:
			item.Value = dynamic.PrintableJSON(r.Value)
			if m := r.Value.Member; m != nil {
				number := int64(m.Value)
				item.Number = &number
			}
		case dynamic.Count:
			item.Value = fmt.Append(nil, r.Value.Word)
		}
		if r.Fault == nil || r.Length > 0 {
			d.line(item)
		}
		if r.Fault != nil {
			d.fault(r.Fault)
		}
	}
	if fault != nil {
		d.fault(fault)
	} else if n < len(d.data) {
		d.line(dumpItem{V: 1, Type: "item", Offset: n, Length: len(d.data) - n, Role: "rest", Hex: hex.EncodeToString(d.data[n:])})
	}
}

func (d *dumper) fault(e *dynamic.Error) {
	f := dumpFault{V: 1, Type: "error", Code: string(e.Code), Message: e.Message, Rule: e.Rule(), Note: e.Note}
	f.Where.Offset, f.Where.Length, f.Where.Path = e.Offset, e.Length, e.Path
	d.line(f)
}

func (d *dumper) line(v any) {
	e := json.NewEncoder(d.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // fails only if the writer does, which keeps its error
}
