package main

import (
	"encoding/hex"
	"encoding/json"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
)

// callConnection is the line of JSON output for a connection, before its first call.
type callConnection struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "connection"
	Connection int    `json:"connection"`
	Carrier    string `json:"carrier"`
	Client     string `json:"client,omitempty"`
	Server     string `json:"server,omitempty"`
}

// callLine is the line of JSON output for a call. Times count from the first packet.
type callLine struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "call"
	Connection int    `json:"connection"`
	Reverse    bool   `json:"reverse,omitempty"`
	XID        uint32 `json:"xid"`
	Name       string `json:"procedure,omitempty"` // of the Call
	Program    *int64 `json:"program,omitempty"`
	Version    *int64 `json:"version,omitempty"`
	Procedure  *int64 `json:"number,omitempty"`

	SentFirst     *int64 `json:"sent_ns,omitempty"` // its first byte
	SentLast      *int64 `json:"sent_last_ns,omitempty"`
	AnsweredFirst *int64 `json:"answered_ns,omitempty"`
	AnsweredLast  *int64 `json:"answered_last_ns,omitempty"`
	Took          *int64 `json:"took_ns,omitempty"`
	CallBytes     int    `json:"call_bytes"`
	ReplyBytes    int    `json:"reply_bytes"`
	Copies        int    `json:"copies,omitempty"`

	Status  string          `json:"status"` // none without a reply
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Payload string          `json:"args_hex,omitempty"` // not decoded
	Results string          `json:"result_hex,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
	Faults  []callFault     `json:"faults,omitempty"`
	callHex
}

// callHex has the whole messages, with -v.
type callHex struct {
	Call  string `json:"call_hex,omitempty"`
	Reply string `json:"reply_hex,omitempty"`
}

// callFault is a fault in a message.
type callFault struct {
	In      string `json:"in"` // call or reply
	Code    string `json:"code"`
	Path    string `json:"path"`
	Offset  int    `json:"offset"`
	Message string `json:"message"`
	Rule    string `json:"rule"`
}

// callNote is the line of JSON output for a capture.Note.
type callNote struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "note"
	Connection int    `json:"connection,omitempty"`
	Time       *int64 `json:"time_ns,omitempty"`
	Text       string `json:"text"`
}

// callSummary is the last line of JSON output.
type callSummary struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "summary"
	Calls      int    `json:"calls"`
	Unanswered int    `json:"unanswered"`
	Faulty     int    `json:"faulty"`
	Notes      int    `json:"notes"`
	Complete   bool   `json:"complete"`
}

func (p *callPrinter) note(n capture.Note) {
	line := callNote{V: 1, Type: "note", Text: n.Text}
	if n.Connection != nil {
		line.Connection, line.Time = n.Connection.Number, p.time(n.Time)
	}
	p.line(line)
}

// time returns a time relative to the first packet, or nil if there are no packets.
func (p *callPrinter) time(at int64) *int64 {
	if p.reader == nil {
		return nil
	}
	n := p.offset(at)
	return &n
}

func number(n uint32) *int64 {
	v := int64(n)
	return &v
}

// json prints a call.
func (p *callPrinter) json(c *decode.Call) {
	l := callLine{
		V: 1, Type: "call", Connection: c.Connection.Number, Reverse: c.Reverse, XID: c.XID, Copies: c.Copies,
		CallBytes: len(c.Args.Data), ReplyBytes: len(c.Reply.Data), Status: "none", Notes: c.Notes,
	}
	if c.HasCall {
		l.Name, l.Program, l.Version, l.Procedure = c.Name, number(c.Program), number(c.Version), number(c.Call.Procedure)
		l.SentFirst, l.SentLast = p.time(c.Sent.First), p.time(c.Whole)
		l.Args, l.Payload = values(c.Args, c.Call.Args)
	}
	if c.HasReply {
		l.Status = c.Status.Text
		l.AnsweredFirst, l.AnsweredLast = p.time(c.Answered.First), p.time(c.Answered.Last)
		l.Result, l.Results = values(c.Reply, c.Call.Results)
	}
	if c.HasCall && c.HasReply && p.reader != nil {
		took := c.Answered.Last - c.Sent.First
		l.Took = &took
	}
	if p.cmd.Verbose {
		l.callHex = callHex{hex.EncodeToString(c.Args.Data), hex.EncodeToString(c.Reply.Data)}
	}
	l.Faults = append(faults("call", c.Args.Faults), faults("reply", c.Reply.Faults)...)
	p.line(l)
}

// values returns the JSON of the values in a message, or undecoded bytes after an offset in hex.
func values(m decode.Message, at int) (json.RawMessage, string) {
	switch {
	case m.Values != nil:
		return dynamic.PrintableJSON(m.Values), ""
	case len(m.Data) > at:
		return nil, hex.EncodeToString(m.Data[at:])
	}
	return nil, ""
}

func faults(in string, list []*dynamic.Error) (out []callFault) {
	for _, f := range list {
		out = append(out, callFault{in, string(f.Code), f.Path, f.Offset, f.Message, f.Rule()})
	}
	return out
}
