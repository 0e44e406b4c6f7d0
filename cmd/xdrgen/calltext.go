package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
)

// briefWidth limits the arguments, and the results, on the line of a call, in characters.
const briefWidth = 60

// callPrinter prints calls: a line for each, or with -v the bytes of both messages as well.
type callPrinter struct {
	out     *bufio.Writer // keeps its first error for Flush
	cmd     *dumpCmd
	decoder *decode.Decoder
	filter  decode.Filter
	reader  *capture.Reader // nil for messages without packets

	started                          bool // the time of the first packet is printed
	count, unanswered, faulty, notes int
}

func (p *callPrinter) asJSON() bool { return p.cmd.Format == "json" }

// offset returns a time relative to the first packet, in nanoseconds.
func (p *callPrinter) offset(at int64) int64 {
	if p.reader == nil {
		return 0
	}
	return at - p.reader.First
}

// start prints the time of the first packet, before all else.
func (p *callPrinter) start() {
	if p.reader == nil || p.started || p.asJSON() {
		return
	}
	p.started = true
	fmt.Fprintf(p.out, "# seconds since %s; replies in milliseconds\n", time.Unix(0, p.reader.First).UTC().Format("2006-01-02 15:04:05.000000000"))
}

// connection prints a connection before its first call. Connections have their numbers by their
// first messages, and are printed with their first replies: perhaps in another order.
func (p *callPrinter) connection(c *capture.Connection) {
	if c == nil || c.Handled {
		return
	}
	p.start()
	c.Handled = true
	if p.asJSON() {
		p.line(callConnection{V: 1, Type: "connection", Connection: c.Number, Carrier: string(c.Carrier), Client: address(c, true), Server: address(c, false)})
		return
	}
	if c.Carrier == capture.Stream {
		return
	}
	fmt.Fprintf(p.out, "#%d  %s > %s, %s\n", c.Number, c.Client, c.Server, c.Carrier)
}

// address returns the address of an end, or "" for messages without packets.
func address(c *capture.Connection, client bool) string {
	switch {
	case c.Carrier == capture.Stream:
		return ""
	case client:
		return c.Client.String()
	}
	return c.Server.String()
}

// Note implements capture.Handler.
func (p *callPrinter) Note(n capture.Note) {
	p.connection(n.Connection)
	p.start()
	p.notes++
	if p.asJSON() {
		p.note(n)
		return
	}
	where := ""
	if n.Connection != nil {
		where = fmt.Sprintf("#%d, %.6f: ", n.Connection.Number, float64(p.offset(n.Time))/1e9)
	}
	fmt.Fprintf(p.out, "! %s%s\n", where, n.Text)
}

// Call implements capture.Handler.
func (p *callPrinter) Call(raw *capture.Call) {
	if !p.filter.Match(raw) {
		return
	}
	p.connection(raw.Connection)
	p.count++
	c := p.decoder.Decode(raw)
	if raw.HasCall && !raw.HasReply {
		p.unanswered++
	}
	if c.Faulty() {
		p.faulty++
	}
	if p.asJSON() {
		p.json(c)
		return
	}
	p.text(c)
}

// text prints a call on one line, and below it missing parts and faults.
func (p *callPrinter) text(c *decode.Call) {
	took := "-"
	at := c.Sent.First
	switch {
	case c.HasCall && c.HasReply:
		took = fmt.Sprintf("%.3f", float64(c.Answered.Last-c.Sent.First)/1e6)
	case !c.HasCall:
		at = c.Answered.First
	}
	arrow := ""
	if c.Reverse {
		arrow = "(by the server) "
	}
	fmt.Fprintf(p.out, "%12.6f %9s  #%d  %#08x  %s%s%s -> %s\n", float64(p.offset(at))/1e9, took, c.Connection.Number, c.XID, arrow, c.Name, args(c), result(c))
	if c.Copies > 0 {
		fmt.Fprintf(p.out, "    ! sent %d times\n", c.Copies+1)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(p.out, "    ! %s\n", n)
	}
	for _, m := range []struct {
		name string
		decode.Message
	}{{"call", c.Args}, {"reply", c.Reply}} {
		if p.cmd.Verbose && m.Root != nil {
			fmt.Fprintf(p.out, "  %s: %d bytes\n", m.name, len(m.Data))
			d := dumper{out: p.out, data: m.Data, all: p.cmd.All, width: p.cmd.Width}
			d.text(m.name, m.Root, nil)
		}
		for _, f := range m.Faults {
			fmt.Fprintf(p.out, "    ! %s: %s: offset %d (%#x): %s\n", m.name, f.Path, f.Offset, f.Offset, f.Message)
			fmt.Fprintf(p.out, "      = rule: %s\n", f.Rule())
		}
	}
	if p.cmd.Verbose {
		fmt.Fprintln(p.out)
	}
}

// args returns the arguments of a call for its line.
func args(c *decode.Call) string {
	switch v := c.Args.Part; {
	case v != nil:
		return " " + decode.Brief(v, briefWidth) + cutShort(c.Args)
	case !c.HasCall:
		return " (its Call is not in the capture)"
	case len(c.Message) > c.Call.Args:
		return fmt.Sprintf(" %d bytes", len(c.Message)-c.Call.Args)
	}
	return ""
}

// cutShort returns a mark for values that were decoded up to a fault.
func cutShort(m decode.Message) string {
	if m.Values == nil && len(m.Faults) > 0 {
		return " (faulty)"
	}
	return ""
}

// result returns the reply of a call for its line.
func result(c *decode.Call) string {
	switch v := c.Reply.Part; {
	case !c.HasReply:
		return "no reply in the capture"
	case v != nil:
		return decode.Brief(v, briefWidth) + cutShort(c.Reply)
	case c.Status.Success && len(c.Call.Reply) > c.Results:
		return fmt.Sprintf("%s, %d bytes", c.Status.Text, len(c.Call.Reply)-c.Results)
	}
	return c.Status.Text
}

// end prints the numbers of calls.
func (p *callPrinter) end(complete bool) {
	if p.asJSON() {
		p.line(callSummary{V: 1, Type: "summary", Calls: p.count, Unanswered: p.unanswered, Faulty: p.faulty, Notes: p.notes, Complete: complete && p.faulty == 0})
		return
	}
	p.start()
	fmt.Fprintf(p.out, "# calls: %d, without a reply: %d, with faults: %d\n", p.count, p.unanswered, p.faulty)
}

func (p *callPrinter) line(v any) {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // fails only if the writer does, which keeps its error
}
