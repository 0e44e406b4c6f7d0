package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
)

// dumpCmd is the command "dump".
type dumpCmd struct {
	dataFlags
	callFlags
	JSON   bool   `name:"json"`
	Format string `name:"format" enum:"text,json" default:"text"`
	Split  string `name:"split" enum:"none,lines,records,ends" default:"none"`
	All    bool   `name:"all"`
	Rest   bool   `name:"rest"`
	Width  int    `name:"width"`
}

// run prints the data item by item. The faults go to stderr, or into the JSON.
func (c *dumpCmd) run(env environment) int {
	if c.JSON {
		c.Format = "json"
	}
	if c.Ladder != "none" {
		return c.ladder(env)
	}
	env, code, done := c.calls(env)
	if done {
		return code
	}
	if flag := c.set(); flag != "" {
		return usage(env, fmt.Errorf("%s is for captures and RPC messages, and the data is neither", flag))
	}
	if c.Split == "ends" && c.Rest {
		return usage(env, errors.New("-split ends decodes the bytes after a value as the next one: leave out -rest"))
	}
	if c.Width != 0 && (c.Width < leastWidth || c.Format == "json") {
		return usage(env, fmt.Errorf("found -width %d, expected %d columns or more, and -format text", c.Width, leastWidth))
	}
	of, code := c.layout(env)
	if code != exitClean {
		return code
	}
	in, code := c.pieces(env)
	if code != exitClean {
		return code
	}
	d := dumper{out: bufio.NewWriter(env.stdout), all: c.All, asJSON: c.Format == "json", width: c.Width}
	f := faultList{env: env, most: c.Errors}
	for i, p := range in.values(of, c.Rest) {
		name := of.name
		if c.Split != "none" {
			name = fmt.Sprintf("%s %d", of.name, i+1)
			d.head(name, i, p)
		}
		f.code = max(f.code, d.value(of.name, p))
		if err := d.out.Flush(); err != nil {
			return failed(env, err)
		}
		if !d.asJSON {
			f.print(p, name)
		}
	}
	if d.asJSON {
		d.line(d.summary(of.name, c.Split != "none"))
	}
	f.end()
	if err := d.out.Flush(); err != nil {
		return failed(env, err)
	}
	return f.code
}

// faultList prints faults in the data, up to a number.
type faultList struct {
	env     environment
	most    int // 0 for no limit
	printed int
	hidden  int
	code    int // exit code of the command
}

// print prints the faults of a value.
func (f *faultList) print(p piece, name string) {
	for _, e := range p.faults() {
		if f.most > 0 && f.printed >= f.most {
			f.hidden++
			continue
		}
		f.printed++
		printFault(f.env, e, name)
	}
}

// end prints the number of faults that print left out.
func (f *faultList) end() {
	if f.hidden > 0 {
		fmt.Fprintf(f.env.stderr, "xdrgen: more faults: %d (-errors 0 shows all)\n", f.hidden)
	}
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
	perShort = 4  // the same with -width
	maxLines = 16 // lines per item without -all
)

// leastWidth is the smallest value of -width: the columns of the bytes, and as many again.
const leastWidth = 48

// dumper writes annotated hex:
//
//	offset    bytes                    path = value
//	00000008  00 00 00 07              body.color = GREEN (7)
type dumper struct {
	out    *bufio.Writer // keeps its first error for Flush
	data   []byte        // of the value
	all    bool
	asJSON bool
	width  int         // of the lines; 0 for no limit
	total  dumpSummary // of all values
}

// head writes the heading of one of several values: its place in the input.
func (d *dumper) head(name string, i int, p piece) {
	if d.asJSON {
		m := dumpMessage{V: 1, Type: "message", Message: i + 1, Input: len(p.data), Line: p.line}
		if p.line == 0 {
			m.Offset = &p.offset
		}
		d.line(m)
		return
	}
	if i > 0 {
		fmt.Fprintln(d.out)
	}
	if p.line > 0 {
		fmt.Fprintf(d.out, "%s: line %d, %d bytes\n", name, p.line, len(p.data))
	} else {
		fmt.Fprintf(d.out, "%s: offset %d, %d bytes\n", name, p.offset, len(p.data))
	}
}

// value writes a value, and returns the exit code for it.
func (d *dumper) value(name string, p piece) int {
	d.data = p.data
	d.total.Messages++
	d.total.Input += len(p.data)
	d.total.Decoded += p.root.Length
	if d.asJSON {
		d.json(p.root, p.fault)
	} else {
		d.text(name, p.root, p.fault)
	}
	if len(p.faults()) > 0 {
		d.total.faulty = true
		return exitFindings
	}
	return exitClean
}

func (d *dumper) text(name string, root *dynamic.Value, fault *dynamic.Error) {
	n := root.Length
	for r := range dynamic.Rows(root) {
		path := r.Path
		if path == "" {
			path = name
		}
		sep := " = "
		if r.Role != dynamic.Data {
			sep = ": "
		}
		if r.Fault != nil {
			r.Text = fmt.Sprintf("^ fault: %s, not decoded", r.Fault.Code)
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
	item, per := d.data[off:off+length], perLine
	if d.width > 0 {
		per = perShort
	}
	for i := 0; i == 0 || i < len(item); i += per {
		if i == maxLines*per && !d.all {
			fmt.Fprintf(d.out, "%8s  ... %d more bytes (-all shows them)\n", "", len(item)-i)
			return
		}
		part := item[i:min(i+per, len(item))]
		if i > 0 {
			note = "  |" + ascii(part) + "|"
		}
		lead := fmt.Sprintf("%08x  %-*s  ", off+i, 3*per-1, fmt.Sprintf("% x", part))
		for _, line := range foldNote(note, d.width-len(lead)) {
			fmt.Fprintf(d.out, "%s%s\n", lead, line)
			lead = strings.Repeat(" ", len(lead))
		}
	}
}

// foldNote returns a note as lines of at most width characters. Lines after the first are
// indented. It breaks after blanks, dots and commas, if there are any. If width is below 1, it
// breaks nothing.
func foldNote(note string, width int) []string {
	var out []string
	for indent := ""; ; indent = "  " {
		r := []rune(indent + note)
		if width < 1 || len(r) <= width {
			return append(out, string(r))
		}
		at := width
		for k := width; k > width/2; k-- {
			if strings.ContainsRune(" .,", r[k-1]) {
				at = k
				break
			}
		}
		out = append(out, strings.TrimRight(string(r[:at]), " "))
		note = strings.TrimLeft(string(r[at:]), " ")
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
