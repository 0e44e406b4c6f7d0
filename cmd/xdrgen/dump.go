package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dynamic"
)

// dumpCmd is the command "dump".
type dumpCmd struct {
	dataFlags
	Format string `name:"format" enum:"text,json" default:"text"`
	All    bool   `name:"all"`
	Rest   bool   `name:"rest"`
}

// run prints the data item by item. If there is a fault, the items before it go to
// stdout, and the fault goes to stderr, or into the JSON.
func (c *dumpCmd) run(env environment) int {
	data, t, name, code := c.read(env)
	if code != exitClean {
		return code
	}
	decode := dynamic.DecodeAll
	if c.Rest {
		decode = dynamic.Decode
	}
	root, err := decode(data, t, limits(data))
	var fault *dynamic.Error
	errors.As(err, &fault)
	d := dumper{out: bufio.NewWriter(env.stdout), data: data, name: name, all: c.All}
	if c.Format == "json" {
		d.json(root, fault)
	} else {
		d.text(root, fault)
	}
	if err := d.out.Flush(); err != nil {
		return failed(env, err)
	}
	if fault == nil {
		return exitClean
	}
	if c.Format == "text" {
		printFault(env, fault, name)
	}
	return exitFindings
}

// printFault reports a fault in the data of the named type.
func printFault(env environment, e *dynamic.Error, name string) {
	at := name
	if e.Path != "" {
		at += ": " + e.Path
	}
	fmt.Fprintf(env.stderr, "xdrgen: %s: offset %d (%#x): %s\n", at, e.Offset, e.Offset, e.Message)
	fmt.Fprintf(env.stderr, "  = rule: %s\n", e.Rule())
	if e.Note != "" {
		fmt.Fprintf(env.stderr, "  = note: %s\n", e.Note)
	}
}

const (
	perLine  = 8  // bytes of hex per line
	maxLines = 16 // lines per item without -all
)

// dumper writes annotated hex:
//
//	offset    bytes                    path = value
//	00000008  00 00 00 07              body.color = GREEN (7)
type dumper struct {
	out  *bufio.Writer // keeps its first error for Flush
	data []byte
	name string
	all  bool
}

func (d *dumper) text(root *dynamic.Value, fault *dynamic.Error) {
	n := root.Length
	for r := range dynamic.Rows(root) {
		path := r.Path
		if path == "" {
			path = d.name
		}
		sep := " = "
		if r.Role != dynamic.Data {
			sep = ": "
		}
		d.lines(r.Offset, r.Length, path+sep+r.Text)
	}
	if fault != nil {
		d.lines(fault.Offset, min(fault.Length, perLine), "^ fault: "+string(fault.Code))
	} else if n < len(d.data) {
		d.lines(n, len(d.data)-n, fmt.Sprintf("(%d bytes after the value, not decoded)", len(d.data)-n))
	}
}

// lines writes the bytes of one item: the first line with note, and any further
// lines with the bytes as characters.
func (d *dumper) lines(off, length int, note string) {
	item := d.data[off : off+length]
	for i := 0; i == 0 || i < len(item); i += perLine {
		if i == maxLines*perLine && !d.all {
			fmt.Fprintf(d.out, "%8s  ... %d more bytes (-all shows them)\n", "", len(item)-i)
			return
		}
		part := item[i:min(i+perLine, len(item))]
		if i > 0 {
			note = "  |" + ascii(part) + "|"
		}
		fmt.Fprintf(d.out, "%08x  %-*s  %s\n", off+i, 3*perLine-1, fmt.Sprintf("% x", part), note)
	}
}

func ascii(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if out[i] = c; c < ' ' || c > '~' {
			out[i] = '.'
		}
	}
	return string(out)
}

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
}

// dumpFault is the line of JSON output for a fault, before the summary.
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
}

func (d *dumper) json(root *dynamic.Value, fault *dynamic.Error) {
	n := root.Length
	for r := range dynamic.Rows(root) {
		item := dumpItem{
			V: 1, Type: "item", Offset: r.Offset, Length: r.Length, Path: r.Path, Role: string(r.Role),
			Hex: hex.EncodeToString(d.data[r.Offset : r.Offset+r.Length]), XDR: r.Type.Spell(),
		}
		switch r.Role {
		case dynamic.Data:
			item.Value = dynamic.AppendJSON(nil, r.Value)
			if m := r.Value.Member; m != nil {
				number := int64(m.Value)
				item.Number = &number
			}
		case dynamic.Count:
			item.Value = fmt.Append(nil, r.Value.Word)
		}
		d.line(item)
	}
	if fault != nil {
		f := dumpFault{V: 1, Type: "error", Code: string(fault.Code), Message: fault.Message, Rule: fault.Rule(), Note: fault.Note}
		f.Where.Offset, f.Where.Length, f.Where.Path = fault.Offset, fault.Length, fault.Path
		d.line(f)
	} else if n < len(d.data) {
		d.line(dumpItem{V: 1, Type: "item", Offset: n, Length: len(d.data) - n, Role: "rest", Hex: hex.EncodeToString(d.data[n:])})
	}
	d.line(dumpSummary{1, "summary", d.name, len(d.data), n, fault == nil})
}

func (d *dumper) line(v any) {
	e := json.NewEncoder(d.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // fails only if the writer does, which keeps its error
}
