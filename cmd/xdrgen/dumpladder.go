package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/ladder"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// ladder joins the captures of client and server, and draws their calls.
func (c *dumpCmd) ladder(env environment) int {
	unit, data := c.sources()
	if len(data) != 2 {
		return usage(env, fmt.Errorf("-ladder: found %d captures, expected two: the client's and the server's", len(data)))
	}
	if flag := c.notForCalls(); flag != "" || c.Verbose {
		return usage(env, fmt.Errorf("-ladder: leave out %s", either(flag, "-v")))
	}
	d, code := c.decoder(env, unit)
	if code != exitClean {
		return code
	}
	filter, code := c.filter(env, d)
	if code != exitClean {
		return code
	}
	var join ladder.Join
	for i, name := range data {
		side := &ladderSide{decoder: d, filter: filter, add: join.Client}
		if i == 1 {
			side.add = join.Server
		}
		code = max(code, side.read(env, name))
		if code == exitFailed || code == exitUsage {
			return code
		}
	}
	l := join.Ladder()
	out := bufio.NewWriter(env.stdout)
	var err error
	switch {
	case c.Format == "json":
		ladderJSON(out, &l)
	case c.Ladder == "svg":
		err = l.SVG(out)
	default:
		err = l.Text(out)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return failed(env, err)
	}
	return code
}

// either returns the first of two words that is not empty.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ladderSide takes the calls of one capture.
type ladderSide struct {
	decoder *decode.Decoder
	filter  decode.Filter
	add     func(ladder.Seen)
	notes   int
}

// read reads a capture. Faults go to stderr.
func (s *ladderSide) read(env environment, name string) int {
	var in io.Reader = env.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return failed(env, err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	if in == nil {
		return exitFailed
	}
	r, err := capture.NewReader(in, capture.Limits{}, s)
	if err == nil {
		err = r.Run()
	}
	if s.notes > 0 {
		fmt.Fprintf(env.stderr, "xdrgen: %s: notes: %d (xdrgen dump %s shows them)\n", diag.Quote(name), s.notes, quoted(name))
	}
	var fault *packets.Error
	switch {
	case errors.As(err, &fault):
		fmt.Fprintf(env.stderr, "xdrgen: %s: %v\n", diag.Quote(name), fault)
		return exitFindings
	case err != nil:
		return failed(env, err)
	}
	return exitClean
}

// Note implements capture.Handler.
func (s *ladderSide) Note(capture.Note) { s.notes++ }

// Call implements capture.Handler: it takes calls that have a reply.
func (s *ladderSide) Call(raw *capture.Call) {
	if !raw.HasCall || !raw.HasReply || raw.Reverse || !s.filter.Match(raw) {
		return
	}
	c := s.decoder.Decode(raw)
	h := fnv.New64a()
	_, _ = h.Write(c.Message)
	name := c.Name
	if c.Procedure != nil {
		name = c.Procedure.Proc.Name
	}
	s.add(ladder.Seen{
		Key:  ladder.Key{XID: c.XID, Program: c.Program, Version: c.Version, Procedure: c.Call.Procedure, Hash: h.Sum64()},
		Name: name, Outcome: result(c), Failed: !c.Status.Success,
		Times: ladder.Times{First: c.Sent.First, Whole: c.Whole, Reply: c.Answered.First, Last: c.Answered.Last},
	})
}

// ladderLine is the line of JSON output for a call in both captures.
type ladderLine struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // "rung"
	XID       uint32 `json:"xid"`
	Procedure string `json:"procedure"`
	Outcome   string `json:"outcome"`
	At        int64  `json:"at_ns"` // from the first call
	Waited    int64  `json:"waited_ns"`
	Sent      int64  `json:"sent_ns"`
	Served    int64  `json:"served_ns"`
	Received  int64  `json:"received_ns"`
	Took      int64  `json:"took_ns"`
}

// ladderSummary is the last line.
type ladderSummary struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "summary"
	Calls      int    `json:"calls"`
	ClientOnly int    `json:"client_only"`
	ServerOnly int    `json:"server_only"`
	Ahead      int64  `json:"clock_ahead_ns"` // the server's clock
	Error      int64  `json:"clock_error_ns"`
	Drift      bool   `json:"clock_drift"`
}

// ladderJSON prints the calls as lines.
func ladderJSON(out *bufio.Writer, l *ladder.Ladder) {
	p := callPrinter{out: out}
	for i := range l.Rungs {
		r := &l.Rungs[i]
		p.line(ladderLine{
			V: 1, Type: "rung", XID: r.Key.XID, Procedure: r.Name, Outcome: r.Outcome, At: r.First - l.Rungs[0].First,
			Waited: r.Waited(), Sent: r.Sent(), Served: r.Served(), Received: r.Received(), Took: r.Took(),
		})
	}
	p.line(ladderSummary{
		V: 1, Type: "summary", Calls: len(l.Rungs), ClientOnly: l.ClientOnly, ServerOnly: l.ServerOnly,
		Ahead: l.Clock.Ahead, Error: l.Clock.Error, Drift: l.Clock.Drift,
	})
}
