package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

// callFlags are the flags of dump for calls: of captures, and of RPC messages.
type callFlags struct {
	Verbose   bool     `short:"v" name:"verbose"`
	XID       []string `name:"xid"`
	Program   []string `name:"program"`
	Procedure []string `name:"procedure"`
	Ladder    string   `name:"ladder" enum:"none,text,svg" default:"none"`
}

// set returns the first of the flags that is set, or "".
func (f *callFlags) set() string {
	switch {
	case f.Verbose:
		return "-v"
	case len(f.XID) > 0:
		return "-xid"
	case len(f.Program) > 0:
		return "-program"
	case len(f.Procedure) > 0:
		return "-procedure"
	}
	return ""
}

// calls prints the calls of a capture, or of RPC messages. It returns false if the data is neither,
// or the flags say how to decode it; standard input can then be read from the environment returned.
func (c *dumpCmd) calls(env environment) (rest environment, code int, done bool) {
	if c.Hex != nil || c.As != "auto" && c.As != "raw" {
		return env, 0, false
	}
	unit, data := c.sources()
	if len(data) != 1 {
		return env, 0, false
	}
	file := env.stdin
	if data[0] != "-" {
		f, err := os.Open(data[0])
		if err != nil {
			return env, failed(env, err), true
		}
		defer func() { _ = f.Close() }()
		file = f
	}
	if file == nil {
		return env, 0, false
	}
	in := bufio.NewReaderSize(file, 64<<10)
	head, err := in.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return env, failed(env, err), true
	}
	if data[0] == "-" {
		env.stdin = in
	}
	kind, asMessage := packets.Kind(head), c.several() || len(c.Type) > 0 || c.Split != "none"
	if c.As == "raw" && kind != "" || kind == "" && (asMessage || !capture.IsStream(head)) {
		return env, 0, false
	}
	if flag := c.notForCalls(); flag != "" {
		what := "RPC messages"
		if kind != "" {
			what = "a capture (" + kind + ")"
		}
		return env, usage(env, fmt.Errorf("%s: %s is %s, whose calls are decoded by their programs; -as raw decodes the file itself", flag, diag.Quote(data[0]), what)), true
	}
	d, code := c.decoder(env, unit)
	if code != exitClean {
		return env, code, true
	}
	p := &callPrinter{out: bufio.NewWriter(env.stdout), cmd: c, decoder: d}
	if p.filter, code = c.filter(env, d); code != exitClean {
		return env, code, true
	}
	return env, p.run(env, in, data[0], kind), true
}

// sources separates the files of the unit from the files of the data.
func (c *dumpCmd) sources() (unit, data []string) {
	for _, name := range c.Files {
		if strings.HasSuffix(name, ".x") || isDocument(name) {
			unit = append(unit, name)
		} else {
			data = append(data, name)
		}
	}
	return unit, data
}

// notForCalls returns a flag that is set and has no meaning for calls, or "".
func (c *dumpCmd) notForCalls() string {
	named, _, err := c.wanted()
	switch {
	case named != "" || err != nil:
		return "-type"
	case c.Message:
		return "-message"
	case c.Proc != "":
		return "-proc"
	case c.Split != "none":
		return "-split"
	case c.Rest:
		return "-rest"
	}
	return ""
}

// decoder compiles the unit, if there is one, and returns the decoder of its calls.
func (c *dumpCmd) decoder(env environment, unit []string) (*decode.Decoder, int) {
	rpc, err := message.RPC()
	if err != nil {
		return nil, failed(env, err)
	}
	d := &decode.Decoder{RPC: rpc}
	if len(unit) == 0 {
		return d, exitClean
	}
	o, err := c.inputFlags.options()
	if err != nil {
		return nil, usage(env, err)
	}
	o.Files = unit
	r, err := c.compile(o)
	if err != nil {
		return nil, notCompiled(env, err)
	}
	if diag.HasErrors(r.Diags) {
		if err := printErrors(env, onlyErrors(r.Diags), c.reportFlags); err != nil {
			return nil, failed(env, err)
		}
		return nil, exitFindings
	}
	if err := dynamic.SharedPrograms(r.Unit); err != nil {
		return nil, usage(env, err)
	}
	d.Unit, d.Codes = r.Unit, dynamic.NewCodes(message.Sidecars(r)...)
	return d, exitClean
}

// filter returns the filter of the flags.
func (c *dumpCmd) filter(env environment, d *decode.Decoder) (decode.Filter, int) {
	f, err := d.NewFilter(c.XID, c.Program, c.Procedure)
	if err != nil {
		return f, usage(env, err)
	}
	return f, exitClean
}

// run reads the data to its end and prints its calls.
func (p *callPrinter) run(env environment, in io.Reader, name, kind string) int {
	var err error
	if kind == "" {
		err = capture.RunStream(in, capture.Limits{}, p)
	} else {
		var r *capture.Reader
		if r, err = capture.NewReader(in, capture.Limits{}, p); err == nil {
			p.reader = r
			err = r.Run()
		}
	}
	code := exitClean
	var fault *packets.Error
	switch {
	case errors.As(err, &fault):
		fmt.Fprintf(env.stderr, "xdrgen: %s: %v\n", diag.Quote(name), fault)
		code = exitFindings
	case err != nil:
		code = failed(env, err)
	}
	p.end(code == exitClean)
	if err := p.out.Flush(); err != nil {
		return failed(env, err)
	}
	if p.faulty > 0 && code == exitClean {
		code = exitFindings
	}
	return code
}
